"""Bills: a figure that adds up the amounts of the things that its sentence names.

In "the family room with parking comes to 924" the room and the parking are named, so few other sums could be meant:
each thing counts once, so many times as there are nights or people, less a discount that is named. What is left of an
amount that the user or the text has stated is found too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, islice, product

from turnloom.planner.reply.grounding.composition import LARGEST, CalculationRules, neighbours
from turnloom.planner.reply.grounding.places import Operand

_MOST_BILLS = 1500
_MOST_FACTORS, _MOST_MULTIPLIED = 6, 3
_MOST_FARES, _LARGEST_GROUP = 5, 9
_CENTS = 100
_CHANCE, _CHANCE_OF_FARES = 0.35, 0.5
"""The largest share of the neighbours of a value that may be found too."""


@dataclass(frozen=True, slots=True)
class Bill:
    """A sum of multiples of amounts."""

    value: Decimal
    parts: tuple[tuple[Operand, int], ...]
    suffix: str = ""

    @property
    def path(self) -> str:
        """The arithmetic over the paths of its sources."""
        parts = (one.place.path + (f" * {count}" if count > 1 else "") for one, count in self.parts)
        return " + ".join(parts) + self.suffix


def billed(
    value: Decimal,
    things: Sequence[Sequence[Operand]],
    counts: Iterable[Decimal],
    percents: Iterable[Decimal],
    references: Sequence[Operand],
    rules: CalculationRules,
) -> Bill | None:
    """Return a bill that gives a value, and that would give few of its neighbours; None if there is none."""
    if value >= LARGEST:
        return None
    whole = [int(count) for count in counts if 1 < count == int(count)]
    factors = list(dict.fromkeys([1, *whole, *(one * other for one, other in combinations(whole, 2))]))[:_MOST_FACTORS]
    multiples = [(one, count) for thing in things for one in thing for count in factors]
    meant = {(id(one), n) for one, n in multiples if n == 1 or rules.may_multiply(one.place, Decimal(n))}
    bills = [
        bill
        for bill in islice(_bills(things, factors), _MOST_BILLS)
        if all((id(one), count) in meant for one, count in bill.parts) and _may_be_added(bill, rules)
    ]
    single = [Bill(one.value * count, ((one, count),)) for one, count in multiples if (id(one), count) in meant]
    beside = neighbours(value)
    reached: dict[int, Bill] = {}
    percents = list(percents)
    less = list(_less(single, percents))
    for step in (bills, less, _left([*single, *less], references), _less(bills, percents), _left(bills, references)):
        for bill in step:
            reached.setdefault(round(bill.value * _CENTS), bill)
        if sum(int(other * _CENTS) in reached for other in beside) > _CHANCE * len(beside):
            return None
        if found := reached.get(int(value * _CENTS)):
            return found
    return None


def _may_be_added(bill: Bill, rules: CalculationRules) -> bool:
    once = [one for one, count in bill.parts if count == 1]
    return all(rules.may_add(first, second) for first, second in combinations(once, 2))


def shared(
    value: Decimal, fares: Sequence[Operand], counts: Iterable[Decimal], groups: Iterable[Decimal] = ()
) -> Bill | None:
    """Return what a group pays by the fares that one text states: so many times each of two, and one more at most once.

    `groups`: how many may pay one of the two each. None if no such sum gives the value, or if many would give its
    neighbours.
    """
    times = {int(count) for count in counts if 1 <= count <= _LARGEST_GROUP and count == int(count)} | {1}
    payers = {(part, int(group) - part) for group in groups if group <= _LARGEST_GROUP for part in range(1, int(group))}
    shares = sorted({*product(times, repeat=2), *payers})
    reached: dict[Decimal, Bill] = {}
    for pair in combinations(fares[:_MOST_FARES], 2):
        rest = [None, *(one for one in fares[:_MOST_FARES] if one not in pair)]
        for (first, second), more in product(shares, rest):
            if max(first, second) > 1:
                parts = ((pair[0], first), (pair[1], second), *(((more, 1),) if more else ()))
                bill = Bill(sum((one.value * count for one, count in parts), Decimal()), parts)
                reached.setdefault(bill.value, bill)
    is_chance = sum(other in reached for other in neighbours(value)) > _CHANCE_OF_FARES * len(neighbours(value))
    return None if is_chance else reached.get(value)


def _bills(things: Sequence[Sequence[Operand]], factors: Sequence[int]) -> Iterator[Bill]:
    for size in range(2, len(things) + 1):
        for chosen in combinations(things, size):
            for meant in product(*map(_meant, chosen)):
                if len({one.place for some in meant for one in some}) < sum(map(len, meant)):
                    continue
                for times in product(factors, repeat=size):
                    if sum(count > 1 for count in times) < _MOST_MULTIPLIED:
                        parts = tuple((one, count) for some, count in zip(meant, times, strict=True) for one in some)
                        yield Bill(sum((one.value * count for one, count in parts), Decimal()), parts)


def _meant(thing: Sequence[Operand]) -> list[tuple[Operand, ...]]:
    """Return what may be meant by a thing: one of its amounts, or both of two, such as the flights of an airline."""
    both = [tuple(thing)] if len(thing) == 2 and thing[0].field == thing[1].field else []
    return [*((one,) for one in thing), *both]


def _less(bills: Iterable[Bill], percents: Iterable[Decimal]) -> Iterator[Bill]:
    for bill in bills:
        for percent in percents:
            yield Bill(bill.value * (100 - percent) / 100, bill.parts, f" - {percent:.4g} %")


def _left(bills: Iterable[Bill], references: Iterable[Operand]) -> Iterator[Bill]:
    for bill in bills:
        for reference in references:
            if any(one.value == reference.value and one.place == reference.place for one, _ in bill.parts):
                continue  # what is added and taken away again
            yield Bill(abs(bill.value - reference.value), bill.parts, f" - {reference.place.path}")
