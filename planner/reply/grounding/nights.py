"""Nights: the days that a sentence about the nights of a stay may name, and the weekday of tomorrow."""

from datetime import date
from decimal import Decimal

from turnloom.planner.reply.grounding.context import Context
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.places import Places
from turnloom.planner.reply.grounding.relative_days import in_words
from turnloom.planner.reply.grounding.sentences import Sentence

_BESIDE = 3
"""Most characters between "tomorrow" and its weekday."""


def is_night(value: Decimal, sentence: Sentence, places: Places) -> bool:
    """Return whether a number is a day within a stay, in a sentence about nights: "the night of the 16th"."""
    if not sentence.says("night_words"):
        return False
    days = [key[-1] for one in sentence.figures if one.kind == "date" for key in one.keys if isinstance(key[-1], int)]
    is_between = len(days) > 1 and min(days) < value < max(days)
    return is_between or any(key[0] == "stay" and key[-1] == value for key in places.by_key)


def is_weekday_of_night(claim: Figure, context: Context) -> bool:
    """Return whether a weekday is that of a night within a stay, or of the day that the word before it means."""
    sentence, places = context.sentence, context.evidence.places
    said = {key[1] for key in claim.keys}
    nights = {key[1] for key in places.by_key if key[0] == "stay of month"} if sentence.says("night_words") else set()
    beside = [day for day in in_words(sentence, context.evidence.now.date()) if 0 <= claim.start - day.end <= _BESIDE]
    return bool(said & (nights | {key[1].weekday() for day in beside for key in day.keys if isinstance(key[1], date)}))
