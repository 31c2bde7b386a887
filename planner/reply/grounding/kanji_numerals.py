"""Read the numbers of East Asia: in their own signs, and in digits with two scales, such as 5\u51043,000\u4e07."""

import re
from collections.abc import Iterator

_SCALES = {"\u5104": 10**8, "\u4ebf": 10**8, "\u4e07": 10**4, "\u842c": 10**4, "\u5343": 1000}
_SCALED = re.compile(
    r"(?<![\d.,])(?P<first>\d[\d,]{0,6})(?P<scale>[\u5104\u4ebf\u4e07\u842c])"
    r"(?P<rest>\d[\d,]{0,6})(?P<next>[\u4e07\u842c\u5343])?(?![\d.,])"
)
"""Digits with their ten thousands, or hundred millions, apart."""
_DIGITS = {sign: value for value, sign in enumerate("\u3007\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d")}
_UNITS = {"\u5341": 10, "\u767e": 100, "\u5343": 1000}
_TEN_THOUSAND = "\u4e07"
_WORDED = re.compile(
    rf"(?<![{''.join(_DIGITS)}\u5341\u767e\u5343\u4e07\d])(?P<number>[{''.join(_DIGITS)}\u5341\u767e\u5343\u4e07]{{1,9}})"
    r"(?=\u5186|\u5143|\u30c9\u30eb|\u30e6\u30fc\u30ed|\u30d0\u30fc\u30c4|\u30dd\u30f3\u30c9|\u30a6\u30a9\u30f3|\u4eba|\u540d|\u6cca|\u5ba4|\u3064\u661f|\u6642|\u30e1\u30fc\u30c8\u30eb|\u5ea6|\u5e73\u65b9)"
)
"""A number in signs before a currency or another word for what it counts."""


def east_asian(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the ASCII digits of each such number of a text."""
    for match in _SCALED.finditer(text):
        first, rest = (int(match[part].replace(",", "")) for part in ("first", "rest"))
        rest *= _SCALES[match["next"]] if match["next"] else 1
        if rest < _SCALES[match["scale"]]:
            yield match.start(), match.end(), str(first * _SCALES[match["scale"]] + rest)
    for match in _WORDED.finditer(text):
        yield match.start(), match.end(), str(_value(match["number"]))


def _value(number: str) -> int:
    total, current, digit = 0, 0, 0
    for sign in number:
        if sign in _DIGITS:
            digit = digit * 10 + _DIGITS[sign]
        elif sign == _TEN_THOUSAND:
            total, current, digit = total + max(current + digit, 1) * _SCALES[sign], 0, 0
        else:
            current, digit = current + max(digit, 1) * _UNITS[sign], 0
    return total + current + digit
