"""The words of the arithmetic stories; each pattern names the fields it fills."""

from __future__ import annotations

NAMES = tuple(
    (name, pronoun)
    for pronoun, names in (
        ("He", "Tom Ben Max Leo Sam Paul Omar Ravi Hugo Ivan"),
        ("She", "Anna Mia Lena Zoe Ruth Nora Aya Ines Emma Clara"),
    )
    for name in names.split()
)
ITEMS = (
    *("apples", "books", "coins", "stamps", "pens", "cards"),
    *("shells", "eggs", "stones", "tickets", "cakes", "roses"),
)
BEGINNINGS = (
    "{name} has {n} {item}.",
    "{name} starts with {n} {item}.",
    "There are {n} {item} in the box of {name}.",
    "In the morning {name} counts {n} {item}.",
)
EVENTS = {
    "gain": (
        "{who} buys {n} more.",
        "{who} finds another {n}.",
        "A friend brings {n} more {item}.",
        "{who} gets {n} as a present.",
    ),
    "lose": (
        "{who} sells {n}.",
        "{who} loses {n} of them.",
        "{who} gives {n} to {other}.",
        "{n} of the {item} break.",
    ),
    "packs": (
        "{who} buys {n} bags with {m} in each.",
        "{n} boxes of {m} {item} arrive.",
        "{who} gets {m} on each of {n} days.",
    ),
    "gifts": (
        "{who} gives {m} to each of {n} friends.",
        "{who} sells {n} bags with {m} in each.",
        "{n} boxes of {m} {item} are lost.",
    ),
    "times": (
        "Then the number grows to {n} times as many.",
        "{who} trades them for {n} times as many.",
    ),
    "share": (
        "{who} splits them into {n} equal piles and keeps one.",
        "{n} people share them equally and {who} takes one part.",
    ),
}
DISTRACTORS = (
    "{other} is {n} years old.",
    "The way home takes {n} minutes.",
    "The shop is {n} miles away.",
    "{other} reads {n} pages.",
    "The room has {n} chairs.",
)
QUESTIONS = (
    "How many {item} does {name} have now?",
    "How many {item} are there in the end?",
    "Find the final number of {item}.",
    "What is the number of {item} that {name} has left?",
)
