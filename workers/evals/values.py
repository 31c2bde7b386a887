"""Values are compared with expected ones by parts.

An expected date is written relative to the day of the message: `today`, `friday` (the next one, including today) or
`next_friday` (the one in next week; weeks begin on Monday). Each may be followed by days such as `+3` or `-1`.
"""

import calendar
import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any

_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_DATE = re.compile(rf"(?P<next>next_)?(?P<day>today|{'|'.join(_WEEKDAYS)})(?P<shift>[+-]\d{{1,3}})?")


def difference(expected: Any, found: Any, today: date, where: str = "it") -> str | None:
    """Return the first difference between a value and the expected one, in words; None if there is none."""
    if isinstance(expected, Mapping):
        marked = next(iter(expected), "")
        if isinstance(marked, str) and marked.startswith("$"):
            return _marked(marked, expected[marked], found, today, where)
        return _in_object(expected, found, today, where)
    if isinstance(expected, list):
        return _in_list(expected, found, today, where)
    return None if _equal(expected, found) else f"{where} is {_short(found)}, expected {_short(expected)}"


def read_date(text: str, today: date) -> date:
    """Return the day of an expected date.

    Raises:
        ValueError: it is not an expected date.
    """
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a relative date; write one such as today+1, friday or next_monday")
    shift = timedelta(days=int(match["shift"] or 0))
    if match["day"] == "today":
        return today + shift
    weekday = _WEEKDAYS[match["day"]]
    if match["next"]:
        return today + timedelta(days=7 - today.weekday() + weekday) + shift
    return today + timedelta(days=(weekday - today.weekday()) % 7) + shift


def _in_object(expected: Mapping[str, Any], found: Any, today: date, where: str) -> str | None:
    if not isinstance(found, Mapping):
        return f"{where} is {_short(found)}, expected an object"
    differences = (
        difference(value, found.get(name), today, f"{where}.{name}" if where else name)
        for name, value in expected.items()
    )
    return next((one for one in differences if one), None)


def _in_list(expected: list[Any], found: Any, today: date, where: str) -> str | None:
    if not isinstance(found, list) or len(found) != len(expected):
        return f"{where} is {_short(found)}, expected {_short(expected)}"
    pairs = enumerate(zip(expected, found, strict=True))
    differences = (difference(one, other, today, f"{where}[{place}]") for place, (one, other) in pairs)
    return next((one for one in differences if one), None)


def _marked(mark: str, value: Any, found: Any, today: date, where: str) -> str | None:
    check = _MARKS.get(mark)
    if check is None:
        raise ValueError(f"there is no {mark}; there are {', '.join(_MARKS)}")
    if check(value, found, today):
        return None
    told = read_date(value, today).isoformat() if mark == "$date" else _short(value)
    return f"{where} is {_short(found)}, expected {mark.removeprefix('$').replace('_', ' ')} {told}"


_MARKS: dict[str, Callable[[Any, Any, date], bool]] = {
    "$date": lambda value, found, today: isinstance(found, str) and found == read_date(value, today).isoformat(),
    "$length": lambda value, found, _: isinstance(found, list | str | dict) and len(found) == value,
    "$at_most": lambda value, found, _: isinstance(found, int | float) and found <= value,
    "$one_of": lambda value, found, _: any(_equal(one, found) for one in value),
    "$any": lambda value, found, _: (found is not None) == bool(value),
}


def _equal(expected: Any, found: Any) -> bool:
    if isinstance(expected, str) and isinstance(found, str):
        return expected.casefold() == found.casefold()
    return bool(expected == found) and isinstance(expected, bool) == isinstance(found, bool)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:119]}…"
