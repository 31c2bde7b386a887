"""Consistency: amounts of a sentence of which one is said to follow from the others: by a count, or as their sum.

In "690 a night, so 2,070 for the stay" one is a multiple of the other. If it is none, one of them is wrong, wherever it
may come from.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import combinations, pairwise, takewhile
from math import prod

from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import spoken, words
from turnloom.planner.reply.grounding.mentions import is_one_statement
from turnloom.planner.reply.grounding.places import Operand, Places
from turnloom.planner.reply.grounding.sentences import Sentence
from turnloom.planner.reply.grounding.values import code_of, value_of

_MOST = 60
_NEAR, _NEAR_WHOLE = Decimal("0.006"), Decimal("0.51")
"""How far a share may be from an exact one, with cents and without."""
_ROUNDED = Decimal("0.04")
_FARTHEST = 60
_AROUND, _CLOSE = 24, 20
_FEWEST_SUMMED, _MOST_SUMMED = 3, 6
_FEWEST_PARTS, _MOST_PARTS = 2, 12
_COLON = re.compile(r" ?[:\uff1a]")
_COUNTED = re.compile(r"(?<![\d.,:])(?P<count>[1-9]\d?) (?P<unit>[^\W\d_]{1,16})(?: [^\W\d_]{1,16}){0,2} $")
"""The number of things before what one of them costs."""
_FACTOR = re.compile(r"\d+")
_FACTORS_BEFORE = re.compile(r"(?:(?<![\d.,:])\d{1,2}(?: ?[^\W\d_]{1,16})? ?[\u00d7x*\u00b7] ?){1,3}$")
_FACTORS_BEHIND = re.compile(r"(?: ?[\u00d7x*\u00b7] ?\d{1,2}(?![\d.,:]\d)(?: ?[^\W\d_]{1,16})?){1,3}")
_NEXT_AMOUNT = re.compile(r"\s*(?:(?:an?|the)\s)?(?:[^\w\s]|[A-Z]{3}\s)?\d")
"""What makes "plus" an addition, as in "€45 plus a €25 fee"."""


def unrelated(sentence: Sentence) -> Iterator[Figure]:
    """Yield the amounts of a sentence that should be multiples or shares of the ones before them, and are not."""
    money = [figure for figure in sentence.figures if figure.kind == "money"]
    for first, second in pairwise(money):
        between = sentence.whole[first.end : second.start]
        follows = spoken(words()["so"]).search(between)
        around = f"{between}\n{sentence.whole[second.end : min(sentence.end, second.end + _AROUND)]}"
        compares = any(spoken(words()[kind]).search(around) for kind in ("not_so", "differences", "limits"))
        is_sum = _is_sum(second, money) or (
            _value(second) > _value(first) and spoken(words()["together"]).search(between)
        )
        if not follows or len(between) > _FARTHEST or compares or is_sum:
            continue
        is_rounded = sentence.rounding(second) is not None or sentence.rounding(first) is not None
        earlier = money[: money.index(second)]
        is_share = any(_is_multiple(one, second, is_rounded=is_rounded) for one in earlier)
        if spoken(words()["shares"]).search(around) and not is_share:
            yield second


def not_apart(sentence: Sentence, places: Places) -> Iterator[Figure]:
    """Yield the one of three amounts of a sentence that should be the difference of the others, and is not.

    One of the others, for a night or for all nights of a stay, may be compared with an amount that the user has named.
    """
    money = [figure for figure in sentence.figures if figure.kind == "money"]
    if len(money) != 3 or len({code_of(figure) for figure in money}) > 1:
        return
    low, middle, high = sorted(map(_value, money))
    is_rounded = any(sentence.rounding(figure) for figure in money)
    if low + middle == high or is_rounded or not low:
        return
    limits = _said(places.operands.values())
    compared = [figure for figure in money if _is_compared(sentence, figure) and _value(figure) not in limits]
    if len(compared) == 1 and not _is_alone(sentence, compared[0], money):
        others = [_value(figure) for figure in money if figure is not compared[0]]
        if max(others) % min(others) == 0:
            return  # one price, and the share of a person
        stays = [value * count for value in others for count in places.nights()]
        apart = {abs(value - limit) for value in (*others, *stays, sum(others)) for limit in limits}
        yield from compared if _value(compared[0]) not in apart else ()


def of_other_nights(sentence: Sentence, nights: Collection[Decimal]) -> Iterator[Figure]:
    """Yield the one of two amounts that is a multiple of the other, which is for a night, but not by the nights stated.

    A multiple of the nights may be for several people.
    """
    money = [figure for figure in sentence.figures if figure.kind == "money"]
    if len(nights) != 1 or len(money) != 2 or sentence.says("differences"):
        return
    for night, stay in (money, money[::-1]):
        is_stay = sentence.basis(stay) != "night" and not sentence.is_for_one(stay)
        if sentence.basis(night) == "night" and is_stay and _value(night):
            times = _value(stay) / _value(night)
            if times == int(times) > 1 and times % next(iter(nights)):
                yield stay


def not_together(sentence: Sentence, known: Collection[Operand]) -> Iterator[Figure]:
    """Yield an amount that is said to be what others of the sentence make together, and is no multiple of any sum.

    It may be an amount of a result, or have one more of them in it.
    """
    money = [figure for figure in sentence.figures if figure.kind == "money"]
    if not _FEWEST_SUMMED <= len(money) <= _MOST_SUMMED or sentence.says("differences"):
        return
    for figure in money:
        if not sentence.says_in_clause("together", figure) or sentence.rounding(figure) is not None:
            continue
        value, others = _value(figure), _parts([_value(other) for other in money if other is not figure])
        sourced = {operand.value for operand in known if operand.code and not operand.place.is_said}
        computed = [other for other in others if other not in sourced]
        if value not in sourced and len(others) > 1:
            sums = [sum(some, Decimal()) for count in range(2, len(others) + 1) for some in combinations(others, count)]
            is_multiple = any(_is_times(value, one) for one in (*others, *sums))
            wholes = [*others, *_said(known)]  # what is left of one of them
            is_multiple = is_multiple or any(value + one == whole for one in others for whole in wholes if whole != one)
            if not is_multiple and not any(
                _is_times(value - more, one) for more in sourced for one in (*computed, *sums)
            ):
                yield figure


def not_itemised(sentence: Sentence, known: Collection[Operand]) -> Iterator[Figure]:
    """Yield an amount before a colon that no result has, and that the amounts behind the colon do not add up to."""
    money = [figure for figure in sentence.figures if figure.kind == "money"]
    for place, figure in enumerate(money):
        parts = money[place + 1 :]
        if len(parts) < _FEWEST_PARTS or not _COLON.match(sentence.whole, figure.end) or sentence.says("differences"):
            continue
        if "," in sentence.whole[figure.end : parts[0].start]:
            continue  # not all of the parts have an amount of their own
        values, total = [_value(part) for part in parts], _value(figure)
        is_known = any(one.value == total and one.code for one in known)
        if is_known or sentence.rounding(figure) is not None or max(values) >= total:
            continue
        is_sum = _adding_up(figure, parts) or _adding_up(figure, parts, sentence.whole)
        if not (is_sum or _is_times(total, sum(values, Decimal()))):
            yield figure


def itemised(found: Sequence[Sentence]) -> dict[int, str]:
    """Return where the amounts stand that the ones right behind or before them add up to, and these parts.

    The parts are in the same sentence, as in "2,808: 390 for the course, 948 for lessons, 1,470 for the test", or in
    the items of a list beside it, the last amount of each. They need sources of their own.
    """
    totals: dict[int, str] = {}
    for place, sentence in enumerate(found):
        amounts = [figure for figure in sentence.figures if figure.kind in ("money", "number")]
        if not amounts:
            continue
        is_alone = sentence.is_item and not sentence.says("sums")
        below = [] if is_alone else _of_items(found[place + 1 : place + 1 + _MOST_PARTS])
        above = [] if is_alone else _of_items(found[max(0, place - _MOST_PARTS) : place][::-1])
        for number, figure in enumerate(amounts):
            behind = amounts[number + 1 : number + 1 + _MOST_PARTS]
            before = amounts[max(0, number - _MOST_PARTS) : number][::-1]
            for parts in (_of_kind(behind) + below, _of_kind(before) + above):
                if path := _adding_up(figure, parts) or _adding_up(figure, parts, sentence.whole):
                    totals[figure.start] = path
    return totals


def _of_items(found: Iterable[Sentence]) -> list[Figure]:
    """Return the last amount of each of the first items."""
    items = (_of_kind(item.figures) for item in takewhile(lambda each: each.is_item, found))
    return [amounts[-1] for amounts in items if amounts]


def _of_kind(figures: Sequence[Figure]) -> list[Figure]:
    """Return the amounts of money among a few figures, or their numbers if there are none."""
    kinds = [[one for one in figures if one.kind == kind] for kind in ("money", "number")]
    return kinds[0] or kinds[1]


def _said(known: Collection[Operand]) -> set[Decimal]:
    """Return the amounts that the user has named."""
    return {operand.value for operand in known if operand.place.is_said}


def _adding_up(figure: Figure, parts: Sequence[Figure], text: str = "") -> str:
    """Return the sum of the first parts if it is an amount; nothing if it is not, or if they are too few.

    If the text is given, a part counts so many times as the number before it says: "two adults at 720 each".
    """
    left, terms = _value(figure), []
    for part in parts[:_MOST_PARTS]:
        value = _value(part)
        times = _times_of(part, parts, text)
        left -= value * times
        terms.append(f"{value} * {times}" if times > 1 else f"{value}")
        if left < 0 or code_of(part) not in (None, code_of(figure)) or not value:
            break
        if left == 0 and len(terms) > 1:
            return " + ".join(terms)
    return ""


def _times_of(part: Figure, parts: Sequence[Figure], text: str) -> int:
    """Return how often an amount counts, as the text around it says: "2 adults at 720", "2 * 5 * 2.80", "24 x 3"."""
    begin = max((0, part.start - _AROUND, *(one.end for one in parts if one.end <= part.start)))
    counted = _COUNTED.search(text, begin, part.start)
    if counted and not spoken(words()["ages"]).fullmatch(counted["unit"]):  # "the child of 11 years"
        return int(counted["count"])
    before = text[begin : part.start].rstrip()
    for times, said in words()["multiplied"].items():
        if any(found.end() == len(before) for found in spoken(said).finditer(before)):
            return int(times)
    factors = [_FACTORS_BEFORE.search(text, begin, part.start), _FACTORS_BEHIND.match(text, part.end)]
    return prod(int(factor) for found in factors if found for factor in _FACTOR.findall(found[0]))


def _parts(values: list[Decimal]) -> list[Decimal]:
    """Return amounts without those of which another one is a multiple, as in "€50 (€12.50 a day)"."""
    return [one for one in values if not any(other > one and _is_times(other, one) for other in values)]


def _is_times(value: Decimal, one: Decimal) -> bool:
    return value > 0 < one and value % one == 0 and value / one <= _MOST


def _is_compared(sentence: Sentence, figure: Figure) -> bool:
    """Return whether the words right behind an amount say that it is a difference, as in "54 below"."""
    after = sentence.whole[figure.end : min(sentence.end, figure.end + _CLOSE)].lstrip()
    found = spoken(words()["apart"]).match(after)
    is_left = spoken(words()["left_before"]).search(sentence.whole, sentence.start, figure.start) is not None
    return found is not None and not is_left and not _NEXT_AMOUNT.match(after, found.end())


def _is_alone(sentence: Sentence, figure: Figure, money: Sequence[Figure]) -> bool:
    """Return whether none of the other amounts is in the statement of an amount: "A costs 684, while B is 258 over"."""
    gaps = [(min(figure.end, one.end), max(figure.start, one.start)) for one in money if one is not figure]
    return not any(is_one_statement(sentence.whole, *gap) for gap in gaps)


def _is_sum(last: Figure, money: list[Figure]) -> bool:
    values = [_value(figure) for figure in money[: money.index(last)]]
    return len(values) > 1 and _value(last) in (sum(values[-2:], Decimal()), sum(values, Decimal()))


def _value(figure: Figure) -> Decimal:
    return value_of(figure) or Decimal()


def _is_multiple(first: Figure, second: Figure, *, is_rounded: bool) -> bool:
    one, other = _value(first), _value(second)
    if not (one and other):
        return True
    small, large = sorted((one, other))
    count = round(large / small)
    # A share is rounded to a cent, or to a whole unit if it has no cents.
    unit = _NEAR if small != int(small) else _NEAR_WHOLE
    near = max(unit * count, large * _ROUNDED if is_rounded else Decimal())
    return 1 <= count <= _MOST and abs(large - small * count) <= near
