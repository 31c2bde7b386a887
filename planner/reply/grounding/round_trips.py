"""Round trips: the sums of two prices of a list, of which one leads back from where the other leads to."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations, islice

from turnloom.planner.reply.grounding.binding import is_in
from turnloom.planner.reply.grounding.places import Element, Operand, Places

_MOST = 24
_MOST_LEGS = 12


def round_trips(places: Places, named: Collection[Element]) -> list[Operand]:
    """Return what there and back costs, for each two legs of those that are named, or of all if these make no trip."""
    pairs = _pairs([leg for leg in places.routes if leg in named], places) or _pairs(list(places.routes), places)
    return list(islice((trip for there, back in pairs for trip in _prices(there, back, places)), _MOST))


def _pairs(legs: Sequence[Element], places: Places) -> list[tuple[Element, Element]]:
    """Return the pairs of legs of which one leads back."""
    routes = places.routes
    return [pair for pair in combinations(legs[:_MOST_LEGS], 2) if routes[pair[0]] == routes[pair[1]][::-1]]


def _prices(there: Element, back: Element, places: Places) -> Iterator[Operand]:
    """Yield the sums of the prices of two legs that stand in one field."""
    out, home = (list(_amounts(leg, places)) for leg in (there, back))
    for one in out:
        for other in home:
            if (one.field, one.code) == (other.field, other.code):
                path = f"{one.place.path} + {other.place.path}"
                yield Operand(one.value + other.value, one.code, replace(one.place, path=path))


def _amounts(leg: Element, places: Places) -> Iterator[Operand]:
    for key, found in places.by_key.items():
        match key:
            case ("money", Decimal() as value, str() as code):
                yield from (Operand(value, code, place) for place in found if is_in(place, frozenset({leg})))
