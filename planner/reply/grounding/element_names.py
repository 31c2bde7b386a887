"""The words of the objects of a list: of their names, and of everything that they hold."""

import re
from collections.abc import Iterator
from typing import Any

from turnloom.planner.reply.grounding.lexicon import words
from turnloom.planner.reply.grounding.numerals import in_digits

_MOST_NAMED = 20_000
"""Most characters of a list that are searched for the names of its elements."""
_WORD = re.compile(r"[^\W_]+")
_NO_NAMES = ("I", "A")
SHORTEST_WORD = 3
"""Fewest characters of a word that names something whatever its case. Shorter ones must be capitals, such as "XL"."""


def with_key(key: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the key that tells it apart as a name. A key such as "current" is no name."""
    is_name = isinstance(key, str) and key.lower() not in words()["no_names"]
    return {**fields, "name": f"{key.replace('_', ' ')} {fields.get('name', '')}"} if is_name else fields


def words_of_names(text: str) -> Iterator[str]:
    found = (match[0] for match in _WORD.finditer(in_digits(text)[0]))
    return (
        word.lower() if len(word) >= SHORTEST_WORD else word
        for word in found
        if len(word) >= SHORTEST_WORD or (word.isupper() and word not in _NO_NAMES)
    )


def spoken_strings(value: Any) -> str:
    """Return the strings of a value, as far as they are read."""
    pieces: list[str] = []
    left = _MOST_NAMED
    for text in strings(value):
        pieces.append(text[:left])
        left -= len(text)
        if left <= 0:
            break
    return " ".join(pieces)


def strings(value: Any) -> Iterator[str]:
    """Yield the scalars of a value as text."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)
    elif value is not None:
        yield str(value)
