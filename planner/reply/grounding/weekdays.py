"""Find weekdays that stand without a date."""

import re
from collections.abc import Iterator

from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.lexicon import weekdays, words

_WEEKDAY = re.compile(r"(?<![^\W\d_])(?P<word>[^\W\d_]{4,})(?![^\W\d_])")
"""A word that may be a weekday; the short forms are other words too."""
_WEEKDAYS = re.compile(r"(?<![^\W\d_])(?P<first>[^\W\d_]{2,9})\.?\s?[-\u2013]\s?(?P<last>[^\W\d_]{3,9})(?![^\W\d_])")
_BEHIND_DAY = re.compile(r"(?<=יום )שני(?!\w)")
"""Monday in Hebrew, which is a number without the word for day before it."""
_PART_OF_DAY = re.compile(
    r"(?<=dag)(?:ochtend|middag|avond|morgen|nacht)$|(?<=tag)(?:(?:vor|nach)?mittag|morgen|abend|nacht)$"
)
"""What Dutch and German write as one word with a weekday."""
_ARTICLE = re.compile(r"(?<![^\W\d_])(?:la|una|las|su|tu|cada|mi)\s$", re.IGNORECASE)
"""What makes "segunda" the second one, in Spanish, and no Monday, in Portuguese."""
_LONGEST_ARTICLE = 6


def find_weekdays(text: str) -> Iterator[Figure]:
    """Find weekdays that stand without a date, and ranges of them such as "Mon-Fri"."""
    for match in _WEEKDAYS.finditer(text):
        ends = [weekdays().get(match[end].lower()) for end in ("first", "last")]
        if ends[0] and ends[1]:
            first, last = min(ends[0]), min(ends[1])
            days = tuple(("on", (first + n) % 7) for n in range((last - first) % 7 + 1))
            yield Figure("weekday", match.start(), match.end(), days)
    for match in _BEHIND_DAY.finditer(text):
        yield Figure("weekday", match.start(), match.end(), tuple(("on", number) for number in weekdays()[match[0]]))
    for match in _WEEKDAY.finditer(text):
        word = match["word"].lower()
        numbers = next((known for form in _forms(word) if (known := weekdays().get(form))), None)
        if numbers and not _is_ordinal(word, match):
            keys: tuple[Key, ...] = tuple(("on", number) for number in sorted(numbers))
            yield Figure("weekday", match.start(), match.end(), keys)


def _forms(word: str) -> Iterator[str]:
    """Yield a word, its singular, its day without the part of it, and the word without the "and" of Arabic."""
    yield from (word, word.removesuffix("s"), word.removeprefix("\u0648"))
    if part := _PART_OF_DAY.search(word):
        yield word[: part.start()]


def _is_ordinal(word: str, match: re.Match[str]) -> bool:
    begin = max(0, match.start() - _LONGEST_ARTICLE)
    return word in words()["ordinal_weekdays"] and _ARTICLE.search(match.string, begin, match.start()) is not None
