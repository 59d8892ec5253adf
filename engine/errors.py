"""The flat family of errors a user can meet; every message says what was given, what is allowed, and the nearest
name."""

import reprlib
from collections.abc import Iterable
from difflib import get_close_matches

MOST_SHOWN = 100  # characters of what was given
MOST_SAID = 300  # characters of what others say
SHORT = reprlib.Repr()
SHORT.maxstring = SHORT.maxother = MOST_SHOWN
SHORT.maxlevel = 2


class LabError(Exception):
    """Anything a user can cause or cure. Shown as a notice; everything else is a bug."""


class ConfigError(LabError):
    """A setting, knob, prompt or name that the lab cannot accept."""


class ModelMismatch(LabError):
    """Models that cannot work together, or a head made for another target."""


class AssetError(LabError):
    """A weight file or preset that is missing, damaged, or not the one its checksum names."""


class TraceError(LabError):
    """A trace that cannot be read: damaged, of another schema, or larger than the limits."""


class EngineFault(LabError):
    """A run that had to end: out of memory, NaN logits, a lost device."""


def unknown(what: str, given: object, known: Iterable[str]) -> str:
    """The sentence for a name nobody knows: what was given, the nearest right name, and all that are allowed."""
    names = sorted(known)
    small = {name.lower(): name for name in names}
    near = get_close_matches(str(given)[:MOST_SHOWN].lower(), small, n=1, cutoff=0.5)
    hint = f" Did you mean {small[near[0]]!r}?" if near else ""
    return f"Unknown {what} {shown(given)}.{hint} Known: {', '.join(names) or 'none'}."


def shown(value: object) -> str:
    """A value in few characters, as Python writes it; what is left out in the middle is "..."."""
    return SHORT.repr(value)


def first_line(error: Exception) -> str:
    """What an error of others says, in one line of at most 300 characters: its first, with the next where a colon ends
    it; its kind where it says nothing, and before a bare key."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines or isinstance(error, KeyError):
        return ": ".join([type(error).__name__, *lines[:1]])[:MOST_SAID]
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1])[:MOST_SAID]
