"""Texts that others have written and that our language model will read: bounded, and with nothing hidden in them."""

import unicodedata

LONGEST_NAME = 128
LONGEST_TEXT = 1_000

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Unicode's categories of what is not seen: control and format characters, halves of pairs, private and unassigned."""


def clean(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text without what a reader would not see, and not longer than that."""
    seen = "".join(" " if mark.isspace() else mark for mark in text if mark.isspace() or _is_seen(mark))
    short = " ".join(seen.split())
    return short if len(short) <= longest else f"{short[: longest - 1]}…"


def is_readable(text: str) -> bool:
    """Tell whether a reader sees every character of a text."""
    return all(_is_seen(mark) for mark in text)


def _is_seen(mark: str) -> bool:
    return unicodedata.category(mark) not in _HIDDEN
