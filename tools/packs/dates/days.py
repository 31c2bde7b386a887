"""Read one day from a phrase, relative to a given day. Day comes before month, as in most of the world.

The rules here read the phrases that dateparser does not know or gets wrong: weekdays with "this" and "next", days of
the month without a month, and distances from a day other than today. dateparser reads the rest.
"""

import re
from datetime import date, datetime, time, timedelta

import dateparser

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
NUMBER = r"\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten"
"""A pattern for the numbers that the rules understand."""

_WORDS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
}
_LANGUAGES = ["en", "he"]
_HORIZON = timedelta(days=3653)
_WEEKDAY = re.compile(
    r"(?:(this|next)(?: coming)? |(?:the )?coming )?"
    r"(mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?"
    r"(?: (?:morning|evening|night))?"
)
_DISTANCE = re.compile(
    rf"(?:in )?(?P<number>{NUMBER}) (?P<unit>(?:day|week|month)s?)(?: (?:from|after) (?P<origin>.+))?"
)
_DAY_OF_MONTH = re.compile(r"(?:the )?(\d{1,2})(?:st|[nr]d|th)")
_NOT_A_DAY = re.compile(r"(?:this|next|last|coming|the|\W)* ?(?:weeks?|months?|years?)|\W*\d{1,3}\W*")
"""Phrases that dateparser reads as a day although they name a longer time, or no time at all."""


def read_day(phrase: str, today: date) -> date | None:
    """Return the day that a lower-case phrase names. None if it names no day, or none within ten years."""
    day = _iso(phrase) or _read(phrase, today)
    return day if day and abs(day - today) <= _HORIZON else None


def read_number(word: str) -> int:
    """Return the value of a word that matches `NUMBER`."""
    return _WORDS.get(word) or int(word)


def _iso(phrase: str) -> date | None:
    try:
        return date.fromisoformat(phrase)
    except ValueError:
        return None


def _read(phrase: str, today: date) -> date | None:
    if match := _WEEKDAY.fullmatch(phrase):
        return _weekday(match[1], match[2], today)
    if match := _DISTANCE.fullmatch(phrase):
        return _distance(match, today)
    if match := _DAY_OF_MONTH.fullmatch(phrase):
        return _day_of_month(int(match[1]), today)
    if _NOT_A_DAY.fullmatch(phrase):
        return None
    return _parse(phrase, today)


def _weekday(which: str | None, name: str, today: date) -> date:
    """Return the first such weekday after today. With `this`, today counts too; with `next`, it is in the next week."""
    index = next(i for i, weekday in enumerate(_WEEKDAYS) if weekday.startswith(name[:3]))
    if which == "next":
        return today + timedelta(days=7 - today.weekday() + index)
    earliest = today if which == "this" else today + timedelta(days=1)
    return earliest + timedelta(days=(index - earliest.weekday()) % 7)


def _distance(match: re.Match[str], today: date) -> date | None:
    start = today if match["origin"] in (None, "now") else read_day(match["origin"], today)
    return _parse(f"in {read_number(match['number'])} {match['unit']}", start) if start else None


def _day_of_month(number: int, today: date) -> date | None:
    """Return the first day with this number, today included, in this month or the first later one that has it."""
    days = (today + timedelta(days=offset) for offset in range(62))
    return next((day for day in days if day.day == number), None)


def _parse(phrase: str, today: date) -> date | None:
    found = dateparser.parse(
        phrase,
        languages=_LANGUAGES,
        settings={
            # Use noon instead of the present time: dateparser keeps every set of settings that it has seen.
            "RELATIVE_BASE": datetime.combine(today, time(12)),
            "PREFER_DATES_FROM": "future",
            "DATE_ORDER": "DMY",
            "PARSERS": ["relative-time", "absolute-time"],
            "REQUIRE_PARTS": ["day"],
            "RETURN_AS_TIMEZONE_AWARE": False,
            "TIMEZONE": "UTC",
        },
    )
    return found.date() if found else None
