"""Skies: what the weather of a day is said to be like, as words of texts in any language tell it."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from turnloom.planner.reply.grounding.fields import parts_of
from turnloom.planner.reply.grounding.lexicon import spoken, words

_LONGEST = 200
"""Most characters of the words for a day's weather that are read."""


class Sky(NamedTuple):
    """The weather of a day."""

    kinds: frozenset[str]
    """What its sky is like, in the kinds of `words.yaml`."""
    numbers: Mapping[str, float]
    """Its temperatures and the like, by the names of their fields."""


def sky_of(fields: Mapping[str, Any]) -> Sky | None:
    """Return the weather that an object with a date tells in words and numbers; None if it tells none."""
    numbers = {name: value for name, value in fields.items() if isinstance(value, int | float)}
    known = {part for name in numbers for part in parts_of(name)}
    if "date" not in fields or known.isdisjoint(words()["weather_numbers"]):
        return None
    texts = (fields.get(name) for name in words()["weather_fields"])
    said = next((text for text in texts if isinstance(text, str)), "")[:_LONGEST]
    found = {kind for _, kind in kinds_of_sky(said)}
    is_mixed = spoken(words()["mixed_sky"]).search(said) is not None
    kinds = frozenset(found | {"sun", "cloud"} if is_mixed and found <= {"sun", "cloud"} else found)
    return Sky(kinds, numbers) if kinds else None


def kinds_of_sky(text: str) -> Iterator[tuple[int, str]]:
    """Yield where a text says what the sky is like, and how. The chance of rain is no rain, and "no rain" neither."""
    plain = _not_so().sub(lambda found: " " * len(found[0]), text)
    for kind, said in words()["skies"].items():
        yield from ((match.start(), kind) for match in spoken(said).finditer(plain))


@lru_cache
def _not_so() -> re.Pattern[str]:
    return spoken(words()["no_sky"])
