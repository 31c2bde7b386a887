"""Arithmetic over what longer texts state, such as passages of documents: which numbers may be compared and added."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations, permutations, product

from turnloom.planner.reply.grounding.bills import Bill, shared
from turnloom.planner.reply.grounding.known_amounts import Derived, KnownAmounts
from turnloom.planner.reply.grounding.places import Operand
from turnloom.planner.reply.grounding.price_units import units_in

_FEW, _MOST = 12, 60
_LARGE, _THOUSAND = 100, 1000


def in_texts(known: KnownAmounts) -> Iterator[Derived]:
    """Yield what follows from the numbers of longer texts, as far as the words of the sentence let it."""
    yield from _for_all(known)
    if known.compares:
        yield from _apart(known)
    if known.is_share:
        yield from _quotients(known)
    if known.is_plain:
        yield from _thousandths(known)


def _for_all(known: KnownAmounts) -> Iterator[Derived]:
    """Yield what all pay for the stay of what a text says is for one person and one night, and both ways of one."""
    payers = known.counts & known.people or known.people
    stays = known.counts & known.nights or known.counts - payers or known.nights
    for one in known.amounts[:_MOST]:
        units = units_in(one.place.behind)
        if units.get("way") == "one":
            yield Derived(one.value * 2, f"{one.place.path} * 2", one.place, may_be_rounded=True)
        if units.get("who") == "person" and units.get("time") == "day":
            for people, nights in product(sorted(payers), sorted(stays)):
                path = f"{one.place.path} * {people} * {nights}"
                yield Derived(one.value * people * nights, path, one.place, may_be_rounded=True)


def _thousandths(known: KnownAmounts) -> Iterator[Derived]:
    """Yield the thousandths of numbers of the text: tonnes, of kilograms."""
    for one in known.told:
        if one.code is None and one.value > _THOUSAND:
            yield Derived(one.value / _THOUSAND, f"{one.place.path} / {_THOUSAND}", one.place, may_be_rounded=True)


def _quotients(known: KnownAmounts) -> Iterator[Derived]:
    """Yield what comes on one of the larger numbers of longer texts: rides per bike."""
    large = [one for one in known.amounts[:_MOST] if one.place.is_prose and one.value > _LARGE]
    for first, second in permutations(large[:_FEW], 2):
        if second.code is None and first.value > second.value:
            path = f"{first.place.path} / {second.place.path}"
            yield Derived(first.value / second.value, path, first.place, is_share=True, may_be_rounded=True)


def _apart(known: KnownAmounts) -> Iterator[Derived]:
    """Yield the differences of the larger numbers of longer texts in one field: of two years, in a report."""
    texts: dict[str, list[Operand]] = {}
    for one in known.amounts:
        if one.place.is_prose and one.value > _LARGE:
            texts.setdefault(one.column, []).append(one)
    for inside in texts.values():
        for first, second in combinations(sorted(inside, key=lambda one: -one.value)[:_FEW], 2):
            if first.code == second.code:
                path = f"{first.place.path} - {second.place.path}"
                yield Derived(abs(first.value - second.value), path, first.place, may_be_rounded=True)


def of_group(value: Decimal, known: KnownAmounts) -> Bill | None:
    """Return what a group pays by the fares of one longer text, where the text or the user says how many they are."""
    if not known.is_of_group:
        return None
    texts: dict[tuple[str, str], list[Operand]] = {}
    for one in known.amounts[:_MOST]:
        if one.place.is_prose and not one.place.is_said and one.code is not None:
            texts.setdefault((one.place.step, one.place.path), []).append(one)
    counts = known.counts | known.known_counts
    groups = known.counts if known.is_of_people else ()
    found = (shared(value, fares, counts, groups) for fares in texts.values() if len(fares) > 1)
    return next(filter(None, found), None)
