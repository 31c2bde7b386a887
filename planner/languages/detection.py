"""Detect the language of a short message, by letters and common words.

Each language has a share of the message's letters: those of words that it alone has a letter of, and those of its
common words, divided by the number of languages that have the word too. The largest share wins. If it is too small, or
equal to another, the message shows no language.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property

from pydantic import Field

from turnloom.models.contracts.base import Contract

_LONGEST = 1_000
"""Characters of a message that are looked at."""
_LEAST = 0.15
"""The least share of a message's letters that shows its language."""
_WORD = re.compile(r"[¿¡]?[^\W\d_]+")


class Signs(Contract):
    """The letters and words by which a language is recognised."""

    letters: str = Field("", max_length=100)
    """Letters of no other language here, as characters and ranges: `ñ¿¡`, `א-ת`."""
    foreign_letters: str = Field("", max_length=100)
    """Letters that it does not have although it has others of their script, written the same way."""
    common_words: str = ""
    """Frequent words, separated by blanks."""

    @cached_property
    def own(self) -> frozenset[str]:
        """The letters as a set."""
        return _characters(self.letters)

    @cached_property
    def foreign(self) -> frozenset[str]:
        """The foreign letters as a set."""
        return _characters(self.foreign_letters)

    @cached_property
    def words(self) -> frozenset[str]:
        """The common words as a set."""
        return frozenset(self.common_words.lower().split())


class Detection:
    """Languages to choose from, by name."""

    def __init__(self, signs: Mapping[str, Signs]) -> None:
        self._signs = signs
        self._sharing = Counter(word for each in signs.values() for word in each.words)

    def language_of(self, text: str) -> str | None:
        """Return the name of the language of a text; None if the text does not show it."""
        words = _WORD.findall(text[:_LONGEST].lower())
        whole = sum(map(len, words)) or 1
        shares = sorted(((self._share(each, words) / whole, name) for name, each in self._signs.items()), reverse=True)
        if not shares or shares[0][0] < _LEAST or (len(shares) > 1 and shares[0][0] == shares[1][0]):
            return None
        return shares[0][1]

    def _share(self, signs: Signs, words: Iterable[str]) -> float:
        share = 0.0
        for word in words:
            if not signs.foreign.isdisjoint(word):
                share -= len(word)
            elif not signs.own.isdisjoint(word):
                share += len(word)
            elif word in signs.words:
                share += len(word) / self._sharing[word]
        return share


def _characters(written: str) -> frozenset[str]:
    """Return the characters of a text such as `ñא-ת`. A range is at most a thousand characters long."""
    found: set[str] = set()
    for first, last in re.findall(r"(.)(?:-(.))?", written):
        found.update(map(chr, range(ord(first), min(ord(last or first), ord(first) + 999) + 1)))
    return frozenset(found)
