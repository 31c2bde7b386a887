"""Ranges of times: the beginning and the end that a sentence says together belong to one thing in the results."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import either, words
from turnloom.planner.reply.grounding.places import EvidencePlace, Places
from turnloom.planner.reply.grounding.roles import role_of
from turnloom.planner.reply.grounding.sentences import Sentence

_INDEX = re.compile(r"\[[^\[\]]+\]")
_FARTHEST = 40
"""Most characters between the beginning and the end."""


def of_two_things(sentence: Sentence, places: Places) -> Iterator[Figure]:
    """Yield the ends of ranges of which no object and no text of the results has the beginning too."""
    times = [one for one in sentence.figures if one.kind == "time"]
    for first, second in pairwise(times):
        is_range = role_of(first, sentence) == "begin" and role_of(second, sentence) == "end"
        is_range = is_range and not _next_clause().search(sentence.whole, first.end, second.start)
        if is_range and second.start - first.end <= _FARTHEST:
            begun, ended = _things(first, places), _things(second, places)
            is_of_one_result = not {step for step, _ in begun}.isdisjoint(step for step, _ in ended)
            if is_of_one_result and begun.isdisjoint(ended):
                yield second


@lru_cache
def _next_clause() -> re.Pattern[str]:
    """Return the pattern of what parts two statements: ", and", or a semicolon."""
    return re.compile(rf";\s|,\s(?:{either(words()['list_joints'])})\s", re.IGNORECASE)


def _things(time: Figure, places: Places) -> set[tuple[str, str]]:
    """Return the longer texts and the elements of lists, or else the objects, that have a time. The user's are none."""
    found = [place for place in places.of(time.keys) if not place.is_said]
    return {(place.step, thing) for place in found for thing in _around(place)}


def _around(place: EvidencePlace) -> list[str]:
    if place.is_prose:
        return [place.path]
    return [place.path[: index.end()] for index in _INDEX.finditer(place.path)] or [place.path.rpartition(".")[0]]
