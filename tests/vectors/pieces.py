"""How tokens of all scripts are shown: blanks, what prints nothing and lone accents as marks."""

from typing import Any

from engine.analysis.words import marked

PIECES = (
    " word",
    "\t\t",
    "\r\n",
    "\n",
    "\u00a0",
    "\ufffd",
    "<0xE2>",
    "\x00\x1b\x7f\x85",
    "\u200b",
    "\u200d",
    "\u202eabc",
    "\ufeff",
    "\u00ad",
    "\u2028",
    "\u3000",
    "\ue000",
    "\U000e0067",
    "\u0301",
    "\u0938\u094d",
    "\u093f",
    "\u0e35",
    "\u0648\u200c\u0646",
    "\u200c\u0646",
    "\U0001f469\u200d\U0001f467",
    "\U0001f469\u200d",
    "\U0001f3f4\U000e0067\U000e0062\U000e007f",
    "\U0001f1e9\U0001f1ea",
    " \u0645\u0631\u062d\u0628\u0627",
    "\u6a5f\u5668",
)


def vectors() -> dict[str, Any]:
    return {"cases": [{"piece": piece, "marked": marked(piece)} for piece in PIECES]}
