"""Composition: a figure that a calculation in a few steps gives, where hardly any other figure would be given as well.

Some dozens of sums, differences, multiples and shares of sourced amounts reach many values. That one of them is the
figure says something only if the values beside it are not reached too: with few amounts and a figure of many digits it
is a calculation, with many amounts and a round figure it may be chance. So the same search is made for neighbours of
the figure, which nobody has said (as a permutation test does), and the figure counts if few of them are found.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, islice
from typing import NamedTuple

from turnloom.planner.reply.grounding.places import EvidencePlace, Operand

_MOST_AMOUNTS = 16
_MOST_COUNTS = 8
_MOST_TERMS = 80
_FEW = 8
LARGEST = Decimal(10) ** 12
_SIMPLE_STEPS = 3
CHANCE, CHANCE_OF_STATED = 0.1, 0.2
"""The usual chance, and that over amounts which the text itself states or names."""
_NEAR, _FAR = range(1, 9), range(1, 5)
"""The neighbours: so many units, and so many tens of units, less and more. The unit is that of the last digit."""
_CENTS = 100


class Composition(NamedTuple):
    """A calculation that gives a figure."""

    path: str
    """The arithmetic over the paths of its sources."""
    source: Operand
    """Its first amount."""


class CalculationRules(NamedTuple):
    """The calculations that a sentence, and what its amounts are for, allow."""

    may_differ: Callable[[Operand, Operand], bool]
    """Whether it may be said how far two amounts are apart."""
    may_add: Callable[[Operand, Operand], bool]
    """Whether two amounts may be added as they are."""
    may_multiply: Callable[[EvidencePlace, Decimal], bool]
    """Whether so many times the amount at a place may be meant."""


def _always(*_: object) -> bool:
    return True


ANY_CALCULATION = CalculationRules(_always, _always, _always)


@dataclass(frozen=True, slots=True)
class Factors:
    """The counts and percentages that amounts may be multiplied by and divided by."""

    counts: Iterable[Decimal]
    percents: Iterable[Decimal]
    stated: Container[Decimal] = ()
    """The counts that the sentence itself has: they may be multiplied by in a difference, too."""
    rules: CalculationRules = ANY_CALCULATION


class _Term(NamedTuple):
    """A value in hundredths with its calculation. The words of a path are put together only for the one said."""

    value: int
    form: str
    parts: tuple["_Term | Operand | int | str", ...]


def composed(
    value: Decimal, amounts: Iterable[Operand], factors: Factors, *, chance: float = CHANCE, is_simple: bool = False
) -> Composition | None:
    """Return a calculation that gives a value, and that would give few of its neighbours; None if there is none.

    `chance` is the largest share of neighbours that may be found too; half of it after a calculation with several
    amounts. A simple calculation has one amount, or two of one field.
    """
    if value >= LARGEST:
        return None
    wanted, *beside = (int(each * _CENTS) for each in (value, *neighbours(value)))
    reached: dict[int, _Term] = {}
    steps = _steps(list(islice(amounts, _MOST_AMOUNTS)), factors, {wanted, *beside})
    for number, step in enumerate(islice(steps, _SIMPLE_STEPS) if is_simple else steps):
        for term in step:
            reached.setdefault(term.value, term)
        allowed = chance if number <= _SIMPLE_STEPS else chance / 2
        if sum(other in reached for other in beside) > allowed * len(beside):
            return None
        if found := reached.get(wanted):
            return Composition(_path(found), _source(found))
    return None


def neighbours(value: Decimal) -> list[Decimal]:
    """Return values that could as well have been said: those a few units of the last digit away, and tens of them."""
    digits = str(int(value)) if value == int(value) else ""
    unit = Decimal(10) ** (len(digits) - len(digits.rstrip("0")))
    steps = [*(unit * n for n in _NEAR), *(unit * 10 * n for n in _FAR)]
    return [other for step in steps for other in (value - step, value + step) if other > 0]


def _steps(amounts: list[Operand], factors: Factors, sought: Container[int]) -> Iterator[Iterable[_Term]]:
    """Yield what amounts give, from simple calculations to longer ones; of the many, only those with a value sought."""
    plain = [_Term(round(amount.value * _CENTS), "{}", (amount,)) for amount in amounts]
    counts = [int(count) for count in islice(factors.counts, _MOST_COUNTS)]
    multiples = [_times(term, count) for term in plain for count in counts if not _is_share_by(term, count)]
    shares = [_share(term, count) for term in plain for count in counts]
    percents = [_percent(term, share) for share in _shares_of(factors.percents) for term in (*plain, *multiples)]
    yield multiples
    alike = [term for both in combinations(plain, 2) if _are_alike(*both) for term in _joined(both, factors)]
    yield alike
    yield (_times(term, count) for term in multiples for count in counts)
    yield (_times(term, count) for term in alike for count in counts)
    yield _joined(plain, factors, sought)
    yield (_Term(sum(term.value for term in three), "({} + {} + {})", three) for three in combinations(plain[:_FEW], 3))
    yield percents
    yield shares
    yield _added([*plain, *multiples, *percents][:_MOST_TERMS], factors, sought)
    stated = [term for term in multiples if term.parts[1] in factors.stated]
    yield _joined([*plain, *stated][:_MOST_TERMS], factors, sought)


def _joined(terms: Iterable[_Term], factors: Factors, sought: Container[int] | None = None) -> Iterator[_Term]:
    """Yield the sum and the difference of each two terms: all of them, or those with a value sought."""
    for first, second in _of_two_places(terms):
        total, difference = first.value + second.value, abs(first.value - second.value)
        if (sought is None or total in sought) and _may_add(first, second, factors):
            yield _Term(total, "({} + {})", (first, second))
        is_sought = sought is None or difference in sought
        if is_sought and factors.rules.may_differ(_source(first), _source(second)):
            yield _Term(difference, "({} - {})", (first, second))


def _may_add(first: _Term, second: _Term, factors: Factors) -> bool:
    are_amounts = isinstance(first.parts[0], Operand) and isinstance(second.parts[0], Operand)
    return not are_amounts or factors.rules.may_add(_source(first), _source(second))


def _added(terms: Iterable[_Term], factors: Factors, sought: Container[int]) -> Iterator[_Term]:
    """Yield the sums of two terms that have a value sought."""
    for first, second in _of_two_places(terms):
        if (total := first.value + second.value) in sought and _may_add(first, second, factors):
            yield _Term(total, "({} + {})", (first, second))


def _of_two_places(terms: Iterable[_Term]) -> Iterator[tuple[_Term, _Term]]:
    """Yield pairs of terms. What is made of one amount alone is a multiple."""
    placed = [(term, _source(term).place) for term in terms]
    for (first, here), (second, there) in combinations(placed, 2):
        if not (here is there or here == there):
            yield first, second


def _are_alike(first: _Term, second: _Term) -> bool:
    """Return whether two amounts are values of fields with one name."""
    return _source(first).field == _source(second).field != ""


def _times(term: _Term, count: int) -> _Term:
    return _Term(term.value * count, "{} * {}", (term, count))


def _is_share_by(term: _Term, count: int) -> bool:
    """Return whether an amount is itself a share by a count, which its multiple gives back."""
    return _source(term).place.path.endswith(f"/ {count}")


def _share(term: _Term, count: int) -> _Term:
    return _Term((2 * term.value + count) // (2 * count), "{} / {}", (term, count))


def _percent(term: _Term, tenths: int) -> _Term:
    return _Term((term.value * tenths + 500) // 1000, "{} * {} %", (term, f"{tenths / 10:g}"))


def _shares_of(percents: Iterable[Decimal]) -> list[int]:
    """Return percentages of at most one decimal, and what is left and what is more by them, in tenths."""
    known = [int(percent * 10) for percent in percents if percent * 10 == int(percent * 10)]
    return [share for tenths in known for share in (tenths, 1000 - tenths, 1000 + tenths)]


def _path(term: _Term) -> str:
    parts = (
        part if isinstance(part, int | str) else _path(part) if isinstance(part, _Term) else part.place.path
        for part in term.parts
    )
    return term.form.format(*parts)


def _source(term: _Term) -> Operand:
    first = term.parts[0]
    assert not isinstance(first, int | str)
    return _source(first) if isinstance(first, _Term) else first
