"""Forecasts: that the weather a text gives to a day is that of the day, and its warmest day the warmest."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from turnloom.planner.reply.grounding.context import Context
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import spoken, words
from turnloom.planner.reply.grounding.mentions import Mention
from turnloom.planner.reply.grounding.sentences import Sentence
from turnloom.planner.reply.grounding.skies import Sky, kinds_of_sky

_NEAR = 60
"""Most characters between a day and what is said of it."""
_RANGE = re.compile(r".{0,12}(?:[-\u2013\u301c~]|\s(?:to|bis|al?|au|tot|through|until)\s|から).{0,12}")
_BREAK = re.compile(r";\s")


def misforecast(context: Context) -> Iterator[Figure]:
    """Yield the days of a sentence to which it gives the weather of other days."""
    sentence, skies = context.sentence, context.evidence.places.skies
    days = [day for day in context.days if not skies.keys().isdisjoint(day.elements)] if skies else []
    if not days or sentence.is_question:
        return
    ranges = any(_RANGE.fullmatch(sentence.whole, one.end, other.start) for one, other in pairwise(days))
    wrong = [*(() if ranges else _under_other_skies(days, context)), *_not_extreme(days, context)]
    yield from (Figure("date", day.start, day.end, ()) for day in wrong)


def _under_other_skies(days: Sequence[Mention], context: Context) -> Iterator[Mention]:
    sentence, said = context.sentence, dict[int, set[str]]()
    for start, kind in kinds_of_sky(sentence.text):
        near = _day_of(sentence.start + start, days, sentence)
        if near is not None:
            said.setdefault(days.index(near), set()).add(kind)
    for number, kinds in said.items():
        known = frozenset[str]().union(*(sky.kinds for sky in _skies(days[number], context)))
        if known and known.isdisjoint(kinds):
            yield days[number]


def _not_extreme(days: Sequence[Mention], context: Context) -> Iterator[Mention]:
    """Yield the days that are called the warmest, or the like, of which another day is."""
    sentence, skies = context.sentence, context.evidence.places.skies.values()
    for most in words()["extremes_of_weather"]:
        field, best = most["field"], max if most["most"] else min
        values = [sky.numbers[field] for sky in skies if field in sky.numbers]
        for word in spoken(most["words"]).finditer(sentence.whole, sentence.start, sentence.end):
            near = min(days, key=lambda day: _apart(day, word.start(), word.end()))
            own = [sky.numbers[field] for sky in _skies(near, context) if field in sky.numbers]
            if own and best(values) not in own and _apart(near, word.start(), word.end()) <= _NEAR:
                yield near


def _day_of(place: int, days: Sequence[Mention], sentence: Sentence) -> Mention | None:
    """Return the day of which weather at a place is said: the nearest in its clause, or the one just before that."""
    start, end = sentence.clause(place)
    if any(one.kind == "percent" and start <= one.start < end for one in sentence.figures):
        return None  # "rain is down to 5 percent"
    inside = [day for day in days if start <= day.start < end]
    if inside:
        return min(inside, key=lambda day: _apart(day, place, place))
    before = [day for day in days if day.end <= start and place - day.end <= _NEAR]
    between = sentence.whole[before[-1].end : place] if before else ""
    is_of_next = _BREAK.search(between) or spoken(words()["day_contrasts"]).search(between)
    return None if is_of_next or not before else before[-1]


def _skies(day: Mention, context: Context) -> list[Sky]:
    known = context.evidence.places.skies
    return [known[element] for element in day.elements if element in known]


def _apart(day: Mention, start: int, end: int) -> int:
    return max(day.start - end, start - day.end, 0)
