"""Read short answers: yes, no, or the number of a choice, however they are written."""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

LONGEST = 40
"""Most characters of a short answer."""
_LONGEST_NUMBER = 3


def plain(text: str) -> str:
    """Return the words of a text: in lower case, without punctuation, vowel points and the colours of emoji."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(map(_kept, folded)).split())


def number_in(text: str) -> int | None:
    """Return the number that a short answer consists of, in the digits of any script; None if it is something else."""
    words = plain(text) if len(text) <= LONGEST else ""
    return int(words) if words.isdecimal() and len(words) <= _LONGEST_NUMBER else None


def answers_in(written: str) -> Iterable[str]:
    """Return the words of answers that are separated by commas, also Arabic and Japanese ones."""
    return filter(None, map(plain, written.replace("،", ",").replace("、", ",").split(",")))


@lru_cache(maxsize=4_096)
def _kept(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf", "Sk"):
        return ""
    return " " if category[0] in "PZC" else character
