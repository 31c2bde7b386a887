"""Percentages: which two amounts one compares.

They are two values of one field, two that the text states, or one of these and a limit that the user has named.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import permutations

from turnloom.planner.reply.grounding.known_amounts import Derived, KnownAmounts
from turnloom.planner.reply.grounding.places import UNSTATED, EvidencePlace, Operand
from turnloom.planner.reply.grounding.sentences import Direction

_VERY_FEW = 4
_MOST = 60
_LARGE = 100
_HALF, _TENTH_HALF = Decimal("0.5"), Decimal("0.05")
_OF_SENTENCE = EvidencePlace("agent", "")
"""The place of what the numbers of a sentence give."""
_BESIDE = (2, 3, 4, 6, 8, 10)


def derive_percent(value: Decimal, known: KnownAmounts, direction: Direction | None) -> Derived | None:
    """Return which two amounts a percentage compares; None if there are none.

    It compares two values of one field, two that the text states, or two of the numbers in its sentence. Where the text
    states neither, the percentages beside it must not be found as easily.
    """
    near = _HALF if value == value.to_integral_value() else _TENTH_HALF
    shares = [(first.value / second.value * 100, first, second) for first, second in _compared(known)]
    for share, first, second in shares:
        is_stated = not known.stated.isdisjoint({first.value, second.value})
        is_stated = is_stated or (known.is_worded and {first.value, second.value} in known.compared)
        is_found = _apart(share, value) <= (1 if direction else near)
        is_meant = is_stated or known.is_worded or bool(known.limits)
        if is_found and is_meant and (is_stated or not _is_chance(value, [each for each, _, _ in shares], near)):
            return Derived(value, f"{first.place.path} / {second.place.path}", first.place)
    if any(abs(part / whole * 100 - value) <= near for part, whole in known.parts):
        return Derived(value, "", _OF_SENTENCE)
    return _sum_of_two(value, known) or _percent_of_limit(value, known, Decimal(1) if direction else near)


def _sum_of_two(value: Decimal, known: KnownAmounts) -> Derived | None:
    """Return a percentage as the sum of two of the evidence, if its sentence adds up: "together they take 45 %"."""
    sums = {one + other for one, other in permutations(known.known_percents, 2)}
    return Derived(value, "", _OF_SENTENCE) if known.is_sum and value in sums else None


def _are_unlike(first: Operand, second: Operand) -> bool:
    """Return whether two small numbers of longer texts are hardly a thing's value before and after a change."""
    low, high = sorted((first.value, second.value))
    return first.place.is_prose and second.place.is_prose and high < _LARGE and low * 2 < high


def _are_apart(first: Operand, second: Operand, known: KnownAmounts) -> bool:
    """Return whether two numbers of longer texts do not follow each other there, and the reply states neither."""
    values = {first.value, second.value}
    is_prose = first.place.is_prose and second.place.is_prose
    return is_prose and values not in known.compared and known.stated.isdisjoint(values)


def _is_said(first: Operand, second: Operand) -> bool:
    """Return whether one of two numbers is one that the user has named without a currency, such as an age."""
    return any(one.place.is_said and one.code in (None, UNSTATED) for one in (first, second))


def _percent_of_limit(value: Decimal, known: KnownAmounts, near: Decimal) -> Derived | None:
    """Return which amount of the text a percentage compares with a limit that the user has named."""
    for amount in known.told:
        for limit in known.limits:
            is_one_currency = amount.value in known.stated and limit.code in (amount.code, UNSTATED)
            if is_one_currency and abs(amount.value / limit.value * 100 - value) <= near:
                return Derived(value, f"{amount.place.path} / {limit.place.path}", amount.place)
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
        is_one_kind = first.code == second.code and not (
            _are_unlike(first, second) or _is_said(first, second) or _are_apart(first, second, known)
        )
        if first.value != second.value and second.value and is_one_kind:
            yield first, second
