"""Days of a month that stand without it, as in "out on 8 April, back on the 13th": a date of the results is meant."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache

from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import words
from turnloom.planner.reply.grounding.places import Places
from turnloom.planner.reply.grounding.sentences import Sentence


def days_of_month(sentence: Sentence, inside: Sequence[Figure], places: Places) -> Iterator[Figure]:
    """Yield the days of a sentence that are named by their number alone, with the known dates that they may be.

    `inside`: the other figures and claims of the sentence, whose numbers are no days.
    """
    numbers = list(_pattern().finditer(sentence.whole, sentence.start, sentence.end))
    known = places.by_key if numbers else ()  # most sentences have none
    dates = sorted({key[1] for key in known if key[0] == "date" and isinstance(key[1], date)})
    for found in numbers:
        day, (start, end) = int(found[found.lastindex or 0]), found.span(found.lastindex or 0)
        keys = tuple(("date", one) for one in dates if one.day == day)
        if keys and not any(one.start < end and start < one.end for one in inside):
            yield Figure("date", start, end, keys)


@lru_cache
def _pattern() -> re.Pattern[str]:
    return re.compile("|".join(words()["days_of_month"]), re.IGNORECASE)
