"""Relative days: whether the date beside "tomorrow" is tomorrow's."""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from decimal import Decimal

from turnloom.planner.reply.grounding.days import implied
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import spoken, weekdays, words
from turnloom.planner.reply.grounding.places import EvidencePlace, Places
from turnloom.planner.reply.grounding.sentences import Sentence

_BEFORE = 40
_LONGEST_WORD = 12
_FROM_TODAY = re.compile(r"\s(?:from (?:today|now)|ab heute|von heute|a partir de hoy|à partir d'aujourd'hui|da oggi)")
_OPENED = re.compile(r"[,(]?\s")
_WORD = re.compile(r"[^\W\d_]+")


def misnamed(sentence: Sentence, today: date) -> Iterator[Figure]:
    """Yield the dates right behind a word such as "tomorrow" that are another day."""
    for figure in sentence.figures:
        if figure.kind == "date" and figure.keys:
            day = _named_before(sentence, figure, today) or _named_behind(sentence, figure, today)
            if day and set(implied(day)).isdisjoint(figure.keys):
                yield figure


def misdated(sentence: Sentence, named: Iterable[Figure], places: Places) -> Iterator[Figure]:
    """Yield the words such as "tomorrow", from `in_words`, beside a time that results have on other days only."""
    for day in named:
        start, end = sentence.clause(day.start)
        times = [one for one in sentence.figures if one.kind == "time" and start <= one.start < end]
        known = {there for one in times for place in places.of(one.keys) for there in _days_at(place, places)}
        if len(times) == 1 and known and day.keys[0][1] not in known:
            yield day


def _days_at(place: EvidencePlace, places: Places) -> set[object]:
    """Return the days that stand at the very place of a time: it is a moment then."""
    at = (place.step, place.turn, place.path)
    return {
        key[1]
        for key, found in places.by_key.items()
        if key[0] == "date" and any((one.step, one.turn, one.path) == at for one in found)
    }


def in_words(sentence: Sentence, today: date) -> Iterator[Figure]:
    """Yield the words of a sentence that name a day from today on, such as "tomorrow", as the dates that they mean."""
    for days, pattern in words()["days_from_today"].items():
        for match in spoken(pattern).finditer(sentence.whole, sentence.start, sentence.end):
            before = sentence.whole[max(sentence.start, match.start() - _LONGEST_WORD) : match.start()]
            if not _is_part_of_day(before):
                yield Figure("date", *match.span(), (("date", today + timedelta(days=days)),))


def _is_part_of_day(before: str) -> bool:
    """Return whether the word before "mañana" or "Morgen" makes it the morning."""
    last = before.split()[-1:] or [""]
    return last[0].lower() in {*weekdays(), *words()["morning_beside"]}


def miscounted(sentence: Sentence, counted: Iterable[Figure], today: date) -> Iterator[Figure]:
    """Yield the number of days "from today" that does not lead to the only date of its sentence."""
    dates = [one for one in sentence.figures if one.kind == "date"]
    found = [(one, one.keys[0][-1]) for one in counted if one.keys[0][:2] == ("count", "day")]
    numbers = [(one, int(value)) for one, value in found if isinstance(value, Decimal) and value == int(value)]
    if len(dates) != 1 or len(numbers) != 1 or not dates[0].keys:
        return
    [(figure, days)] = numbers
    is_other = set(implied(today + timedelta(days=days))).isdisjoint(dates[0].keys)
    if is_other and _FROM_TODAY.match(sentence.whole, figure.end):
        yield figure


def _named_before(sentence: Sentence, figure: Figure, today: date) -> date | None:
    """Return the day that a word before a date means, with only a weekday or an article between."""
    before = sentence.whole[max(sentence.start, figure.start - _BEFORE) : figure.start]
    found = [
        (match.start(), match.end(), days)
        for days, pattern in words()["days_from_today"].items()
        for match in spoken(pattern).finditer(before)
        if not _is_beginning(before[: match.start()]) and match[0] not in words()["of_the_day"]
    ]
    if not found:
        return None
    _, end, days = max(found, key=lambda each: (each[1], -each[0]))  # "the day after tomorrow" ends as "tomorrow" does
    small = {*weekdays(), *words()["articles"], *words()["weekday_parts"]}
    between = before[end:]
    is_beside = "\n" not in between and all(word.lower() in small for word in _WORD.findall(between))
    return today + timedelta(days=days) if is_beside else None


def _named_behind(sentence: Sentence, figure: Figure, today: date) -> date | None:
    """Return the day that a word right behind a date means: "22 November, tomorrow"."""
    after = sentence.whole[figure.end : min(sentence.end, figure.end + _BEFORE)]
    opened = _OPENED.match(after)
    if opened is None:
        return None
    for days, pattern in words()["days_from_today"].items():
        if spoken(pattern).match(after, opened.end()):
            return today + timedelta(days=days)
    return None


def _is_beginning(before: str) -> bool:
    """Return whether the word before "today" makes it the beginning of a time, as in "five days from today"."""
    return spoken(rf"(?:{words()['since']})\s?$").search(before, max(0, len(before) - _LONGEST_WORD)) is not None
