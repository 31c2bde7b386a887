"""Read the figures of all kinds in a text. The order of the scanners keeps one kind from being taken for another."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property, lru_cache

from turnloom.planner.reply.grounding.amounts import find_amounts
from turnloom.planner.reply.grounding.assertions import find_assertions
from turnloom.planner.reply.grounding.contacts import (
    find_documents,
    find_flights,
    find_identifiers,
    find_links,
    find_phones,
)
from turnloom.planner.reply.grounding.counts import (
    find_counts,
    find_durations,
    find_found,
    find_left,
    find_small,
    runs,
    small_numbers,
)
from turnloom.planner.reply.grounding.days import coming, find_days
from turnloom.planner.reply.grounding.figures import Figure, Key, Kind, Scanner, find, visible, without
from turnloom.planner.reply.grounding.labels import find_labelled, find_rated
from turnloom.planner.reply.grounding.lexicon import spoken, words
from turnloom.planner.reply.grounding.numerals import in_digits
from turnloom.planner.reply.grounding.said_moments import moments_said
from turnloom.planner.reply.grounding.times import find_times
from turnloom.planner.reply.grounding.weekdays import find_weekdays

_SCANNERS: tuple[Scanner, ...] = (
    find_links,
    find_days,
    find_documents,
    find_times,
    find_identifiers,
    find_flights,
    find_phones,
    find_amounts,
    find_rated,
)
_CLAIMS: tuple[Scanner, ...] = (find_durations, find_counts, find_weekdays)
_DAYS = ("date", "day")
_BARE = re.compile(r"(?<![\d.,:/-])\d{1,4}(?=\s?(?:[,;.\u060c\u061b]\s|[.;]?$|(?:and|und|et|y|e|en) ))")
_BEHIND = 16
"""Most characters between a length of time and what it is the length of."""
_SHORT = 300
"""Most characters of a text whose figures are kept for the next time that it is read."""


@dataclass(frozen=True)
class SourceText:
    """A text that a reply may repeat."""

    plain: str
    """The text as its reader sees it, in digits."""
    figures: tuple[Figure, ...]

    @cached_property
    def claims(self) -> tuple[Figure, ...]:
        """As `claims` of the text."""
        return tuple(claims(self.plain, self.figures))

    @property
    def small(self) -> set[Decimal]:
        """The numbers of up to three digits that are no part of a date, a time, a link or a code."""
        return runs(self._without("date", "time", "link", "email", "phone", "identifier"))

    @property
    def numbers_apart(self) -> set[Decimal]:
        """The small numbers that stand alone and are no part of a date or a time."""
        return small_numbers(self._without("date", "time"))

    @property
    def bare(self) -> set[Decimal]:
        """The numbers with nothing behind them, such as the last two of "22 square metres, the loft 38 and that 54"."""
        return {Decimal(number) for number in _BARE.findall(self._without("date", "time", "money", "percent"))}

    @property
    def clocks_apart(self) -> set[Decimal]:
        """The lengths of time behind which the text says that other clocks are ahead or behind, in minutes."""
        lengths = (one for one in self.claims if one.kind == "duration")
        apart = spoken(words()["clocks_apart"])
        said = (one for one in lengths if apart.search(self.plain, one.end, one.end + _BEHIND))
        found = (key[1] for one in said for key in one.keys if key[0] == "duration")
        return {minutes for minutes in found if isinstance(minutes, Decimal)}

    def spans(self, today: date) -> set[Decimal]:
        """Return the nights, and the days, between the two dates that the text has, if it has two."""
        dates = [figure for figure in self.figures if figure.kind == "date"]
        days = [_day(figure.keys[0], today) if figure.keys else None for figure in dates]  # 31 February has no key
        if len(days) != 2 or not (days[0] and days[1]):
            return set()
        nights = abs((days[1] - days[0]).days)
        return {Decimal(nights), Decimal(nights + 1)} if nights else set()

    def moments(self, today: date) -> Iterator[Key]:
        """Yield the dates and times that the text, said by a user, means without writing them out."""
        dates = [figure for figure in self.figures if figure.keys and figure.keys[0][0] in _DAYS]
        written = (_day(figure.keys[0], today) for figure in dates)
        return moments_said(without(self.plain, dates), today, filter(None, written))

    def _without(self, *kinds: Kind) -> str:
        return without(self.plain, [figure for figure in self.figures if figure.kind in kinds])


def figures(text: str) -> list[Figure]:
    """Return every figure of a text that needs a source, in the order of the text."""
    return find(text, _SCANNERS)


def claims(text: str, found: Iterable[Figure]) -> list[Figure]:
    """Return what may not contradict a source: counts, durations, weekdays, policies and deeds."""
    plain = without(text, [figure for figure in found if figure.kind != "number"])
    counted = find(plain, _CLAIMS)
    rest = without(plain, [one for one in counted if one.kind == "duration" or one.keys[0][1] == "fahrenheit"])
    small, labelled = list(find_small(rest)), list(find_labelled(rest))
    return [*counted, *labelled, *small, *find_found(plain), *find_left(plain), *find_assertions(text)]


def read_text(text: str) -> SourceText:
    """Return a text of a source as its reader sees it. Results and conversations repeat short ones, which are kept."""
    return _read_short(text) if len(text) <= _SHORT else _read(text)


@lru_cache(maxsize=2048)
def _read_short(text: str) -> SourceText:
    return _read(text)


def _read(text: str) -> SourceText:
    plain = in_digits(visible(text)[0])[0]
    return SourceText(plain, tuple(figures(plain)))


def _day(key: Key, today: date) -> date | None:
    match key:
        case ("date", date() as day):
            return day
        case ("day", int() as month, int() as number) | ("weekday", int(), int() as month, int() as number):
            return coming(month, number, today)
    return None


@lru_cache(maxsize=256)
def keys_of_many(text: str) -> tuple[Key, ...]:
    """Return the keys of what a text says that is read for many replies, such as a persona. The result is cached."""
    read = read_text(text)
    return tuple(key for figure in (*read.figures, *read.claims) for key in figure.keys)
