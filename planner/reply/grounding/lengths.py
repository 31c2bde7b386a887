"""Lengths of time: whether one that is said is known, roughly, or the time between two known moments."""

from collections.abc import Collection
from decimal import Decimal

from turnloom.planner.reply.grounding.arithmetic import is_rounded
from turnloom.planner.reply.grounding.context import Context
from turnloom.planner.reply.grounding.moments import between, lasts, minute_of
from turnloom.planner.reply.grounding.places import Places
from turnloom.planner.reply.grounding.sentences import Direction
from turnloom.planner.reply.grounding.zones import apart, zones_named

_DAY = 24 * 60
_MOST_TIMES = 12
_NEAR_MINUTES, _NEAR_OF_SHORT, _NEAR_SHARE = Decimal(10), Decimal("0.2"), Decimal("0.085")
"""How far "just under an hour" may be from an hour: so many minutes, a part of a shorter time, or of a longer one."""
_ROUND = 5


def is_known_length(
    minutes: Decimal, known: Collection[Decimal], context: Context, direction: Direction | None
) -> bool:
    """Return whether a length of time is one of some known ones, or follows from known moments or lengths.

    `direction`: how it is rounded, if it is.
    """
    sentence, places = context.sentence, context.evidence.places
    if _is_from_now(minutes, context) or _is_until(minutes, context, direction):
        return True
    if _is_apart(minutes, context, direction):
        return True
    if ("lasts", minutes) in places.by_key or lasts(minutes, places) or between(minutes, sentence, places):
        return True
    if any(
        round(other) == minutes or (direction and (_is_about(minutes, other) or is_rounded(minutes, other, direction)))
        for other in known
    ):
        return True
    return ("duration", minutes) in apart(context.evidence.now, zones_named(sentence.text))


def _is_about(said: Decimal, actual: Decimal) -> bool:
    """Return whether a length of time is roughly another one: "just under an hour", "almost six hours"."""
    nearest = max(min(_NEAR_MINUTES, actual * _NEAR_OF_SHORT), actual * _NEAR_SHARE)
    return said % _ROUND == 0 and abs(said - actual) <= nearest


def _is_from_now(minutes: Decimal, context: Context) -> bool:
    """Return whether a length of time leads from now to a time that the sentence states."""
    now = context.evidence.now
    times = (key for one in context.sentence.figures if one.kind == "time" for key in one.keys if key[0] == "time")
    return any((minute_of(key) - now.hour * 60 - now.minute) % _DAY == minutes for key in times)


def _is_until(minutes: Decimal, context: Context, direction: Direction | None) -> bool:
    """Return whether a length of time leads from now to a moment of the results, such as the end of an offer."""
    until = [(moment - context.evidence.now).total_seconds() / 60 for moment in context.evidence.places.moments]
    left = [Decimal(round(length)) for length in until if length > 0]
    days = [Decimal(0), *(days * _DAY for days in context.sentence.counts())]  # "three days and two hours"
    return any(_is_said(minutes, one - more, direction) for one in left for more in days)


def _is_apart(minutes: Decimal, context: Context, direction: Direction | None) -> bool:
    """Return whether lengths, times or clocks are said to be apart, and known ones are, by so many minutes."""
    sentence, places = context.sentence, context.evidence.places
    rounded = direction if sentence.says("longer") else None
    if (sentence.says("differences") or sentence.says("longer")) and _is_difference(minutes, places, rounded):
        return True
    if sentence.says("time_apart") and minutes in _gaps(places):
        return True
    return sentence.says("clocks_apart") and minutes in _offsets_apart(places)


def _is_said(said: Decimal, actual: Decimal, direction: Direction | None) -> bool:
    """Return whether a length of time is another one, or roughly if it is rounded."""
    return said == actual or (direction is not None and actual > 0 and _is_about(said, actual))


def _is_difference(minutes: Decimal, places: Places, direction: Direction | None) -> bool:
    lengths = places.values("duration")
    return any(_is_said(minutes, abs(one - other), direction) for one in lengths for other in lengths)


def _gaps(places: Places) -> set[int]:
    """Return the minutes between any two known times of day, if there are few: many are apart by any number."""
    times = {minute_of(key) for key in places.by_key if key[0] == "time"}
    if len(times) > _MOST_TIMES:
        return set()
    return {(second - first) % _DAY for first in times for second in times}


def _offsets_apart(places: Places) -> set[int]:
    """Return the minutes by which the clocks of the moments of results are apart."""
    offsets = {offset for moment in places.moments if (offset := moment.utcoffset()) is not None}
    return {int(abs(one - other).total_seconds()) // 60 for one in offsets for other in offsets}
