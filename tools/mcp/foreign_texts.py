"""Clean foreign texts for our language model: limit their length and remove hidden characters."""

import unicodedata

LONGEST_NAME = 128
LONGEST_TEXT = 1_000

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Unicode categories of invisible characters: control, format, surrogate, private use and unassigned."""


def clean(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text without invisible characters, on one line and cut to `longest` characters."""
    seen = "".join(" " if mark.isspace() else mark for mark in text if mark.isspace() or _is_seen(mark))
    short = " ".join(seen.split())
    return short if len(short) <= longest else f"{short[: longest - 1]}…"


def is_readable(text: str) -> bool:
    """Whether a reader sees every character of a text."""
    return all(_is_seen(mark) for mark in text)


def _is_seen(mark: str) -> bool:
    return unicodedata.category(mark) not in _HIDDEN
