"""Multiples: by which counts an amount may be multiplied, by what it is for: a night, a person, or both."""

import re
from decimal import Decimal
from itertools import product
from math import prod

from turnloom.planner.reply.grounding.known_amounts import Derived, KnownAmounts
from turnloom.planner.reply.grounding.paths import basis_at, is_for_one
from turnloom.planner.reply.grounding.places import EvidencePlace
from turnloom.planner.reply.grounding.price_units import units_in

_A_PAIR = frozenset({Decimal(2)})
_TENS = frozenset({Decimal(10), Decimal(100), Decimal(1000)})
"""Multiples that a misplaced decimal point gives, too."""
_MULTIPLE = re.compile(r"\S+ \* (\d+)(?: \* (\d+))?")


def is_unexplained(derived: Derived, known: KnownAmounts) -> bool:
    """Return whether an amount was multiplied by a count that neither the text nor what the amount is for tells."""
    found = _MULTIPLE.fullmatch(derived.path)
    counts = [Decimal(count) for count in found.groups() if count] if found else []
    return bool(counts) and not may_multiply(known, derived.place, prod(counts, start=Decimal(1)))


def may_multiply(known: KnownAmounts, place: EvidencePlace, count: Decimal) -> bool:
    """Return whether so many times an amount may be meant.

    One count stands for people and for nights only if there are as many of both.
    """
    units, said = units_in(place.behind), known.counts | known.counts_before
    people, nights = known.people or known.known_counts | _A_PAIR, known.nights or known.known_counts
    is_of_person = units.get("who") == "person" or is_for_one(place.path)
    is_of_night = units.get("time") == "day" or basis_at(place) == "night"
    meant = known.counts if known.is_plain else said | known.nights | known.people
    if count in _TENS - meant and not (is_of_person and is_of_night):
        return False
    if not (is_of_person or is_of_night):
        some = said | known.people | known.known_counts | _A_PAIR
        both = {one * other for one, other in product(some, repeat=2) if one != other or one in known.counts}
        return count in some | both
    pairs = product(said | people, said | nights)
    both = {one * other for one, other in pairs if one != other or one in people & nights}
    return count in said | (people if is_of_person else set()) | (nights if is_of_night else set()) | both
