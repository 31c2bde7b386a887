"""Weekdays that are said of a date: "on 26 November, which is a Friday"."""

from collections.abc import Iterator, Sequence
from datetime import date

from turnloom.planner.reply.grounding.days import coming
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import spoken, words
from turnloom.planner.reply.grounding.places import Places
from turnloom.planner.reply.grounding.sentences import Sentence

_NEAR = 8
"""Most characters between a weekday and a date behind it that belong together."""


def misnamed_weekdays(sentence: Sentence, weekdays: Sequence[Figure], places: Places, today: date) -> Iterator[Figure]:
    """Yield the weekdays of a sentence that are not those of the date before them, which they are said of."""
    dates = [one for one in sentence.figures if one.kind == "date"]
    for weekday in weekdays:
        before = [one for one in dates if one.end <= weekday.start]
        is_of_next = any(one.end > weekday.start and one.start <= weekday.end + _NEAR for one in dates)
        if before and not is_of_next and _is_of(before[-1], weekday, sentence):
            is_first = any(0 < other.start - weekday.end <= _NEAR for other in weekdays)  # of "Saturday and Sunday"
            days = [day for one in before[-2 if is_first else -1 :] for day in _days(one, places, today)]
            said = {key[1] for key in weekday.keys}
            if days and said.isdisjoint(day.weekday() for day in days):
                yield weekday


def _is_of(day: Figure, weekday: Figure, sentence: Sentence) -> bool:
    if sentence.whole[weekday.end : weekday.end + 2].strip()[:1].isdigit():
        return False  # "jeudi 3" is another day
    between = sentence.whole[day.end : weekday.start].strip(" ,(\u060c")
    return not between or spoken(words()["is_weekday"]).fullmatch(between) is not None


def _days(figure: Figure, places: Places, today: date) -> Iterator[date]:
    """Yield the days that a date may be. One without a year is one that results have, or else the next one."""
    known = [key[1] for key in places.by_key if key[0] == "date" and isinstance(key[1], date)]
    for key in figure.keys:
        match key:
            case ("date", date() as day):
                yield day
            case ("day", int() as month, int() as number) | ("weekday", int(), int() as month, int() as number):
                same = [day for day in known if (day.month, day.day) == (month, number)]
                following = coming(month, number, today)
                yield from same or ([following] if following else [])
