"""Read a stay, from arrival to departure, from a phrase."""

import calendar
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta

from turnloom.models.contracts.base import Contract
from turnloom.tools.packs.dates.days import NUMBER, read_day, read_number


class Stay(Contract):
    """A stay, from arrival to departure."""

    check_in: date
    """Day of arrival."""
    check_out: date
    """Day of departure."""


_Rule = tuple[re.Pattern[str], Callable[[re.Match[str], date], Iterator[Stay]]]

LONGEST_STAY_NIGHTS = 365

_FRIDAY = 4
_SATURDAY = 5
_PARTS_OF_MONTH = {"beginning": 1, "start": 1, "early": 1, "middle": 15, "mid": 15, "end": 31, "late": 31}
_PART = "|".join(_PARTS_OF_MONTH)
_MONTHS = {name.casefold(): number for number, name in enumerate(calendar.month_name) if name}

_WEEKEND = r"week-?end"
_LENGTH = rf"for (?P<count>{NUMBER}) (?P<unit>nights?|weeks?)"
_FROM = r"(?: starting| beginning)?(?: from| on| at)?"
_DAYS = r"(?P<first>\d{1,2})(?:st|[nr]d|th|\.)? ?(?:-|to|and) ?(?P<last>\d{1,2})(?:st|[nr]d|th|\.)?"
_FILLER = re.compile(r"\b(?:please|for|on|at|around|about|maybe|arriving|starting|check[- ]?in|stay|dates?)\b[:,]? *")


def read_stays(hint: str, today: date) -> list[Stay]:
    """Return the stays that a phrase may mean, the likeliest first. Empty if none begins today or later."""
    return _read(_normalise(hint), today, [*_LENGTH_RULES, *_STAY_RULES])


def coming_weekend(today: date) -> list[Stay]:
    """Return the next weekend whose Friday has not passed: Friday to Saturday, and Saturday to Sunday."""
    return _weekend(today + timedelta(days=(_FRIDAY - today.weekday()) % 7))


def _read(phrase: str, today: date, rules: Sequence[_Rule]) -> list[Stay]:
    for candidate in dict.fromkeys([phrase, _FILLER.sub("", phrase).strip(" ,")]):
        for pattern, read in rules:
            match = pattern.fullmatch(candidate)
            if match and (stays := [stay for stay in read(match, today) if _possible(stay, today)]):
                return stays
    return []


def _normalise(hint: str) -> str:
    words = " ".join(hint.casefold().split()).strip(" .,!?\"'")
    words = re.sub(r"[\u2010-\u2015]", "-", words)
    words = re.sub(r"\((?:[^()]*)\)", "", words)
    return re.sub(r"\b(?:until|till?|through|thru|up to)\b|->|\u2192", "to", words).strip()


def _possible(stay: Stay, today: date) -> bool:
    nights = (stay.check_out - stay.check_in).days
    return stay.check_in >= today and 1 <= nights <= LONGEST_STAY_NIGHTS


def _weekend(friday: date) -> list[Stay]:
    saturday = friday + timedelta(days=1)
    return [
        Stay(check_in=friday, check_out=saturday),
        Stay(check_in=saturday, check_out=saturday + timedelta(days=1)),
    ]


def _named_weekend(match: re.Match[str], today: date) -> Iterator[Stay]:
    """Yield the nights of a weekend.

    With `next` it is the weekend of next week. Otherwise it is the soonest one. On a Saturday only its second night is
    left.
    """
    if match["which"] == "next":
        monday = today + timedelta(days=7 - today.weekday())
        yield from _weekend(monday + timedelta(days=_FRIDAY))
    elif today.weekday() == _SATURDAY:
        yield from _weekend(today - timedelta(days=1))
    else:
        yield from coming_weekend(today)


def _weekend_of(match: re.Match[str], today: date) -> Iterator[Stay]:
    if day := read_day(match["day"], today):
        monday = day - timedelta(days=day.weekday())
        yield from _weekend(monday + timedelta(days=_FRIDAY))


def _some_nights(match: re.Match[str], today: date) -> Iterator[Stay]:
    count = read_number(match["count"])
    starts = _read(match["start"], today, _STAY_RULES)
    if count and starts:
        nights = count * 7 if match["unit"].startswith("week") else count
        check_in = starts[0].check_in
        yield Stay(check_in=check_in, check_out=check_in + timedelta(days=nights))


def _range(match: re.Match[str], today: date) -> Iterator[Stay]:
    first = read_day(match["first"], today)
    last = read_day(match["last"], today)
    if first and last and last <= first:
        last = read_day(match["last"], first)
    if first and last:
        yield Stay(check_in=first, check_out=last)


def _days_of_month(match: re.Match[str], today: date) -> Iterator[Stay]:
    first = read_day(f"{match['first']} {match['month']}", today)
    last = read_day(f"{match['last']} {match['month']}", first or today)
    if first and last:
        yield Stay(check_in=first, check_out=last)


def _part_of_month(match: re.Match[str], today: date) -> Iterator[Stay]:
    """Yield one night: on the first of the month, on its 15th or on its last day."""
    month = _month(match["month"], today)
    if month is None:
        return
    last_day = calendar.monthrange(month.year, month.month)[1]
    yield _night(month.replace(day=min(_PARTS_OF_MONTH[match["part"]], last_day)))


def _month(name: str, today: date) -> date | None:
    """Return the first day of this month, of the next, or of the named month, the present one included."""
    first = today.replace(day=1)
    following = (first + timedelta(days=31)).replace(day=1)
    if name in ("month", "this month"):
        return first
    if name == "next month":
        return following
    number = _MONTHS.get(name)
    if number is None:
        return None
    return date(today.year if number >= today.month else today.year + 1, number, 1)


def _one_day(match: re.Match[str], today: date) -> Iterator[Stay]:
    if day := read_day(match[0], today):
        yield _night(day)


def _night(day: date) -> Stay:
    return Stay(check_in=day, check_out=day + timedelta(days=1))


_LENGTH_RULES: list[_Rule] = [
    (re.compile(rf"(?:for )?(?P<count>{NUMBER}) (?P<unit>nights?),?{_FROM} (?P<start>.+)"), _some_nights),
    (re.compile(rf"{_LENGTH},?{_FROM} (?P<start>.+)"), _some_nights),
    (re.compile(rf"(?:from )?(?P<start>.+?),? {_LENGTH}"), _some_nights),
]
"""Phrases with a number of nights. The rest of the phrase says when they begin and is read by `_STAY_RULES` alone,
because a phrase has only one such number."""

_STAY_RULES: list[_Rule] = [
    (re.compile(rf"(?:the |this )?(?:(?P<which>this|next|coming) )?{_WEEKEND}"), _named_weekend),
    (re.compile(rf"(?:the )?{_WEEKEND} of (?:the )?(?P<day>.+)"), _weekend_of),
    (re.compile(rf"(?:from |between )?(?:the )?{_DAYS}(?: of)? (?P<month>[^\W\d]+.*)"), _days_of_month),
    (re.compile(rf"(?:from |between )?(?P<month>[^\W\d]+) {_DAYS}"), _days_of_month),
    (re.compile(r"(?:from |between )?(?P<first>.+?)(?: (?:to|and|-) | ?/ ?(?=\d{4}-))(?P<last>.+)"), _range),
    (re.compile(rf"(?:the )?(?P<part>{_PART})[ -](?:of )?(?:the )?(?P<month>[a-z]+(?: month)?)"), _part_of_month),
    (re.compile(r".+"), _one_day),
]
