"""Fares: what a party pays by what a text asks of an adult and of a child.

By "12 EUR for adults, 6 for children" two adults and a child pay 30 EUR, 24 of them for the adults. How many pay is
what results or the user say, or else the few that may: nobody says it of "my wife and our two boys".
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import combinations_with_replacement, islice, product
from typing import NamedTuple

from turnloom.planner.reply.grounding.composition import neighbours
from turnloom.planner.reply.grounding.known_amounts import Derived
from turnloom.planner.reply.grounding.places import Operand, Places
from turnloom.planner.reply.grounding.text_segments import Payer

_ADULTS, _CHILDREN = (Decimal(1), Decimal(2)), (Decimal(1), Decimal(2), Decimal(3))
"""How many of them pay if nobody has said how many there are."""
_MOST_OF_PARTY, _MOST_FARES = 9, 3
_MOST_BILLS = 1_000
_CHANCE = 0.4
"""The largest share of the neighbours of a value that may be found too."""


class Beside(NamedTuple):
    """The amounts that a bill may be beside."""

    stays: Sequence[Operand]
    """What may be paid with it, once or for each night."""
    compared: Sequence[Operand]
    """What it may be compared with."""


def party_bills(
    value: Decimal, amounts: Iterable[Operand], beside: Beside, counts: frozenset[Decimal], places: Places
) -> list[Derived]:
    """Return how adults and children pay an amount together by the fares of a text; nothing if many amounts would do.

    `counts`: those of the sentence, which may tell how many all of them are.
    """
    texts: dict[tuple[str, str], dict[Payer | None, list[Operand]]] = defaultdict(lambda: defaultdict(list))
    for one in amounts:
        at = one.place.step, one.place.path
        if one.code is not None and at in places.payers:
            texts[at][places.payers[at].get(one.value)].append(one)
    if not texts:
        return []
    parties = set(_parties(counts, places))
    found = (bill for fares in texts.values() for bill in _bills(fares, parties))
    bills = {bill.value: bill for bill in islice(found, _MOST_BILLS)}
    times = sorted({Decimal(1), *places.nights()})
    alone = list(bills.values())
    for stay, nights, bill in islice(product(beside.stays, times, alone), _MOST_BILLS):
        total, path = stay.value + bill.value * nights, f"{stay.place.path} + ({bill.path}) * {nights}"
        bills.setdefault(total, Derived(total, path, stay.place))
    for other, bill in islice(product(beside.compared, alone), _MOST_BILLS):
        apart, path = abs(other.value - bill.value), f"{other.place.path} - ({bill.path})"
        bills.setdefault(apart, Derived(apart, path, other.place))
    near = neighbours(value)
    is_chance = sum(other in bills for other in near) > _CHANCE * len(near)
    return [bills[value]] if value in bills and not is_chance else []


def _bills(fares: dict[Payer | None, list[Operand]], parties: Iterable[tuple[Decimal, Decimal]]) -> Iterator[Derived]:
    """Yield what each party pays, alone and with one other amount of the text, which is for all of them."""
    full = fares["adult"] or (fares[None] if fares["child"] else [])
    for (adults, children), adult in product(parties, full[:_MOST_FARES]):
        for some in combinations_with_replacement(fares["child"][:_MOST_FARES], int(children)):
            value = adult.value * adults + sum((one.value for one in some), Decimal())
            path = " + ".join([f"{adult.place.path} * {adults}", *(one.place.path for one in some)])
            yield Derived(value, path, adult.place)
            for other in fares[None][:_MOST_FARES]:
                yield Derived(value + other.value, f"{path} + {other.place.path}", adult.place)


def _parties(counts: frozenset[Decimal], places: Places) -> Iterator[tuple[Decimal, Decimal]]:
    """Yield how many adults and how many children may pay. Small ones may be free."""
    known, adults, small = (
        sorted(one for one in some if 1 <= one <= _MOST_OF_PARTY)
        for some in (places.values("count", "child"), places.values("count", "adult"), counts)
    )
    children = [Decimal(n) for n in range(1, int(known[-1]) + 1)] if known else _CHILDREN
    yield from product(adults or _ADULTS, children)
    yield from ((all_of_them - one, one) for all_of_them, one in product(small, children) if all_of_them > one)
