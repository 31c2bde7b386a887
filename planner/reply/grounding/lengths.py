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
_NEAR_MINUTES, _NEAR_SHARE = Decimal(10), Decimal("0.06")
"""How far "just under an hour" may be from an hour: so many minutes, or this part of a longer time."""


def is_known_length(
    minutes: Decimal, known: Collection[Decimal], context: Context, direction: Direction | None
) -> bool:
    """Return whether a length of time is one of some known ones, or follows from known moments or lengths.

    `direction`: how it is rounded, if it is.
    """
    sentence, places = context.sentence, context.evidence.places
    if _is_from_now(minutes, context) or _is_until(minutes, context, direction):
        return True
    if (sentence.says("differences") or sentence.says("longer")) and _is_difference(minutes, places):
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
    return abs(said - actual) <= max(_NEAR_MINUTES, actual * _NEAR_SHARE)


def _is_from_now(minutes: Decimal, context: Context) -> bool:
    """Return whether a length of time leads from now to a time that the sentence states."""
    now = context.evidence.now
    times = (key for one in context.sentence.figures if one.kind == "time" for key in one.keys if key[0] == "time")
    return any((minute_of(key) - now.hour * 60 - now.minute) % _DAY == minutes for key in times)


def _is_until(minutes: Decimal, context: Context, direction: Direction | None) -> bool:
    """Return whether a length of time leads from now to a moment of the results, such as the end of an offer."""
    until = [(moment - context.evidence.now).total_seconds() / 60 for moment in context.evidence.places.moments]
    left = [Decimal(round(length)) for length in until if length > 0]
    said = {minutes, *(minutes + days * _DAY for days in context.sentence.counts())}  # "three days and two hours"
    return not said.isdisjoint(left) or (direction is not None and any(_is_about(minutes, one) for one in left))


def _is_difference(minutes: Decimal, places: Places) -> bool:
    lengths = places.values("duration")
    return minutes in {abs(one - other) for one in lengths for other in lengths}
