"""Remainders: what is left of an amount that the user has named, and what is between a round trip and other amounts."""

from collections.abc import Iterator
from decimal import Decimal

from turnloom.planner.reply.grounding.known_amounts import Derived, KnownAmounts
from turnloom.planner.reply.grounding.paths import basis_at

_MOST_PAID = 3
"""Most of the last amounts of a text that are taken from what the user has named."""


def there_and_back(known: KnownAmounts) -> Iterator[Derived]:
    """Yield a round trip, for one or for all, and what is between it and another one, or what was told last."""
    for trip in known.trips:
        for travellers in (Decimal(1), *sorted(known.counts & known.people)):
            path = f"({trip.place.path}) * {travellers}" if travellers > 1 else trip.place.path
            yield Derived(trip.value * travellers, path, trip.place, may_be_rounded=True)
        others = (*known.told, *known.references, *known.trips, *known.other_trips) if known.compares else ()
        for other in (one for one in others if one.code == trip.code):
            path = f"{trip.place.path} - {other.place.path}"
            yield Derived(abs(trip.value - other.value), path, trip.place, may_be_rounded=True)
        for other in known.told if known.is_sum else ():
            for nights in known.nights if basis_at(other.place) == "night" else ():
                path = f"{trip.place.path} + {other.place.path} * {nights}"
                yield Derived(trip.value + other.value * nights, path, trip.place)


def left_of(known: KnownAmounts) -> Iterator[Derived]:
    """Yield what is left of an amount that the user has named after the last ones of the text, and a round trip."""
    told = [one for one in known.told if not one.place.is_said][-_MOST_PAID:] if known.compares else []
    paid = [told[-count:] for count in range(2, len(told) + 1)] + [[trip, one] for trip in known.trips for one in told]
    for limit in (one for one in known.references if one.place.is_said):
        for some in paid:
            path = " - ".join(one.place.path for one in (limit, *some))
            yield Derived(abs(limit.value - sum(one.value for one in some)), path, limit.place)
        for one in told if known.basis is None else ():
            for nights in known.nights:
                path = f"{limit.place.path} - {one.place.path} * {nights}"
                yield Derived(abs(limit.value - one.value * nights), path, limit.place)
