"""Roles: whether a time begins or ends something, by the words around it.

"Lands at 10:55" is not what a field `departs` says, and "from 9:00 to 9:30" needs a beginning and an end.
"""

import re
from functools import lru_cache
from itertools import pairwise

from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import either, spoken, words
from turnloom.planner.reply.grounding.paths import ROLES, Role
from turnloom.planner.reply.grounding.sentences import Sentence

_BEFORE = 24


def role_of(figure: Figure, sentence: Sentence) -> Role | None:
    """Return whether a time is said to be a beginning or an end; None if the words beside it do not tell."""
    if sentence.says("gaps"):
        return None  # what is free begins where something else ends
    times = [other for other in sentence.figures if other.kind == "time"]
    for first, second in pairwise(times):
        if figure in (first, second) and _between().fullmatch(sentence.whole, first.end, second.start):
            return "begin" if figure is first else "end"
    start, _ = sentence.clause(figure.start)
    before = sentence.whole[max(start, figure.start - _BEFORE) : figure.start]
    before = _and().split(before)[-1]  # "fährt um 8:05 ab und ist um …"
    said = ((role, spoken(words()["roles"][role]["words"])) for role in ROLES)
    found = [(match.end(), role) for role, pattern in said for match in pattern.finditer(before)]
    return max(found)[1] if found else None


@lru_cache
def _and() -> re.Pattern[str]:
    return spoken(either(map(re.escape, words()["list_joints"])))


@lru_cache
def _between() -> re.Pattern[str]:
    joints = either(map(re.escape, (*words()["range_joints"], *words()["roles"]["joints"])))
    return re.compile(rf"\s?(?:{joints})(?![^\W\d_])\s?(?:\w{{1,3}}\s)?", re.IGNORECASE)
