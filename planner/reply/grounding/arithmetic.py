"""Arithmetic and rounding: a figure that follows from sourced ones has them as its source.

The closure is a stated one: a sum or a difference of two amounts, of which one is in the text or a word says that it is
one; the sum of all amounts in the text, or of a list; a multiple by, or a share of, a count that is known; one amount
and a multiple of another. Percentages compare two amounts. A rounded figure has fewer digits than its source, and is
within a fourteenth of it, and within three units of its own last digit.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import chain, combinations, permutations, product

from turnloom.planner.reply.grounding.bills import billed
from turnloom.planner.reply.grounding.composition import (
    CHANCE_OF_STATED,
    CalculationRules,
    Composition,
    Factors,
    composed,
)
from turnloom.planner.reply.grounding.known_amounts import Derived, KnownAmounts
from turnloom.planner.reply.grounding.multiples import is_unexplained, may_multiply
from turnloom.planner.reply.grounding.paths import basis_at, basis_of, is_for_one
from turnloom.planner.reply.grounding.places import UNSTATED, Operand
from turnloom.planner.reply.grounding.price_units import units_in
from turnloom.planner.reply.grounding.remainders import left_of, there_and_back
from turnloom.planner.reply.grounding.sentences import Direction
from turnloom.planner.reply.grounding.text_arithmetic import in_texts, of_group

_FEW = 12
"""Most amounts that may be combined by a word such as "together", or multiplied, without being in the text."""
_VERY_FEW = 4
_MOST = 60
_MOST_COUNT = 31
_MOST_PEOPLE = 12
_USUAL = (Decimal(2), Decimal(3))
"""Counts that need not be said: of nights, of people."""
_SHARE = re.compile(r" / (?P<count>\d+)$")
_CENT = Decimal("0.005")
_HALF = Decimal("0.5")
_ROUNDED = Decimal("0.072")
_MOST_UNITS = 3
"""How many units of its last digit a rounded figure may be from the exact one."""


def derive(value: Decimal, known: KnownAmounts, direction: Direction | None) -> Derived | None:
    """Return how a value follows from known ones; None if it does not."""
    for candidate in _candidates(known, is_precise=value != value.to_integral_value()):
        near = _HALF if candidate.is_share and value == value.to_integral_value() else _CENT
        is_near = direction and candidate.may_be_rounded and is_rounded(value, candidate.value, direction)
        if not (is_near or abs(candidate.value - value) <= near):
            continue
        if not (_is_for_others(candidate, known) or is_unexplained(candidate, known)):
            return candidate
    found = (Derived(value, one.path, one.source.place) for one in _composed(value, known)) if known.is_free else ()
    derived = next((derived for derived in found if not is_unexplained(derived, known)), None)
    return None if derived is None or _is_for_others(derived, known) else derived


def _is_for_others(derived: Derived, known: KnownAmounts) -> bool:
    """Return whether a calculation gives what a night, a stay or a person costs, where another of these is meant."""
    return _is_of_night(derived.path, known) or _is_by_wrong_count(derived, known)


def _is_of_night(path: str, known: KnownAmounts) -> bool:
    """Return whether a calculation gives the share of a night where a whole stay is meant, or the other way round."""
    sign = "*" if known.is_nightly else "/" if known.basis == "total" else None
    if sign is None or known.is_of_people:
        return False
    return any(path.endswith(f"{sign} {count}") for count in known.nights)


def _is_by_wrong_count(derived: Derived, known: KnownAmounts) -> bool:
    """Return whether the price of a stay was divided by the nights alone, or by the people, where it is said for both.

    Or by the nights where it is said for one person, or by the people where it is said for a night.
    """
    share = _SHARE.search(derived.path)
    if share is None or known.nights & known.people or basis_of(derived.place.path) != "total":
        return False
    count = Decimal(share["count"])
    if known.is_for_one and known.basis == "night":
        return count in known.nights | known.people - {1}
    return (known.is_for_one and count in known.nights) or (known.is_nightly and count in known.people)


def _composed(value: Decimal, known: KnownAmounts) -> Iterator[Composition]:
    """Yield free calculations. Without a word of calculation they may only multiply."""
    stated = [count for count in (*known.counts, *known.known_counts) if count > 1 and count == int(count)]
    is_counted = known.basis == "night" or any(count > 1 for count in known.counts)
    counts = stated if (known.says_nights or (known.basis and is_counted)) and stated else [*stated, *_USUAL]
    percents = [*sorted(known.percents)[:_VERY_FEW], *sorted(known.known_percents - known.percents)[:_VERY_FEW]]
    rules = CalculationRules(known.may_differ, known.may_add, partial(may_multiply, known))
    factors = Factors(dict.fromkeys(counts), percents, known.counts, rules)
    told, others = ([one for one in some if _is_for(known, one)] for some in (known.told, known.fitting))
    if found := composed(value, told, factors, chance=CHANCE_OF_STATED):
        yield found
    if found := composed(value, others, factors, is_simple=not known.is_worded):
        yield found
    if fare := of_group(value, known):
        yield Composition(fare.path, fare.parts[0][0])
    if bill := billed(value, known.things, stated, percents, known.references, rules):
        yield Composition(bill.path, bill.parts[0][0])


def _is_for(known: KnownAmounts, one: Operand) -> bool:
    """Return whether a free calculation may use an amount: no number that the user said is taken for money."""
    is_number = one.place.is_said and one.code == UNSTATED
    return (one.code is None) == known.is_plain and not (is_number or _is_other_night(known, one))


def _is_other_night(known: KnownAmounts, one: Operand) -> bool:
    """Return whether an amount is for one night, as the figure is, which is no multiple or share of it then."""
    return known.basis == "night" == basis_of(one.place.path) and not known.is_of_people


def is_rounded(said: Decimal, actual: Decimal, direction: Direction) -> bool:
    """Return whether a figure is another one, rounded in a direction."""
    is_half = said % (5 * Decimal(10) ** (said.adjusted() - 1)) == 0 and abs(said - actual) <= actual * _ROUNDED / 2
    five = 5 * Decimal(10) ** (said.adjusted() - 2)
    is_half = is_half or (said % five == 0 and abs(said - actual) <= five / 2)
    nearest = min(actual * _ROUNDED, _MOST_UNITS * Decimal(10) ** int(said.normalize().as_tuple().exponent))
    is_close = actual and abs(said - actual) <= nearest and _digits(said) < _digits(actual)
    if not (is_close or is_half):
        return said == actual
    return direction == "near" or (said >= actual if direction == "up" else said <= actual)


def _digits(value: Decimal) -> int:
    """Return the number of significant digits."""
    return len(value.normalize().as_tuple().digits)


def _candidates(known: KnownAmounts, *, is_precise: bool) -> Iterator[Derived]:
    """Yield what follows from known amounts. A figure with cents is seldom hit by chance, so any two may make it."""
    yield from _scaled(known)
    yield from known.bills if not known.is_for_one else ()
    yield from _percentages(known)
    yield from there_and_back(known)
    yield from left_of(known)
    yield from _shares_of_stays(known)
    if known.is_free:
        yield from _of_records(known)
    amounts = known.amounts[:_MOST]
    is_free = is_precise or ((known.is_sum or known.compares) and len(amounts) <= _FEW)
    for first in amounts if is_free else known.told:
        for second in amounts:
            if first is second or (first.code is None) != (second.code is None):
                continue
            are_told = first in known.told and second in known.told
            are_free = known.is_worded or not (first.place.is_prose and second.place.is_prose)
            is_told = are_told or (is_precise and are_free)
            is_of_user = first.place.is_said or second.place.is_said
            if (is_told or known.is_sum) and not is_of_user and known.may_add(first, second):
                total = _joined(first, second, "+", first.value + second.value)
                yield replace(total, may_be_rounded=known.is_sum and are_told)
            if known.may_differ(first, second):
                yield replace(_joined(first, second, "-", abs(first.value - second.value)), may_be_rounded=True)
    yield from _sums(known)
    if known.is_addition:
        yield from _with_nightly(known)
    yield from in_texts(known)


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
                if known.may_differ(first, second):
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
    payers = known.people if known.is_of_people else frozenset[Decimal]()
    stays = known.nights | known.counts if payers else frozenset[Decimal]()
    products = {first * second for first in stays for second in payers | known.counts}
    is_few = len(known.amounts) <= _FEW
    for amount in known.amounts[:_MOST]:
        if _is_other_night(known, amount) or amount in known.strange:
            continue
        is_told = (is_few and amount in known.fitting) or amount in known.told
        is_of_stay = known.basis == "total" and amount in known.fitting
        is_summed = known.is_sum and amount in known.told and basis_at(amount.place) == "night"
        multiples = (free if is_told else set()) | (bound if is_of_stay else known.nights if is_summed else set())
        multiples = set() if amount.place.is_said else multiples  # a budget, or an age
        for count in sorted(multiples):
            yield _by(amount, "*", count, amount.value * count)
        for count in sorted((both | payers | (products if is_told else set())) - {1} if known.is_share else ()):
            yield _by(amount, "/", count, amount.value / count)


def _shares_of_stays(known: KnownAmounts) -> Iterator[Derived]:
    """Yield what each one pays for a stay whose price a night the text speaks of."""
    is_meant = known.is_for_one and known.basis != "night"
    nightly = [one for one in known.told if basis_at(one.place) == "night"] if is_meant else []
    for one, nights, people in product(nightly, sorted(known.nights), sorted(known.people | known.counts)):
        if people > 1:
            path = f"{one.place.path} * {nights} / {people}"
            yield Derived(one.value * nights / people, path, one.place, may_be_rounded=True)


def _percentages(known: KnownAmounts) -> Iterator[Derived]:
    """Yield a percentage of an amount, and the amount that is less or more by it."""
    amounts = [one for one in known.amounts[:_MOST] if not one.place.is_said]
    for percent in sorted(known.percents)[:_VERY_FEW]:
        for amount in amounts:
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
        if len(operands) > 1 and all(known.may_add(*both) for both in combinations(operands, 2)):
            total = sum((operand.value for operand in operands), Decimal())
            yield Derived(total, " + ".join(operand.place.path for operand in operands), operands[0].place)
    yield from _sums_with_multiples(known)


def _sums_with_multiples(known: KnownAmounts) -> Iterator[Derived]:
    """Yield an amount and a multiple of another, such as a room with two days of parking."""
    counts = sorted(count for count in known.counts if 1 < count <= _MOST_COUNT and known.is_addition)
    for first in known.told if len(known.amounts) > _FEW else known.amounts:
        for second in known.amounts[:_MOST]:
            nights = known.nights if basis_at(second.place) == "night" else ()
            for count in (*counts, *nights) if first is not second else ():
                path = f"{first.place.path} + {second.place.path} * {count}"
                yield Derived(first.value + second.value * count, path, first.place)


def _with_nightly(known: KnownAmounts) -> Iterator[Derived]:
    """Yield what a stay of the text costs with what a longer text asks for each night of a thing that is named."""
    extras = [one for one in chain(*known.things) if one.code and units_in(one.place.behind).get("time") == "day"]
    for stay, extra, nights in product(known.told if extras else (), extras, known.nights):
        whole = stay.value * nights if stay.place.path.endswith(f" / {nights}") else stay.value
        if basis_of(stay.place.path.partition(" ")[0]) == "total":
            path = f"{stay.place.path} + {extra.place.path} * {nights}"
            yield Derived(whole + extra.value * nights, path, stay.place)


def _joined(first: Operand, second: Operand, sign: str, value: Decimal) -> Derived:
    return Derived(value, f"{first.place.path} {sign} {second.place.path}", first.place)


def _by(amount: Operand, sign: str, count: Decimal, value: Decimal) -> Derived:
    return Derived(
        value, f"{amount.place.path} {sign} {count}", amount.place, is_share=sign == "/", may_be_rounded=True
    )
