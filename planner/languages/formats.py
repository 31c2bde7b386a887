"""Formats: how templates write words, dates, times, numbers and money in the language of a reply."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from babel.dates import format_skeleton, format_time, get_timezone_location
from babel.lists import format_list
from babel.numbers import format_decimal, parse_pattern

from turnloom.planner.languages.language import Language

_DAY = re.compile(
    r"[A-Z][a-z]{2} (?P<day>\d{1,2} [A-Z][a-z]{2} \d{4})"
    r"|(?P<moment>\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})?)(?![\w:])"
    r"|\d{4}-\d{2}-\d{2}"
)
"""A day as tools write it in a choice: `Fri 4 Dec 2026`, or `2026-12-04`; or a moment as RFC 3339 has it."""
_CODE = re.compile("[a-z_]+")
_BETWEEN = re.compile(r"(, then |, |: | \(|\)|\.$)")
"""What stands between the words of such a text."""
_NUMBER = r"-?[0-9]{1,9}(?:\.[0-9]{1,6})?"
_TEMPERATURES = re.compile(rf"(?P<low>{_NUMBER}) to (?P<high>{_NUMBER}) °C")
_RAIN = re.compile(rf"({_NUMBER}) % chance of rain")
_STARS = re.compile(r"([0-9]{1,2}) stars")
_PER_NIGHT = re.compile(rf"({_NUMBER}) ([A-Z]{{3}}) per night")
RANGE = "{start} to {end}"
"""The text of two such days."""


def say(language: Language, english: str, values: dict[str, Any]) -> str:
    """Write a text in a language, with these values in its places."""
    return language.fill(language.text(english), _written(language, values))


def say_counted(language: Language, one: str, many: str, n: float, values: dict[str, Any]) -> str:
    """Write a text that depends on a number, which goes into its place `{n}`."""
    return language.fill(language.counted(one, many, n), _written(language, {**values, "n": n}))


def day(language: Language, value: Any) -> str:
    """Write a date for people, with its weekday. Any other value is written as it is."""
    try:
        found = date.fromisoformat(str(value))
    except ValueError:
        return str(value)
    return format_skeleton("yMMMEd", found, locale=language.locale)


def dated(language: Language, value: Any) -> str:
    """Write the days and moments in a text for people, such as the days to choose from that a tool offers."""
    text = str(value)
    start, joint, end = text.partition(" to ")
    if joint and _DAY.fullmatch(start) and _DAY.fullmatch(end):
        return say(language, RANGE, {"start": dated(language, start), "end": dated(language, end)})
    return _DAY.sub(lambda found: _rewritten(language, found), text)


def _rewritten(language: Language, found: re.Match[str]) -> str:
    if found["moment"]:
        return moment(language, found[0])
    if not found["day"]:
        return day(language, found[0])
    try:
        return day(language, datetime.strptime(found["day"], "%d %b %Y").replace(tzinfo=UTC).date())
    except ValueError:
        return found[0]


def moment(language: Language, text: str) -> str:
    """Write a moment as its day, its time of day, and what its clock is ahead of UTC if it says so."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text
    at = f"{clock(language, text)} {found.tzname() or ''}".strip()
    return f"{day(language, found.date())}{language.text(', ')}{at}"


def clock(language: Language, value: Any) -> str:
    """Write a time of day, given as 14:30 or as a moment. Any other value is written as it is."""
    text = str(value)
    try:
        found = datetime.fromisoformat(text).time() if len(text) > len("14:30:00") else time.fromisoformat(text)
    except ValueError:
        return text
    return format_time(found, "short", locale=language.locale)


def timezone(language: Language, value: Any) -> str:
    """Write a time zone for people, by its city: `Jerusalem Time`. A zone of no place is written as it is."""
    name = str(value)
    if "/" not in name or name.startswith("Etc/"):
        return name
    try:
        city = get_timezone_location(name, locale=language.locale, return_city=True)
    except LookupError:
        return name
    written: str = language.locale.zone_formats["region"] % city.rpartition("/")[2]
    return written


def number(language: Language, value: Any) -> str:
    """Write a number. Any other value is written as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return str(value)
    return format_decimal(value, locale=language.locale)


def money(language: Language, amount: Any, currency: str | None = None) -> str:
    """Write an amount of money, without decimals if it is whole. Without a currency it is a number."""
    try:
        value = Decimal(str(amount))
    except InvalidOperation:
        return str(amount)
    if not currency or not value.is_finite():
        return number(language, value)
    pattern = parse_pattern(language.locale.currency_formats["standard"].pattern)
    is_whole = value == value.to_integral_value()
    if is_whole:
        pattern.frac_prec = (0, 0)
    written: str = pattern.apply(value, language.locale, currency=currency, currency_digits=not is_whole)
    return written


def worded(language: Language, value: Any) -> str:
    """Write those words of a result that the catalogue has in a language: `sea_view`, `Gion (district)`, `5 stars`."""
    text = str(value)
    text = text.replace("_", " ") if _CODE.fullmatch(text) else text
    whole = language.text(text)
    return whole if whole != text else "".join(_part(language, part) for part in _BETWEEN.split(text))


def _part(language: Language, text: str) -> str:
    """Write a part of a result's text: a word, or a measure that the results of tools have as text."""
    if text[:1] != "-" and not text[:1].isdecimal():
        return language.text(text)
    if found := _TEMPERATURES.fullmatch(text):
        return say(language, "{low} to {high} °C", {name: Decimal(found[name]) for name in ("low", "high")})
    if found := _RAIN.fullmatch(text):
        return say(language, "{percent} % chance of rain", {"percent": Decimal(found[1])})
    if found := _STARS.fullmatch(text):
        return say_counted(language, "{n} star", "{n} stars", int(found[1]), {})
    if found := _PER_NIGHT.fullmatch(text):
        return say(language, "{price} a night", {"price": money(language, found[1], found[2])})
    return language.text(text)


def translated(language: Language, text: str, translations: Mapping[str, str] | None) -> str:
    """Write a text that the results have in several languages: in the reply's, or else as it stands."""
    return (translations or {}).get(language.locale.language, text)


def listed(language: Language, values: Iterable[Any], joint: Literal["and", "or"] = "and") -> str:
    """Write some values as a list with "and" or "or" before the last."""
    style: Literal["standard", "or"] = "or" if joint == "or" else "standard"
    return format_list([str(value) for value in values], style=style, locale=language.locale)


def _written(language: Language, values: dict[str, Any]) -> dict[str, str]:
    return {name: number(language, value) for name, value in values.items()}
