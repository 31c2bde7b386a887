"""Pairings: two names side by side that belong to different things of one list, such as "Casa Azul in Belém"."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import words
from turnloom.planner.reply.grounding.mentions import Mention
from turnloom.planner.reply.grounding.places import Element, list_of
from turnloom.planner.reply.grounding.sentences import Sentence


def unpaired(sentence: Sentence, named: Sequence[Mention]) -> Iterator[Figure]:
    """Yield the second of two names that stand as one thing, where they are names of two things of one list."""
    for first, second in pairwise(named):
        if _joint().fullmatch(sentence.whole, first.end, second.start) and _are_apart(first.elements, second.elements):
            yield Figure("name", second.start, second.end, ())


def _are_apart(some: frozenset[Element], others: frozenset[Element]) -> bool:
    """Return whether all of some elements are beside the others in one list, and none is one of them."""
    return len({list_of(one) for one in some | others}) == 1 and some.isdisjoint(others)


@lru_cache
def _joint() -> re.Pattern[str]:
    return re.compile(rf"\s?(?:{words()['name_joints']}|[(])\s?", re.IGNORECASE)
