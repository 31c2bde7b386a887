"""Times when something ends: a time, or how long it still lasts, behind words such as "valid until".

"The link expires at noon" needs a result that lets something end at noon, and not just any time of the results.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal

from turnloom.planner.reply.grounding.context import Context
from turnloom.planner.reply.grounding.fields import is_of_field
from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.lexicon import search, spoken, words
from turnloom.planner.reply.grounding.sentences import Sentence

_NEAR = 48
"""Most characters between the words and the time."""
_BREAK = re.compile(r"[;:(]\s")
_MINUTE, _HOUR = 60, 60
"""Seconds, and minutes."""


def misexpired(context: Context, claimed: Iterable[Figure]) -> Iterator[Figure]:
    """Yield the first time, or length of time, behind each such word, if nothing of the results ends then."""
    sentence, now = context.sentence, context.evidence.now
    found = list(spoken(words()["date_roles"]["expire"]).finditer(sentence.whole, sentence.start, sentence.end))
    if not found or sentence.is_question or sentence.says("greenwich"):
        return
    ends = _ends(context)
    moments = [one for one in context.evidence.places.moments if _time_of(one.astimezone(now.tzinfo)) in ends]
    left = [Decimal(round((one - now).total_seconds() / _MINUTE)) for one in moments]
    times = [one for one in (*sentence.figures, *claimed) if one.kind in ("time", "duration")] if moments else []
    for match in found:
        behind = [one for one in times if match.end() <= one.start <= match.end() + _NEAR]
        first = min(behind, key=lambda one: one.start, default=None)
        if first is None or _is_rough(first, sentence.whole[match.end() : first.start], sentence):
            continue
        if ends.isdisjoint(first.keys) and not any(_lasts(key, minutes) for key in first.keys for minutes in left):
            yield first


def _is_rough(figure: Figure, between: str, sentence: Sentence) -> bool:
    """Return whether a time is rounded, or does not belong to the words before it, with some others between."""
    is_soon = any(search(soon, between) for soon in words()["soon"].values())
    return is_soon or sentence.rounding(figure) is not None or _BREAK.search(between) is not None


def _lasts(key: Key, minutes: Decimal) -> bool:
    """Return whether a length of time is so many minutes, or so many hours if it is told in hours."""
    said = key[-1]
    if key[0] != "duration" or not isinstance(said, Decimal):
        return False
    return abs(said - minutes) <= (_HOUR if said > _HOUR and said % _HOUR == 0 else 1)


def _ends(context: Context) -> set[Key]:
    """Return the times at which something of the results ends."""
    fields = words()["date_role_fields"]["expire"]
    return {
        key
        for key, found in context.evidence.places.by_key.items()
        if key[0] == "time" and any(is_of_field(place.path, fields) for place in found)
    }


def _time_of(moment: datetime) -> Key:
    return ("time", moment.hour, moment.minute)
