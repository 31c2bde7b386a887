"""Implications: the keys that follow from another one, such as the weekday of a date."""

import re
from datetime import date
from decimal import Decimal

from turnloom.planner.reply.grounding.days import coming, implied
from turnloom.planner.reply.grounding.figures import Key

_ENDING = 4
"""The last digits by which people name a card or an account."""
_COUNTRY_CODES = (1, 2, 3)
"""The lengths of countries' codes."""
_SHORTEST_LOCAL = 8
_DIGITS = re.compile(r"(?<!\d)\d{4,20}(?!\d)")
"""The digits of an identifier, which may be said without its letters."""


def implied_by(key: Key, today: date, *, is_on_page: bool) -> tuple[Key, ...]:
    """Return the keys that follow from another one. A day without a year is the next one from today on."""
    keys: tuple[Key, ...] = ()
    match key:
        case ("date", date() as day):
            keys = implied(day)
        case ("day", int() as month, int() as number) | ("weekday", int(), int() as month, int() as number):
            day_itself = coming(month, number, today)
            keys = implied(day_itself) if day_itself else ()
        case ("money", value, str()):
            # A price from a page does not support a bare number, which a text could say without the page.
            keys = ("money", value, None), *(() if is_on_page else (("number", value),))
        case ("link", str() as address) if address.startswith("http://"):
            keys = (("link", address.removeprefix("http://")),)  # who says it with more safety is right, too
        case ("percent" | "field" as kind, *_, Decimal() as value) if kind == "percent" or not _is_whole(value):
            keys = (("number", value),)  # decimals are a rating, also in a text that does not call them so
        case ("phone", str() as digits):
            keys = _at_home(digits)
        case ("identifier", str() as code):
            keys = _in_digits(code)
    return keys


def _is_whole(value: Decimal) -> bool:
    return value == value.to_integral_value()


def _at_home(digits: str) -> tuple[Key, ...]:
    """Return the keys of a phone number without the code of its country."""
    local = [digits[length:] for length in _COUNTRY_CODES if len(digits) - length >= _SHORTEST_LOCAL]
    return *(("phone", number) for number in local), *(("number", Decimal(number)) for number in local)


def _in_digits(code: str) -> tuple[Key, ...]:
    """Return the keys of the digits of an identifier, and of its last ones."""
    runs = _DIGITS.findall(code)
    numbers = {Decimal(part) for run in runs for part in (run, run[-_ENDING:])}
    return *(("number", number) for number in numbers), *(("identifier", run) for run in runs)
