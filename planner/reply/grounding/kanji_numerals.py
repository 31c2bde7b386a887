"""Read the numbers of East Asia: in their own signs, and in digits with two scales, such as 5億3,000万."""

import re
from collections.abc import Iterator

_SCALES = {"億": 10**8, "亿": 10**8, "万": 10**4, "萬": 10**4, "千": 1000}
_SCALED = re.compile(
    r"(?<![\d.,])(?P<first>\d[\d,]{0,6})(?P<scale>[億亿万萬])"
    r"(?P<rest>\d[\d,]{0,6})(?P<next>[万萬千])?(?![\d.,])"
)
"""Digits with their ten thousands, or hundred millions, apart."""
_DIGITS = {sign: value for value, sign in enumerate("〇一二三四五六七八九")}
_UNITS = {"十": 10, "百": 100, "千": 1000}
_TEN_THOUSAND = "万"
_WORDED = re.compile(
    rf"(?<![{''.join(_DIGITS)}十百千万\d])(?P<number>[{''.join(_DIGITS)}十百千万]{{1,9}})"
    r"(?=円|元|ドル|ユーロ|バーツ|ポンド|ウォン|人|名|泊|室|つ星|時|(?<=時[一二三四五六七八九十]|[二三四五六]十|十[一二三四五六七八九])分"
    r"|メートル|度|平方)"
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
