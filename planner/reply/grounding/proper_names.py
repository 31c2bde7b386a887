"""Proper names that begin or end as a known one and go on otherwise, such as a wrong surname.

Where the results have Priya Raghunathan and nobody has spoken of another Priya, "Priya Menon" is wrong. A name of
which no part is known is not sought here (`reply/unknown_names.py`). Names are words with a capital letter, so scripts
without them have none.
"""

import re
from collections.abc import Callable, Iterator

from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import months, weekdays, words
from turnloom.planner.reply.grounding.source_texts import SourceTexts, whole_words

_WORD = r"[^\W\d_]{1,40}(?:-[^\W\d_]{1,40}){0,3}"
_BLANK = "[ \u00a0]"
_PAIR = re.compile(rf"(?<![^\W_])(?P<first>{_WORD}){_BLANK}(?P<last>{_WORD})")
_NEXT = re.compile(rf"{_BLANK}(?P<word>{_WORD})")
_PREVIOUS = re.compile(rf"(?<![^\W_])(?P<word>{_WORD}){_BLANK}$")
_LONGEST_WORD = 41
_SENTENCE = re.compile(r"[^\n.!?:;|]+")
_ENDS = "\n.!?:;|-\u2022\u2013"
_MARKS = " \u00a0*_\"'\u201c\u201e\u00ab"
_SHORTEST, _LONGEST_STEM, _LONGEST_NAME = 3, 5, 60
"""Fewest letters of a part of a name, as many as tell it from others whatever its ending, and most of a line that is a
name and no sentence."""
_FEWEST_LOWER = 2
"""A line with fewer words in lower case may be a heading, in which each word begins with a capital."""


def stem_of_name(name: str) -> str:
    """Return the first letters of a name, which tell it from others whatever its ending."""
    return name[: min(_LONGEST_STEM, max(_SHORTEST, len(name) - 1))]


def altered_names(text: str, known: SourceTexts) -> Iterator[Figure]:
    """Yield the names in a text of which the evidence has one part in a name, and the other part nowhere."""
    for sentence in _SENTENCE.finditer(text):
        if sum(word.islower() for word in sentence[0].split()) < _FEWEST_LOWER:
            continue
        start = sentence.start()
        while pair := _PAIR.search(text, start, sentence.end()):
            start = pair.end("first")
            if _is_capital(pair["first"]) and _is_capital(pair["last"]) and _is_altered(pair, text, known):
                yield Figure("name", *pair.span(), ())


def _is_altered(pair: re.Match[str], text: str, known: SourceTexts) -> bool:
    first, last = pair["first"], pair["last"]
    if f"{first} {last}" in known.lines or first.casefold() in words()["titles"]:
        return False
    if _is_unknown(last, known):
        return _is_part(first, text, known.lines, _names_from)
    if _begins(pair.start(), text) or not _is_unknown(first, known):
        return False
    return _is_part(last, text, known.lines, _names_until)


def _is_part(word: str, text: str, lines: str, names: Callable[[str, str], Iterator[tuple[int, str]]]) -> bool:
    """Return whether a word is a part of a known name. One that is also written in lower case may be no name."""
    lower = word[0].lower() + word[1:]
    framed, identity = f"\n{lines}\n", f"\n{lower}\n"  # as a whole line it may be somebody's id
    is_common = any(not framed.startswith(identity, start) for start in whole_words(lower, lines))
    if len(word) < _SHORTEST or is_common or any(True for _ in whole_words(lower, text)):
        return False
    return any(_is_capital(other) and _is_name(start, lines) for start, other in names(word, lines))


def _names_from(first: str, lines: str) -> Iterator[tuple[int, str]]:
    """Yield where two words begin of which this is the first, and the other one."""
    for start in whole_words(first, lines):
        if following := _NEXT.match(lines, start + len(first)):
            yield start, following["word"]


def _names_until(last: str, lines: str) -> Iterator[tuple[int, str]]:
    """Yield where two words begin of which this is the last, and the other one."""
    for start in whole_words(last, lines):
        if previous := _PREVIOUS.search(lines, max(0, start - _LONGEST_WORD), start):
            yield previous.start(), previous["word"]


def _is_name(start: int, lines: str) -> bool:
    """Return whether two words of the evidence are a name: not where the first of them begins a sentence."""
    end = lines.find("\n", start)
    length = (end if end >= 0 else len(lines)) - lines.rfind("\n", 0, start) - 1
    return length <= _LONGEST_NAME or not _begins(start, lines)


def _begins(start: int, text: str) -> bool:
    """Return whether a sentence or a line begins at a place."""
    before = text[:start].rstrip(_MARKS)
    return not before or before[-1] in _ENDS


def _is_capital(word: str) -> bool:
    return word[0].isupper() and not word.isupper()


def _is_unknown(word: str, known: SourceTexts) -> bool:
    """Return whether no word of the evidence begins as this one. Days and months are known."""
    plain = word.casefold()
    stem = stem_of_name(plain)
    return (
        len(word) >= _SHORTEST and plain not in months() and plain not in weekdays() and not known.has_beginning(stem)
    )
