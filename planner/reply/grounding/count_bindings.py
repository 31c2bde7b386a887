"""Counts that results tell of another thing than the one that a sentence names."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from turnloom.planner.reply.grounding.context import Context
from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.mentions import is_in

_NUMBER = re.compile(r"\d+")
_STARS: Key = ("count", "star")
_BARE = re.compile(r"(?<![\d.,:-])[1-5](?=\s?(?:[,.;)](?!\d)|$|(?:and|y|und|et|e|en|each)\b))")
"""A number of stars with nothing behind it."""


def is_of_another_in_texts(claim: Figure, context: Context) -> bool:
    """Return whether texts tell a count of other things than the one named before it, and of nothing else."""
    sentence = context.sentence
    numbers = list(_NUMBER.finditer(sentence.whole, sentence.start, claim.start))
    if numbers and context.named and context.named[0].start > numbers[0].start():
        return False  # "31 m² for the Loft and 52 m² for the suite"
    begin = numbers[-1].end() if numbers else sentence.start
    before = [one.elements for one in context.named if begin <= one.start and one.end <= claim.start]
    named = frozenset().union(*before) if before or numbers else context.of_topic()
    facts = context.evidence.texts.facts(context.evidence.places)
    forms, values = {key[:-1] for key in claim.keys}, {key[-1] for key in claim.keys}
    told = [fact for fact in facts if fact.form in forms and fact.value in values] if named else []
    return bool(told) and all(fact.elements and fact.elements.isdisjoint(named) for fact in told)


def misrated(context: Context, claimed: Iterable[Figure]) -> Iterator[Figure]:
    """Yield numbers without a unit, behind one of stars, that are not those of the thing named before them.

    "The Palms has five stars, the Beach House three and the Bures two."
    """
    sentence, places = context.sentence, context.evidence.places
    begin = min((one.end for one in claimed if one.keys[0][:2] == _STARS), default=sentence.end)
    for number in _BARE.finditer(sentence.whole, begin, sentence.end):
        before = [one for one in context.named if begin <= one.start and one.end <= number.start()]
        if not before or _NUMBER.search(sentence.whole, before[-1].end, number.start()):
            continue
        known = {
            key[-1]
            for key, found in places.by_key.items()
            if key[:2] == _STARS and any(is_in(place, before[-1].elements) for place in found)
        }
        if known and Decimal(number[0]) not in known:
            yield Figure("count", *number.span(), ())
