"""Labelled numbers: small numbers beside a word that results have as the name of a field, in any language.

"A heart rate of 74", "3 passengers", "Seats: 6": nobody has declared what these are, but the word beside the number
is that of a field, or of a number in a text.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from unicodedata import combining, normalize

from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.lexicon import spoken, words

_NUMBER = re.compile(r"(?<![\d.,:/#\w+-])(?<!\d[ \u00a0\u202f])\d{1,3}(?:[.,]\d)?(?![\d:/%]|[.,]\d|\s?[%€$£₪])")
_WORD = r"[^\W\d_]{2,24}"
_AFTER = re.compile(rf"[ \u00a0-](?P<first>{_WORD})(?:[ -](?P<second>{_WORD}))?")
_BEFORE = re.compile(rf"(?P<first>{_WORD})(?:: ?| (?:of|is|was|are|von|ist|beträgt|de|es|est|של|הוא) )$")
_LONGEST = 36
"""Most characters before a number that are searched for its label."""
_TEXT_WORD = re.compile(r"[^\W\d_\u2e80-\uffef]{3,}")
_RUN = re.compile(r"[\u30a0-\u30ff\u3400-\u9fff]{2,}")
PREFIX = re.compile(r"^(?:[והבלמשכ]{1,2}(?=[א-ת]{3})|(?:[وفبلك]?ال|[وفبلك])(?=[\u0621-\u064a]{3}))")
"""What Hebrew and Arabic write together with a name: and, the, in, to, from, that, as."""
_PART = re.compile(r"[^a-zà-ÿא-ת0-9]+")
_LONGEST_LIST = 160
"""Most characters behind a word for ratings that are searched for them."""
_SHORTEST = 2
_AROUND = 60


def find_labelled(text: str) -> Iterator[Figure]:
    """Find small numbers with the words beside them."""
    for number in _NUMBER.finditer(text):
        before = _BEFORE.search(text, max(0, number.start() - _LONGEST), number.start())
        after = _AFTER.match(text, number.end())
        labels = [word for found in (before, after) if found for word in _naming(found)]
        value = Decimal(number[0].replace(",", "."))
        keys: tuple[Key, ...] = tuple(("field", stem(word), value) for word in labels)
        if keys and value != 1:  # "the red one is out of stock"
            yield Figure("label", number.start(), number.end(), keys)


def find_rated(text: str) -> Iterator[Figure]:
    """Find ratings such as 4.7 behind a word that says what they are: one, or those of a list, in its line or below."""
    for word in _rated().finditer(text):
        behind = text[word.end() : word.end() + _LONGEST_LIST]
        line = behind.partition("\n")[0]
        listed = behind.partition("\n\n")[0] if line.rstrip().endswith(":") else line
        for number in _rating().finditer(text, word.end(), word.end() + len(listed)):
            value = Decimal(number[0].replace(",", "."))
            yield Figure("number", number.start(), number.end(), (("number", value),))


@lru_cache
def _rated() -> re.Pattern[str]:
    return spoken(words()["rated"])


@lru_cache
def _rating() -> re.Pattern[str]:
    """Return the pattern of a number with one decimal that no unit follows."""
    unit = rf"(?:{words()['units_of_measure']})(?![^\W\d_])"
    return re.compile(rf"(?<![\d.,:/#+$€£₪-])\d[.,]\d(?![\d:%]|[.,]\d|\s?[%€$£₪]|\s?{unit})", re.IGNORECASE)


def _naming(found: re.Match[str]) -> Iterator[str]:
    """Yield the words beside a number up to one that names nothing, such as "of"."""
    for word in found.groups():
        if not word or word.lower() in _function_words():
            return
        yield word


@lru_cache
def _function_words() -> frozenset[str]:
    return frozenset(words()["function_words"])


@lru_cache(maxsize=2048)
def labels_of(key: str) -> tuple[str, ...]:
    """Return the stems of the words in the name of a field."""
    parts = _PART.split(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower())
    return tuple(stem(part) for part in parts if len(part) >= _SHORTEST)


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words in a text, and the pairs of signs in scripts that put no blanks between words."""
    return frozenset().union(*stems_of_words(text))


def stems_of_words(text: str) -> Iterator[frozenset[str]]:
    """Yield the stems of each word of a text, and the pairs of signs of each run that has no blanks between words."""
    yield from (frozenset(_forms(match[0])) for match in _TEXT_WORD.finditer(text))
    yield from (frozenset(run[n : n + 2] for n in range(len(run) - 1)) for run in _RUN.findall(text))


def beside(text: str, start: int, end: int) -> str:
    """Return the words around a place of a text, in its line."""
    before = text[max(0, start - _AROUND) : start].rpartition("\n")[2]
    return f"{before} {text[end : end + _AROUND].partition(chr(10))[0]}"


def _forms(word: str) -> Iterator[str]:
    yield stem(word)
    if prefix := PREFIX.match(word):
        yield from (stem(word[length:]) for length in range(1, len(prefix[0]) + 1))


def text_words(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the words of a text with their places."""
    return ((match.start(), match.end(), match[0]) for match in _TEXT_WORD.finditer(text))


@lru_cache(maxsize=512)
def without_accents(text: str) -> str:
    """Return a text without the accents of its letters."""
    return text if text.isascii() else "".join(sign for sign in normalize("NFD", text) if not combining(sign))


@lru_cache(maxsize=512)
def without_umlauts(text: str) -> str:
    """Return a text as German writes it where there are no umlauts."""
    return text if text.isascii() else text.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue").replace("ß", "ss")


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a word without the letters that differ between one and many."""
    plain = without_accents(without_umlauts(word.lower()))
    return plain.rstrip("sne")[:10] or plain
