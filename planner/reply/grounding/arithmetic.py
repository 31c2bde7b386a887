"""Arithmetic and rounding: a figure that follows from sourced ones has them as its source.

The closure is a stated one: a sum or a difference of two amounts, of which one is in the text or a word says that it is
one; the sum of all amounts in the text, or of a list; a multiple by, or a share of, a count that is known; one amount
and a multiple of another. Percentages compare two amounts. A rounded figure has fewer digits than its source, and is
within a fourteenth of it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, permutations

from turnloom.planner.reply.grounding.bills import billed
from turnloom.planner.reply.grounding.composition import CHANCE_OF_STATED, Composition, Factors, composed
from turnloom.planner.reply.grounding.paths import basis_of, is_for_one
from turnloom.planner.reply.grounding.places import UNSTATED, EvidencePlace, Operand
from turnloom.planner.reply.grounding.sentences import Direction

_FEW = 12
"""Most amounts that may be combined by a word such as "together", or multiplied, without being in the text."""
_VERY_FEW = 4
_MOST = 60
_MOST_COUNT = 31
_MOST_PEOPLE = 12
_USUAL = (Decimal(2), Decimal(3))
"""Counts that need not be said: of nights, of people."""
_CENT = Decimal("0.005")
_HALF, _TENTH_HALF = Decimal("0.5"), Decimal("0.05")
_OF_SENTENCE = EvidencePlace("agent", "")
"""The place of what the numbers of a sentence give."""
_ROUNDED = Decimal("0.072")
_BESIDE = (2, 3, 4, 6, 8, 10)


@dataclass(frozen=True, slots=True)
class KnownAmounts:
    """The amounts and counts that the arithmetic of a sentence may use."""

    amounts: Sequence[Operand]
    """Every amount that the figure may follow from, in its currency."""
    told: Sequence[Operand]
    """The amounts among them that the text states, or that belong to what it names."""
    things: Sequence[Sequence[Operand]]
    """The amounts that may be meant by each thing that the sentence names."""
    fitting: Sequence[Operand]
    """The amounts but those of other elements than the figure is said of."""
    references: Sequence[Operand]
    """The amounts that the user has stated, and the last ones of the text."""
    counts: frozenset[Decimal]
    """Counts in the sentence."""
    known_counts: frozenset[Decimal]
    """Counts in the evidence, such as nights."""
    is_sum: bool
    is_difference: bool
    is_addition: bool
    is_share: bool
    parts: frozenset[tuple[Decimal, Decimal]]
    """Numbers in the sentence of which one is said to be a part of the other: 19 of 25."""
    percents: frozenset[Decimal]
    """Percentages in the sentence, and those that its fractions stand for."""
    known_percents: frozenset[Decimal] = frozenset()
    """Percentages in the evidence."""
    stated: frozenset[Decimal] = frozenset()
    """The values that the text has stated so far."""
    basis: str | None = None
    is_of_people: bool = False
    """Whether the sentence speaks of what each person pays."""
    is_free: bool = False
    """Whether any calculation will do, because no source has the value itself."""
    is_worded: bool = False
    """Whether the sentence has a word of a calculation."""
    is_plain: bool = False
    """Whether the figure is a number without a currency."""
    strange: Sequence[Operand] = ()
    """The amounts of other elements than the figure is said of: it is no multiple and no share of them."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A value that follows from others."""

    value: Decimal
    path: str
    """The arithmetic over the paths of its sources."""
    place: EvidencePlace
    is_share: bool = False
    may_be_rounded: bool = False


def derive(value: Decimal, known: KnownAmounts, direction: Direction | None) -> Derived | None:
    """Return how a value follows from known ones; None if it does not."""
    for candidate in _candidates(known, is_precise=value != value.to_integral_value()):
        near = _HALF if candidate.is_share and value == value.to_integral_value() else _CENT
        if abs(candidate.value - value) <= near:
            return candidate
        if direction and candidate.may_be_rounded and is_rounded(value, candidate.value, direction):
            return candidate
    found = _composed(value, known) if known.is_free else None
    return Derived(value, found.path, found.source.place) if found else None


def _composed(value: Decimal, known: KnownAmounts) -> Composition | None:
    """Return a free calculation. Without a word of calculation it may only multiply."""
    stated = [count for count in (*known.counts, *known.known_counts) if count > 1 and count == int(count)]
    is_counted = known.basis == "night" or any(count > 1 for count in known.counts)
    counts = stated if known.basis and is_counted and stated else [*stated, *_USUAL]
    percents = [*sorted(known.percents)[:_VERY_FEW], *sorted(known.known_percents - known.percents)[:_VERY_FEW]]
    factors = Factors(dict.fromkeys(counts), percents)
    told, others = ([one for one in some if _is_for(known, one)] for some in (known.told, known.fitting))
    found = composed(value, told, factors, chance=CHANCE_OF_STATED)
    found = found or composed(value, others, factors, is_simple=not known.is_worded)
    if found is None and (bill := billed(value, known.things, stated, percents, known.references)):
        return Composition(bill.path, bill.parts[0][0])
    return found


def _is_for(known: KnownAmounts, one: Operand) -> bool:
    """Return whether a free calculation may use an amount: no number that the user said is taken for money."""
    is_number = one.place.is_said and one.code == UNSTATED
    return (one.code is None) == known.is_plain and not (is_number or _is_other_night(known, one))


def _is_other_night(known: KnownAmounts, one: Operand) -> bool:
    """Return whether an amount is for one night, as the figure is, which is no multiple or share of it then."""
    return known.basis == "night" == basis_of(one.place.path) and not known.is_of_people


def derive_percent(value: Decimal, known: KnownAmounts, direction: Direction | None) -> Derived | None:
    """Return which two amounts a percentage compares; None if there are none.

    It compares two values of one field, two that the text states, or two of the numbers in its sentence. Where the text
    states neither, the percentages beside it must not be found as easily.
    """
    near = _HALF if value == value.to_integral_value() else _TENTH_HALF
    shares = [(first.value / second.value * 100, first, second) for first, second in _compared(known)]
    for share, first, second in shares:
        is_stated = not known.stated.isdisjoint({first.value, second.value})
        is_found = _apart(share, value) <= (1 if direction else near)
        if is_found and (is_stated or not _is_chance(value, [each for each, _, _ in shares], near)):
            return Derived(value, f"{first.place.path} / {second.place.path}", first.place)
    if any(abs(part / whole * 100 - value) <= near for part, whole in known.parts):
        return Derived(value, "", _OF_SENTENCE)
    return None


def _apart(share: Decimal, value: Decimal) -> Decimal:
    """Return how far a percentage is from a share, and from what is more or less by it."""
    return min(abs(share - value), abs(abs(share - 100) - value))


def _is_chance(value: Decimal, shares: Sequence[Decimal], near: Decimal) -> bool:
    """Return whether many of the percentages beside one would be found as well."""
    beside = [value + sign * step for step in _BESIDE for sign in (1, -1)]
    hits = sum(any(_apart(share, other) <= near for share in shares) for other in beside)
    return hits > len(beside) // 3


def _compared(known: KnownAmounts) -> Iterator[tuple[Operand, Operand]]:
    """Yield pairs of amounts that a percentage may compare."""
    money = [one for one in known.amounts if one.code is not None]
    codes = Counter(one.code for one in money)
    groups: list[Sequence[Operand]] = [known.told, [one for one in money if codes[one.code] <= _VERY_FEW]]
    if known.is_worded:
        of_field: dict[str, list[Operand]] = {}
        for one in known.amounts[:_MOST]:
            of_field.setdefault(one.field, []).append(one)
        groups += of_field.values()
    for first, second in (pair for group in groups for pair in permutations(group, 2)):
        if first.value != second.value and second.value and first.code == second.code:
            yield first, second


def is_rounded(said: Decimal, actual: Decimal, direction: Direction) -> bool:
    """Return whether a figure is another one, rounded in a direction."""
    is_half = said % (5 * Decimal(10) ** (said.adjusted() - 1)) == 0 and abs(said - actual) <= actual * _ROUNDED / 2
    is_close = actual and abs(said - actual) <= actual * _ROUNDED and _digits(said) < _digits(actual)
    if not (is_close or is_half):
        return said == actual
    return direction == "near" or (said >= actual if direction == "up" else said <= actual)


def _digits(value: Decimal) -> int:
    """Return the number of significant digits."""
    return len(value.normalize().as_tuple().digits)


def _candidates(known: KnownAmounts, *, is_precise: bool) -> Iterator[Derived]:
    """Yield what follows from known amounts. A figure with cents is seldom hit by chance, so any two may make it."""
    yield from _scaled(known)
    yield from _percentages(known)
    if known.is_free:
        yield from _of_records(known)
    amounts = known.amounts[:_MOST]
    is_free = is_precise or ((known.is_sum or known.is_difference) and len(amounts) <= _FEW)
    for first in amounts if is_free else known.told:
        for second in amounts:
            if first is second or (first.code is None) != (second.code is None):
                continue
            is_told = is_precise or (first in known.told and second in known.told)
            if is_told or known.is_sum:
                yield _joined(first, second, "+", first.value + second.value)
            if is_told or known.is_difference:
                yield replace(_joined(first, second, "-", abs(first.value - second.value)), may_be_rounded=True)
    yield from _sums(known)


def _of_records(known: KnownAmounts) -> Iterator[Derived]:
    """Yield the sums and differences of the amounts that stand beside each other in one object."""
    people = sorted(count for count in known.counts | known.known_counts if 1 < count <= _MOST_PEOPLE)
    records: dict[str, list[Operand]] = {}
    for one in known.amounts[:_MOST]:
        if one.code is not None and one.place.path.count(".") and not one.place.is_said:
            records.setdefault(f"{one.place.step}/{one.place.path.rpartition('.')[0]}", []).append(one)
    for record in records.values():
        if 1 < len({one.value for one in record}) <= _VERY_FEW:
            for first, second in combinations(record, 2):
                yield _joined(first, second, "+", first.value + second.value)
                yield _joined(first, second, "-", abs(first.value - second.value))
            yield from _of_people(record, people)


def _of_people(record: Sequence[Operand], counts: Sequence[Decimal]) -> Iterator[Derived]:
    """Yield what so many people pay for an object: what each of them pays beside what all pay."""
    for each, other in permutations(record, 2):
        if is_for_one(each.place.path) and not is_for_one(other.place.path):
            for count in counts:
                path = f"{other.place.path} + {each.place.path} * {count}"
                yield Derived(other.value + each.value * count, path, other.place)


def _scaled(known: KnownAmounts) -> Iterator[Derived]:
    """Yield multiples by, and shares of, counts."""
    free = {count for count in known.counts if 1 < count <= _MOST_COUNT}
    bound = {count for count in known.known_counts if 1 < count <= _MOST_COUNT}
    both = free | bound
    products = {first * second for first in both for second in both}
    is_few = len(known.amounts) <= _FEW
    for amount in known.amounts[:_MOST]:
        if _is_other_night(known, amount) or amount in known.strange:
            continue
        is_told = (is_few and amount in known.fitting) or amount in known.told
        is_of_stay = known.basis == "total" and amount in known.fitting
        multiples = (free if is_told else set()) | (bound if is_of_stay else set())
        for count in sorted(multiples):
            yield _by(amount, "*", count, amount.value * count)
        for count in sorted((both | (products if is_told else set())) if known.is_share else ()):
            yield _by(amount, "/", count, amount.value / count)


def _percentages(known: KnownAmounts) -> Iterator[Derived]:
    """Yield a percentage of an amount, and the amount that is less or more by it."""
    for percent in sorted(known.percents)[:_VERY_FEW]:
        for amount in known.amounts[:_MOST]:
            for share in (percent, 100 - percent, 100 + percent):
                path = f"{amount.place.path} * {share:.4g} %"
                yield Derived(amount.value * share / 100, path, amount.place, may_be_rounded=True)


def _sums(known: KnownAmounts) -> Iterator[Derived]:
    """Yield the sum of what the text tells, of a few amounts, and of the values of a field in a list."""
    if not known.is_sum:
        return
    groups: dict[str, list[Operand]] = {}
    for operand in known.amounts:
        groups.setdefault(operand.column, []).append(operand)
    few = known.amounts if len(known.amounts) <= _FEW else ()
    for operands in (known.told, few, *groups.values()):
        if len(operands) > 1:
            total = sum((operand.value for operand in operands), Decimal())
            yield Derived(total, " + ".join(operand.place.path for operand in operands), operands[0].place)
    yield from _sums_with_multiples(known)


def _sums_with_multiples(known: KnownAmounts) -> Iterator[Derived]:
    """Yield an amount and a multiple of another, such as a room with two days of parking."""
    counts = sorted(count for count in known.counts if 1 < count <= _MOST_COUNT and known.is_addition)
    for first in known.told if len(known.amounts) > _FEW else known.amounts:
        for second in known.amounts[:_MOST]:
            for count in counts if first is not second else ():
                path = f"{first.place.path} + {second.place.path} * {count}"
                yield Derived(first.value + second.value * count, path, first.place)


def _joined(first: Operand, second: Operand, sign: str, value: Decimal) -> Derived:
    return Derived(value, f"{first.place.path} {sign} {second.place.path}", first.place)


def _by(amount: Operand, sign: str, count: Decimal, value: Decimal) -> Derived:
    return Derived(
        value, f"{amount.place.path} {sign} {count}", amount.place, is_share=sign == "/", may_be_rounded=True
    )
