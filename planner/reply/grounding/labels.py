"""Labelled numbers: small numbers beside a word that results have as the name of a field, in any language.

"A heart rate of 74", "3 passengers", "Seats: 6": nobody has declared what these are, but the word beside the number
is that of a field, or of a number in a text.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from turnloom.planner.reply.grounding.figures import Figure, Key

_NUMBER = re.compile(r"(?<![\d.,:/#\w+-])\d{1,3}(?:[.,]\d)?(?![\d:/%]|[.,]\d|\s?[%€$£₪])")
_WORD = r"[^\W\d_]{2,24}"
_AFTER = re.compile(rf"[ \u00a0-](?P<first>{_WORD})(?:[ -](?P<second>{_WORD}))?")
_BEFORE = re.compile(rf"(?P<first>{_WORD})(?:: ?| (?:of|is|was|are|von|ist|beträgt|de|es|est|של|הוא) )$")
_LONGEST = 36
"""Most characters before a number that are searched for its label."""
_PART = re.compile(r"[^a-zà-ÿא-ת0-9]+")
_SHORTEST = 2


def find_labelled(text: str) -> Iterator[Figure]:
    """Find small numbers with the words beside them."""
    for number in _NUMBER.finditer(text):
        before = _BEFORE.search(text, max(0, number.start() - _LONGEST), number.start())
        after = _AFTER.match(text, number.end())
        labels = [word for found in (before, after) if found for word in found.groups() if word]
        value = Decimal(number[0].replace(",", "."))
        keys: tuple[Key, ...] = tuple(("field", stem(word), value) for word in labels)
        if keys:
            yield Figure("label", number.start(), number.end(), keys)


def labels_of(key: str) -> Iterator[str]:
    """Yield the stems of the words in the name of a field."""
    parts = _PART.split(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower())
    return (stem(part) for part in parts if len(part) >= _SHORTEST)


def stem(word: str) -> str:
    """Return a word without the letters that differ between one and many."""
    plain = word.lower().replace("ä", "ae").replace("ö", "oe").replace("ü", "ue")
    return plain.rstrip("sne")[:10] or plain
