"""Days and times that follow from known ones: two weeks after a day, the end of what begins then and takes so long.

A time counts where hardly any other would follow from the known times and lengths as well, as in `composition.py`.
"""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from turnloom.planner.reply.grounding.days import coming, implied, iso_day, iso_moment, staying
from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.lexicon import spoken, words
from turnloom.planner.reply.grounding.paths import Role, role_of_field
from turnloom.planner.reply.grounding.places import EvidencePlace, Places
from turnloom.planner.reply.grounding.sentences import Sentence

TODAY = "now"
"""The path of today's date."""
_DAY, _WEEK = 24 * 60, 7
_NEXT_MONTHS = (30, 60)
"""Days until the months in which a day of a week, such as "Tuesday the 1st", may be meant."""
_LONGEST_STAY = 31
_MOST_LENGTHS, _MOST_TIMES = 12, 16
_CLOCK = re.compile(r"(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)(?::00)?")
_RANGE = re.compile(
    r"(?<!\d)(?P<hour1>\d{1,2})[:h.](?P<minute1>[0-5]\d)\s?[-\u2013]\s?(?P<hour2>\d{1,2})[:h.](?P<minute2>[0-5]\d)(?!\d)"
)
_NEIGHBOURS = [sign * minutes for minutes in range(5, 45, 5) for sign in (1, -1)]
_MOST_HITS = 0
_NEAR, _AROUND = 15, 24
"""Minutes between a time and one that is about the same, and characters before it that tell so."""
_NEAR_TWELVE = 40
"""The same for noon and midnight."""


def keys_between(fields: Mapping[str, Any]) -> Iterator[Key]:
    """Yield the nights, with their days, and the minutes between two times that an object has."""
    moments = [iso_moment(value) for value in fields.values() if isinstance(value, str)]
    yield from _open(fields)
    days = [iso_day(value) for value in fields.values() if isinstance(value, str)]
    for first, second in ((a, b) for a in moments for b in moments if a and b and a < b):
        yield "duration", Decimal((second - first).seconds // 60)
        if first.utcoffset() != second.utcoffset():
            yield "on clocks apart", first.hour * 60 + first.minute, second.hour * 60 + second.minute
    for arrival, departure in ((a, b) for a in days for b in days if a and b and a < b):
        nights = (departure - arrival).days
        yield "count", "night", Decimal(nights)
        for number in range(1, min(nights, _LONGEST_STAY)):
            yield from staying(arrival + timedelta(days=number))


def _open(fields: Mapping[str, Any]) -> Iterator[Key]:
    """Yield the minutes between two times of day, where an object has just two: of opening hours, of a journey."""
    texts = [value for value in fields.values() if isinstance(value, str)]
    clocks = [match for match in map(_CLOCK.fullmatch, texts) if match]
    match [int(clock["hour"]) * 60 + int(clock["minute"]) for clock in clocks]:
        case [first, second]:
            yield "lasts", Decimal((second - first) % _DAY)
    for found in filter(None, map(_RANGE.search, texts)):
        first, second = (int(found[f"hour{n}"]) * 60 + int(found[f"minute{n}"]) for n in (1, 2))
        yield "lasts", Decimal((second - first) % _DAY)


def later_day(figure: Figure, sentence: Sentence, minutes: set[Decimal], places: Places) -> EvidencePlace | None:
    """Return the source of a day that is so many days after, or before, a known one.

    The number of days is one that the sentence counts in days. One that stands beside the known day counts too.
    """
    said = _counted("day", sentence)
    said += [days for days, words_of in ((1, "day_beside"), (_WEEK, "a_week")) if sentence.says(words_of)]
    said += [int(length) // _DAY for length in sorted(minutes) if length and length % _DAY == 0]
    stays = [nights for nights in _counted("night", sentence) if nights <= _LONGEST_STAY]
    wanted, lengths, told = set(figure.keys), _lengths(("count", "day"), places), _told_lengths(places)
    for known, place in _days(places):
        ends = stays if place.path in words()["arrival_fields"] else ()
        ahead = told if place.path == TODAY else [-days for days in told]
        for days in (*said, *(-days for days in said), *_beside(place, lengths), *ahead, *ends):
            reached = _after(known, days)
            if reached and wanted.intersection(implied(reached)):
                return replace(place, path=f"{place.path} {days:+} days")
    return None


def _counted(unit: str, sentence: Sentence) -> list[int]:
    """Return the numbers of a sentence that has a word for a unit of `words.yaml`."""
    named = spoken(words()["units"][unit]["words"]).search(sentence.without_figures)
    return sorted(int(count) for count in sentence.counts()) if named else []


def _told_lengths(places: Places) -> list[int]:
    """Return the numbers of days in longer texts: before an arrival, or from today."""
    told = [key for key, found in places.by_key.items() if _is_told(found)]
    days: set[Decimal] = set()
    for key in told:
        match key:
            case ("count", "day", Decimal() as number):
                days.add(number)
            case ("duration", Decimal() as minutes):
                days.add(minutes / _DAY)
    return sorted(int(number) for number in days if number and number == int(number))[:_MOST_LENGTHS]


def _is_told(found: list[EvidencePlace]) -> bool:
    return any(place.is_prose and not place.is_said for place in found)


def next_day(figure: Figure, sentence: Sentence, places: Places, today: date) -> EvidencePlace | None:
    """Return the place of a weekday of which a date is said to be the next one: "on Tuesdays, so next on the 24th"."""
    if figure.kind != "date" or not sentence.says("next"):
        return None
    for days in range(1, 2 * _WEEK + 1):
        day = today + timedelta(days=days)
        if set(implied(day)).intersection(figure.keys):
            return next(iter(places.of((("on", day.weekday()),))), None)
    return None


def recurring_day(
    figure: Figure, sentence: Sentence, weekdays: Container[object], places: Places, today: date
) -> EvidencePlace | None:
    """Return the place of a weekday without a date that a date is one of: "closed on Mondays, so not on the 15th".

    `weekdays`: those that the sentence names without a date. The first and the last day of a stay are none.
    """
    if sentence.says_in_clause("stay_ends", figure):
        return None
    dates = (day for day, place in _days(places) if place.path != TODAY)
    soon = (today + timedelta(days=days) for days in (0, *_NEXT_MONTHS))
    known, following = ({(day.year, day.month) for day in days} for days in (dates, soon))
    # A number alone is a day of the months that the results speak of.
    months = {key: (known or following) if key[0] == "day of month" else known | following for key in figure.keys}
    named = {day.weekday() for key in figure.keys for day in _meant(key, weekdays, months[key], today)}
    dated = {place.path for one, found in places.by_key.items() if one[0] == "date" for place in found}
    told = (one for weekday in sorted(named) for one in places.of((("on", weekday),)))
    return next((one for one in told if one.is_prose and one.path not in dated), None)


def _meant(key: Key, weekdays: Container[object], months: set[tuple[int, int]], today: date) -> Iterator[date]:
    """Yield the days that a key may mean, if they are on the weekday that it has, or else on a named one."""
    on = weekdays
    match key:
        case ("weekday", int() as weekday, int() as month, int() as number):
            days, on = [coming(month, number, today)], (weekday,)
        case ("weekday of month", int() as weekday, int() as number):
            found = [(year, coming(month, number, today)) for year, month in months]
            days, on = [day for year, day in found if day and day.year == year], (weekday,)
        case ("day", int() as month, int() as number):
            days = [coming(month, number, today)]
        case ("day of month", int() as number):
            days = [coming(month, number, today) for _, month in months]
        case _:
            return
    yield from (day for day in days if day and day.weekday() in on)


def _after(day: date, days: int) -> date | None:
    """Return the day so many days after, or before, another one; None if the calendar has none."""
    number = day.toordinal() + days
    return date.fromordinal(number) if 1 <= number <= date.max.toordinal() else None


def days_apart(count: Decimal, sentence: Sentence, places: Places) -> bool:
    """Return whether a number of days is between a day of the sentence and another known one, such as today."""
    said = {key for figure in sentence.figures for key in figure.keys if figure.kind == "date"}
    if not said and sentence.says("from_today"):
        said = {("date", day) for day, place in _days(places) if place.path == TODAY}
    known = {day.toordinal(): day for day, _ in _days(places)}
    begun = (number for number, day in known.items() if said.intersection(implied(day)))
    return any(number + count in known or number - count in known for number in begun)


def is_off_today(count: Decimal, places: Places) -> bool:
    """Return whether days are known, and none of them is so many days from today."""
    days = [(day.toordinal(), place.path == TODAY) for day, place in _days(places)]
    known = {day for day, is_today in days if not is_today}
    return bool(known) and all(known.isdisjoint((day + count, day - count)) for day, is_today in days if is_today)


def later_time(figure: Figure, lengths: set[Decimal], places: Places, role: Role | None) -> EvidencePlace | None:
    """Return the source of a time that is so many minutes after, or before, a known time.

    The length is one that the sentence states. One that stands beside the known time counts too: it leads from a
    beginning to an end.
    """
    reached: dict[int, tuple[EvidencePlace, int]] = {}
    said = [sign * int(length) for length in lengths if length < _DAY for sign in (1, -1)]
    known = _lengths(("duration",), places)
    for key, found in places.by_key.items():
        if key[0] == "time":
            is_begun = role != "begin" and role_of_field(found[0].path) != "end"
            beside = _beside(found[0], known) if is_begun else ()
            ends = role_of_field(found[0].path) == "end"
            for minutes in (*beside, *(length for length in said if not (ends and length > 0))):
                reached[(minute_of(key) + minutes) % _DAY] = found[0], minutes
    for wanted in (minute_of(key) for key in figure.keys if key[0] == "time"):
        if wanted in reached and (reached[wanted][1] in said or _is_no_chance(wanted, reached)):
            place, minutes = reached[wanted]
            return replace(place, path=f"{place.path} {minutes:+} min")
    return None


def near_time(figure: Figure, sentence: Sentence, places: Places) -> EvidencePlace | None:
    """Return the place of a time that is said to be about, or a little before or after, a time such as nine."""
    before = sentence.whole[sentence.start : figure.start].rstrip()
    soon = {
        kind: spoken(pattern).search(before, max(0, len(before) - _AROUND)) for kind, pattern in words()["soon"].items()
    }
    named = sentence.whole[figure.start : figure.end]
    near = _NEAR if any(char.isdigit() for char in named) else _NEAR_TWELVE
    low = 0 if soon["after"] and soon["after"].end() == len(before) else -near
    high = 0 if soon["before"] and soon["before"].end() == len(before) else near
    is_part_of_day = spoken(words()["clock"]["middle_of_day"]).fullmatch(named) is not None
    if low + high == 0 and sentence.rounding(figure) is None and not is_part_of_day:
        return None
    said = [minute_of(key) for key in figure.keys if key[0] == "time"]
    for key, found in places.by_key.items():
        if key[0] == "time" and any(
            low <= (minute_of(key) - minute + _DAY // 2) % _DAY - _DAY // 2 <= high for minute in said
        ):
            return found[0]
    return None


def of_clock(key: Key) -> tuple[int, ...]:
    """Return the numbers by which an hour, or a day, is spoken of alone: "at 8", "on the 12th"."""
    match key:
        case ("time", int() as hour, _):
            return hour, hour % 12 or 12
        case ("date", date() as day):
            return (day.day,)
    return ()


def minute_of(key: Key) -> int:
    """Return the minute of the day of a time."""
    _, hour, minute = key
    assert isinstance(hour, int)
    assert isinstance(minute, int)
    return hour * 60 + minute


def _lengths(form: tuple[str, ...], places: Places) -> dict[tuple[str, str], set[int]]:
    """Return the lengths of a form, by the step and the path of the object that has them."""
    lengths: dict[tuple[str, str], set[int]] = {}
    for key, found in places.by_key.items():
        if key[: len(form)] == form and isinstance(key[-1], Decimal):
            for place in found:
                lengths.setdefault((place.step, place.path.rpartition(".")[0]), set()).add(int(key[-1]))
    return lengths


def _beside(place: EvidencePlace, lengths: dict[tuple[str, str], set[int]]) -> Iterator[int]:
    """Yield the lengths that the object of a place has, or one around it."""
    path = place.path
    while path:
        path = path.rpartition(".")[0]
        yield from lengths.get((place.step, path), ())


def _is_no_chance(said: int, reached: Container[int]) -> bool:
    return sum((said + other) % _DAY in reached for other in _NEIGHBOURS) <= _MOST_HITS


def between(minutes: Decimal, sentence: Sentence, places: Places) -> bool:
    """Return whether a length of time is that between a time of the sentence and another one that is known."""
    said = {minute_of(key) for figure in sentence.figures for key in figure.keys if key[0] == "time"}
    known = {minute_of(key) for key in places.by_key if key[0] == "time"} | said
    return any(
        (other - one) % _DAY in (int(minutes), _DAY - int(minutes)) and not _are_apart(one, other, places)
        for one in said
        for other in known
    )


def _are_apart(one: int, other: int, places: Places) -> bool:
    """Return whether two times are the ends of something that ends in another time zone, such as a flight."""
    return any(("on clocks apart", *ends) in places.by_key for ends in ((one, other), (other, one)))


def lasts(minutes: Decimal, places: Places) -> bool:
    """Return whether a length of time is that between two known times, or the sum or the difference of two lengths."""
    times = sorted({minute_of(key) for key in places.by_key if key[0] == "time"})[:_MOST_TIMES]
    lengths = sorted(places.values("duration"))[:_MOST_LENGTHS]
    reached = {(second - first) % _DAY for first in times for second in times if not _are_apart(first, second, places)}
    reached |= {int(apart) for one in lengths for other in lengths for apart in (one + other, abs(one - other))}
    said = int(minutes)
    return said in reached and _is_no_chance(said, reached)


def _days(places: Places) -> Iterator[tuple[date, EvidencePlace]]:
    for key, found in places.by_key.items():
        if key[0] == "date" and isinstance(key[1], date):
            yield key[1], found[0]
