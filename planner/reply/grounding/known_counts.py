"""Known counts: the numbers of a unit, or behind a word, that the evidence has, and what follows from them."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from turnloom.planner.reply.grounding.context import Context
from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.mentions import fits, is_in
from turnloom.planner.reply.grounding.places import Element, Places

_FACTORS = ("item", "guest", "adult", "night")
"""Units that a total is a multiple by: for each of two passengers, two bags."""
_LEFT: Key = ("count", "left")
_FAHRENHEIT, _DEGREE = ("count", "fahrenheit"), ("count", "degree")
_NEAR_CELSIUS = Decimal("0.3")
"""How far apart temperatures may be that are the same in whole degrees Fahrenheit. Results are known without a sign."""


def follows(value: Decimal, known: set[Decimal], context: Context) -> bool:
    """Return whether a number is said to be, and is, a sum, a multiple, an average or a difference of known ones."""
    sentence = context.sentence
    if any(sentence.says(kind) for kind in ("differences", "sizes_apart")) and value in {
        abs(one - other) for one in known for other in known
    }:
        return True
    places = context.evidence.places
    each = sentence.counts().union(*(places.values("count", unit) for unit in _FACTORS))
    sums = {one + other for one in known for other in known} | {one * count for one in known for count in each}
    sums |= {sum(known, Decimal()), *places.column_sums.values()}
    return sentence.says("sums") and not sums.isdisjoint({value, *(value * count for count in sentence.counts())})


def in_celsius(claim: Figure, places: Places) -> Figure:
    """Return a claim in degrees Fahrenheit as the known temperature that it is, or as the one that it would be."""
    if claim.keys[0][:2] != _FAHRENHEIT or places.values(*_FAHRENHEIT):
        return claim
    said = claim.keys[0][-1]
    assert isinstance(said, Decimal)
    celsius = (said - 32) * 5 / 9
    known = [one for one in places.values(*_DEGREE) if min(abs(celsius - one), abs(celsius + one)) <= _NEAR_CELSIUS]
    return replace(claim, keys=tuple((*_DEGREE, one) for one in known or [Decimal(round(abs(celsius)))]))


def is_elliptical(keys: tuple[Key, ...], places: Places) -> bool:
    """Return whether a longer text has a number without its unit, behind another one with it: "22 m², the loft 38"."""
    forms = {key[:-1] for key in keys}
    texts = {place for place in places.of((("bare", keys[0][-1]),)) if place.is_prose}
    having = {place for key, found in places.by_key.items() if key[:-1] in forms for place in found}
    return bool(texts & having)


def is_factor(value: Decimal, derived: Mapping[int, str]) -> bool:
    """Return whether an amount of the sentence was found by multiplying or dividing by a number."""
    factors = (("*", f"{value:f}"), ("/", f"{value:f}"))
    return any(pair in factors for path in derived.values() for pair in pairwise(path.split(" ")))


def known_values(key: Key, places: Places, elements: frozenset[Element] = frozenset()) -> set[Decimal]:
    """Return the values of the same unit in results, or in some elements of them; for a weekday, the known ones."""
    return {
        Decimal(str(other[-1]))
        for other, found in places.by_key.items()
        if other[:-1] == key[:-1]
        and any(not (place.is_said or place.is_authored) and fits(place, elements) for place in found)
    }


def is_sum_of_people(key: Key, places: Places) -> bool:
    """Return whether a number of guests is that of adults and children."""
    if key[:2] != ("count", "guest"):
        return False
    adults = places.values("count", "adult")
    children = places.values("count", "child") | {Decimal()}
    return key[-1] in {adult + child for adult in adults for child in children}


def tells_left(context: Context) -> bool:
    """Return whether results tell how many are left of what the text has named last."""
    named = frozenset[Element]().union(*(mention.elements for mention in context.topic))
    known = (found for key, found in context.evidence.places.by_key.items() if key[:2] == _LEFT)
    return any(is_in(place, named) for found in known for place in found)
