"""Find amounts of money, percentages and other numbers in a text, however they are written.

A bare number below 100 with at most one decimal is a count and needs no source. A single separator before three digits
groups thousands in money; in other numbers it may also be the decimal point. Numbers in words have become digits before
(`numerals.py`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.lexicon import currencies, currency_codes, either, words

_SPACE = "[ \u00a0\u202f\u2009]"
_NUMBER = (
    r"\d{1,3}(?:[,.'\u2019 \u00a0\u202f\u2009]\d{3})+(?:[.,]\d+)?(?!\d)"  # 1,200.50 and 1 200,50
    r"|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?(?!\d)"  # 1,20,000
    r"|\d+(?:[.,]\d+)?"
)
_NUMBERS = re.compile(rf"""(?<!\d)(?<!\d[.,])(?!(?<=": )\d{{1,2}}[,}}\]])(?:{_NUMBER})""")
"""Numbers, except the counts of JSON, which a template may show."""
_DAY_AND_MONTH = re.compile(r"(?P<day>0?[1-9]|[12]\d|3[01])\.(?P<month>0?[1-9]|1[0-2])")
_DIGITS = re.compile(r"\d+")
_CODE_BEFORE = re.compile(r"(?<![^\W_])(?P<letters>[A-Z]{2,5}) $")
"""The letters of a flight or a train, whose number does not group with what follows it."""
_CJK = "\u2e80-\uffef"
"""Scripts that put no space between words."""
_LARGEST_COUNT, _THOUSAND = 99, 1000
_LONGEST_WORD = 24


@dataclass(frozen=True, slots=True)
class _Number:
    """A number as it is written, with the currency or unit beside it."""

    start: int
    end: int
    values: tuple[Decimal, ...]
    codes: frozenset[str] | None = None
    """Currencies it may be in; None if none is written."""
    is_price: bool = False
    """Whether words beside it say that it is a price, without a currency."""
    is_percent: bool = False
    scale: int = 1
    """What a word such as "million" multiplies it by."""


@dataclass(frozen=True, slots=True)
class _Patterns:
    before: re.Pattern[str]
    """A currency at the end of the text before a number."""
    after: re.Pattern[str]
    """A scale and a currency after a number."""
    percent: re.Pattern[str]
    price_after: re.Pattern[str]
    price_before: re.Pattern[str]
    range: re.Pattern[str]
    last: frozenset[str]
    """The signs that a currency may end with, besides letters."""


def find_amounts(text: str) -> Iterator[Figure]:
    """Find money, percentages, and numbers that are not mere counts."""
    patterns = _patterns()
    yield from _with_cents(text)
    numbers = [_read(match, text, patterns) for match in _numbers(text)]
    for number in _share_units(numbers, text, patterns):
        figure = _figure(number)
        if figure is not None:
            yield _or_day(figure, text) if figure.kind == "number" else figure


def _numbers(text: str) -> Iterator[re.Match[str]]:
    """Find numbers. In "ICE 703 159.80" there are two."""
    found = _NUMBERS.search(text)
    while found:
        if " " in found[0] and _is_behind_code(text, found.start()):
            found = _DIGITS.match(text, found.start()) or found
        yield found
        found = _NUMBERS.search(text, found.end())


def _is_behind_code(text: str, start: int) -> bool:
    letters = _CODE_BEFORE.search(text, max(0, start - _LONGEST_WORD), start)
    return letters is not None and not is_currency(letters["letters"])


def _with_cents(text: str) -> Iterator[Figure]:
    """Find amounts with their hundredths apart, such as "65 euros and 70 cents", "65 euros 70" and "85 cents"."""
    for match in _cents().finditer(text):
        value = Decimal(match["whole"]) + Decimal(match["cents"] or match["hundredths"]) / 100
        keys: tuple[Key, ...] = tuple(("money", value, code) for code in sorted(currency_codes(match["currency"])))
        if keys:
            yield Figure("money", match.start(), match.end(), keys)
    for match in _only_cents().finditer(text):
        cents = Decimal(match["cents"])
        yield Figure("money", match.start(), match.end(), (("money", cents / 100, None), ("number", cents)))


@lru_cache
def _only_cents() -> re.Pattern[str]:
    return re.compile(rf"(?<![\d.,-])(?P<cents>\d{{1,2}}) (?:{words()['cent_words']})(?![^\W\d_])", re.IGNORECASE)


@lru_cache
def _cents() -> re.Pattern[str]:
    units = (unit["words"] for kind in ("units", "durations") for unit in words()[kind].values() if "words" in unit)
    return re.compile(
        rf"(?<![\d.,])(?P<whole>\d{{1,7}}) (?P<currency>[^\W\d_]{{3,12}})(?:"
        rf",? (?:(?:{words()['cent_joints']}) )?(?P<cents>\d{{1,2}}) (?:{words()['cent_words']})(?![^\W\d_])"
        rf"| (?:con )?(?P<hundredths>\d{{2}})"
        rf"(?![.,:]?\d|{_SPACE}?(?:[^\w\s.,;:!?)*]|(?:{either(units)})(?![^\W\d_]))))",
        re.IGNORECASE,
    )


def is_currency(written: str) -> bool:
    """Return whether a word is a currency."""
    return bool(currency_codes(written))


def parse_amount(written: str, codes: frozenset[str] | None = None) -> tuple[Decimal, ...]:
    """Return the values that a written number may have, the likeliest first. `codes`: its currencies if it is money."""
    plain = re.sub(rf"{_SPACE}|['\u2019]", "", written)
    comma, point = plain.count(","), plain.count(".")
    if comma and point:
        decimal = max(",.", key=plain.rfind)
        return (_decimal(plain, decimal),)
    mark = "," if comma else "."
    if comma + point > 1:
        return (_decimal(plain, None),)
    head, _, tail = plain.partition(mark)
    if len(tail) != 3 or len(head) > 3 or head == "0":
        return (_decimal(plain, mark),)
    precise_codes = frozenset(words()["three_decimals"])
    if codes is not None and codes.isdisjoint(precise_codes):
        return (_decimal(plain, None),)
    grouped, precise = _decimal(plain, None), _decimal(plain, mark)
    return (precise, grouped) if codes is not None and codes <= precise_codes else (grouped, precise)


def _decimal(plain: str, mark: str | None) -> Decimal:
    """Read digits with this decimal mark. The other marks group them."""
    grouped = plain.replace("." if mark == "," else ",", "") if mark else re.sub("[,.]", "", plain)
    return Decimal(grouped.replace(",", "."))


def _read(match: re.Match[str], text: str, patterns: _Patterns) -> _Number:
    before = _before(match.start(), text, patterns)
    after = patterns.after.match(text, match.end())
    written = [found["currency"] for found in (before, after) if found and found["currency"]]
    codes = frozenset.intersection(*map(currency_codes, written)) if written else None
    scale = _scale(after["scale"] if after else None, is_money=bool(written))
    half = Decimal(scale) / 2 if after and after["half"] else Decimal(0)
    values = tuple(value * scale + half for value in parse_amount(match[0], codes))
    end = after.end() if after and (scale > 1 or after["currency"]) else match.end()
    if codes is not None:
        return _Number(before.start("currency") if before else match.start(), end, values, codes, scale=scale)
    if percent := patterns.percent.match(text, end):
        return _Number(match.start(), percent.end(), values, is_percent=True)
    is_price = _is_price(match.start(), end, text, patterns)
    return _Number(match.start(), end, values, is_price=is_price, scale=scale)


def _before(start: int, text: str, patterns: _Patterns) -> re.Match[str] | None:
    """Return the currency before a number. There is no search if no currency can end there."""
    last = text[max(0, start - 2) : start].rstrip()[-1:]
    if not (last.isalpha() or last in patterns.last):
        return None
    return patterns.before.search(text, max(0, start - _LONGEST_WORD), start)


def _is_price(start: int, end: int, text: str, patterns: _Patterns) -> bool:
    """Return whether words beside a number say that it is a price."""
    if patterns.price_after.match(text, end):
        return True
    last = text[max(0, start - 2) : start].rstrip()[-1:]
    if not (last.isalpha() or last == ":") or re.match(r"\s*[^\W\d_]", text[end : end + 3]):
        return False
    return patterns.price_before.search(text, max(0, start - _LONGEST_WORD), start) is not None


def _share_units(numbers: list[_Number], text: str, patterns: _Patterns) -> list[_Number]:
    """Give both ends of a range the currency that stands beside one of them, and the first the scale of the last."""
    shared = list(numbers)
    for place, (first, second) in enumerate(pairwise(numbers)):
        is_percent = first.is_percent or second.is_percent
        if is_percent or not patterns.range.fullmatch(text[first.end : second.start]):
            continue
        scale = second.scale if first.scale == 1 and max(first.values) < _THOUSAND else 1
        values = tuple(value * scale for value in first.values)
        shared[place] = replace(first, values=values, codes=first.codes or second.codes)
        if second.codes is None and first.codes and not re.match(r"\s*[^\W\d_]", text[second.end :]):
            shared[place + 1] = replace(second, codes=first.codes)
    return shared


def _figure(number: _Number) -> Figure | None:
    start, end, values = number.start, number.end, number.values
    if number.codes is not None:
        keys: tuple[Key, ...] = tuple(("money", value, code) for value in values for code in sorted(number.codes))
        return Figure("money", start, end, keys)
    if number.is_price:
        return Figure("money", start, end, tuple(("money", value, None) for value in values))
    if number.is_percent:
        return Figure("percent", start, end, tuple(("percent", value) for value in values))
    if all(value <= _LARGEST_COUNT and value == round(value, 1) for value in values):
        return None
    return Figure("number", start, end, tuple(("number", value) for value in values))


def _or_day(figure: Figure, text: str) -> Figure:
    """Let a number such as 05.11 be a day and a month too, as tables have them."""
    match = _DAY_AND_MONTH.fullmatch(text, figure.start, figure.end)
    return replace(figure, keys=(*figure.keys, ("day", int(match["month"]), int(match["day"])))) if match else figure


def _scale(written: str | None, *, is_money: bool) -> int:
    if written is None or (not is_money and written.lower() in words()["short_scales"]):
        return 1
    return next(scale for pattern, scale in _scales().items() if re.fullmatch(pattern, written, re.IGNORECASE))


@lru_cache
def _scales() -> dict[str, int]:
    return words()["scales"]  # type: ignore[no-any-return]


def _is_word(sign: str) -> bool:
    """Return whether a letter before or after a sign would make it part of a word."""
    return (sign[-1].isalpha() and sign[-1] < _CJK[0]) or sign[-1] == "."


@lru_cache
def _patterns() -> _Patterns:
    lexicon = words()
    letters = either(re.escape(sign) for sign in currencies() if _is_word(sign))
    signs = either(re.escape(sign) for sign in currencies() if not _is_word(sign))
    spelt, scales = either(lexicon["currency_words"]), either(lexicon["scales"])
    counted = lexicon["counted_behind_amounts"]
    of = rf"(?:{_SPACE}?d['\u2019]|{_SPACE}d[ei](?={_SPACE}))"
    return _Patterns(
        last=frozenset(sign[-1] for sign in currencies()) | {".", "'"},
        before=re.compile(rf"(?P<currency>(?<![^\W\d_])(?:{letters}|(?i:{spelt}))|{signs}){_SPACE}?$"),
        after=re.compile(
            rf"(?:{_SPACE}?(?i:(?P<scale>{scales}))(?:(?![^\W\d_])|(?<=[{_CJK}])))?"
            rf"(?(scale)(?P<half>{_SPACE}(?:{lexicon['half_more']})(?![^\W\d_]))?)"  # "5 milioni e mezzo"
            rf"(?(scale)(?:{of})?|(?:(?<=000){of})?)"  # "3 millions d'euros", also with the millions in digits
            rf"(?:{_SPACE}?-?(?P<currency>(?:(?:{letters})(?!{_SPACE}\d(?!{_SPACE}(?:{counted})))|(?i:{spelt}))(?:(?![^\W\d_])|(?<=[{_CJK}]))|(?:{signs})(?!\d)))?"
        ),
        percent=re.compile(rf"{_SPACE}?(?:{lexicon['percent']})", re.IGNORECASE),
        price_after=re.compile(rf"{_SPACE}?(?:{lexicon['price_after']})", re.IGNORECASE),
        price_before=re.compile(
            rf"\b(?:{lexicon['price_before']})(?: (?:is|of|from|at|ist|est|es|è))?:?{_SPACE}?$", re.IGNORECASE
        ),
        range=re.compile(rf"\s?(?:{either(map(re.escape, lexicon['range_joints']))})\s?"),
    )
