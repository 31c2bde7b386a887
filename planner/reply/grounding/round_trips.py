"""Round trips: the sums of two prices of a list, of which one leads back from where the other leads to."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations, islice, product

from turnloom.planner.reply.grounding.mentions import is_in
from turnloom.planner.reply.grounding.places import Element, Operand, Places

_MOST = 24
_MOST_LEGS = 12


def round_trips(places: Places, named: Collection[Element]) -> list[Operand]:
    """Return what there and back costs, for each two legs of those that are named, or of all if these make no trip."""
    pairs = _pairs([leg for leg in places.routes if leg in named], places) or _pairs(list(places.routes), places)
    prices = {leg: _prices(leg, places) for leg in dict.fromkeys(leg for pair in pairs for leg in pair)}
    return list(islice((trip for there, back in pairs for trip in _sums(prices[there], prices[back])), _MOST))


def _pairs(legs: Sequence[Element], places: Places) -> list[tuple[Element, Element]]:
    """Return the pairs of legs of which one leads back."""
    routes = places.routes
    return [pair for pair in combinations(legs[:_MOST_LEGS], 2) if routes[pair[0]] == routes[pair[1]][::-1]]


def _prices(leg: Element, places: Places) -> list[Operand]:
    """Return the amounts of a leg that have a currency."""
    amounts: list[Operand] = []
    for key, found in places.by_key.items():
        match key:
            case ("money", Decimal() as value, str() as code):
                amounts += (Operand(value, code, place) for place in found if is_in(place, frozenset({leg})))
    return amounts


def _sums(there: Sequence[Operand], back: Sequence[Operand]) -> Iterator[Operand]:
    """Yield the sums of the prices of two legs that stand in one field."""
    for one, other in product(there, back):
        if (one.field, one.code) == (other.field, other.code):
            path = f"{one.place.path} + {other.place.path}"
            yield Operand(one.value + other.value, one.code, replace(one.place, path=path))
