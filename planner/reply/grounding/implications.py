"""Implications: the keys that follow from another one, such as the weekday of a date."""

import re
from datetime import date
from decimal import Decimal

from turnloom.planner.reply.grounding.days import coming, implied
from turnloom.planner.reply.grounding.figures import Key

_DIGITS = re.compile(r"(?<!\d)\d{4,20}(?!\d)")
"""The digits of an identifier, which may be said without its letters."""


def implied_by(key: Key, today: date, *, is_on_page: bool) -> tuple[Key, ...]:
    """Return the keys that follow from another one. A day without a year is the next one from today on."""
    match key:
        case ("date", date() as day):
            return implied(day)
        case ("day", int() as month, int() as number) | ("weekday", int(), int() as month, int() as number):
            day_itself = coming(month, number, today)
            return implied(day_itself) if day_itself else ()
        case ("money", value, str()):
            # A price from a page does not support a bare number, which a text could say without the page.
            return ("money", value, None), *(() if is_on_page else (("number", value),))
        case ("percent", value):
            return (("number", value),)
        case ("identifier", str() as code):
            return tuple(
                key for run in _DIGITS.findall(code) for key in (("number", Decimal(run)), ("identifier", run))
            )
    return ()
