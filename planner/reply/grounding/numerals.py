"""Read numbers in words: a text is rewritten in digits before its figures are sought.

In: a text.  Out: the same with "two hundred and ten" as "210", and the place in the original of each character. The
words are in `numerals.yaml`. Ordinals are read beside a month only. A word beside a digit is not a number of its own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from turnloom.planner.reply.grounding.doubtful_numerals import unmistakable
from turnloom.planner.reply.grounding.kanji_numerals import east_asian
from turnloom.planner.reply.grounding.lexicon import months, weekdays, words
from turnloom.planner.reply.grounding.numeral_lists import numerals

_WORD = re.compile(r"[^\W\d_]+")
_WITH_POINT = re.compile(r"-?\d+(?:\.\d+)?")
_WITH_COMMA = re.compile(r"-?(?:\d{1,3}(?:\.\d{3})+|\d+),\d\d?")
_AROUND = "./@_:\\"
"""Signs that join a word to an address or a name of a file."""
_JOINING = frozenset({" ", "-", "\u00a0", "\u2011", "\u202f"})
_APART = "\u200a"
"""A blank that groups no digits."""
_MOST_WORDS = 4
"""Most words of a number below a hundred, such as "quatre-vingt-dix-neuf"."""
_MOST_DECIMALS = 2
_TEN = 10
_MILLION = 10**6
_LAKH, _BEYOND = 10**5, 10**9
"""The smallest scale that does not stand alone for one of it, and more than any number that is read."""
_COINS = "cents"
_NO_HUNDRED = re.compile("(?:per|pour|por|you a|cost a) ci?ent")
_CENTS = frozenset({"cent", _COINS})
"""A hundred in French, behind a number below ten. "Seventy cents" are coins."""
_SHORTEST_COMPOUND = 8
_AND = ("\u05d5", "\u0648")
"""The Hebrew and the Arabic "and", which are written as one word with the next one."""
_THE = "\u05d4"
_PREPOSITIONS = ("\u05dc", "\u05d1", "\u05de", "\u05db", "\u0644", "\u0628")
"""Those for "for", "in", "from" and "about", which are written so too."""


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int
    is_joined: bool
    """Whether only a blank or a hyphen is between it and the word before."""


def in_digits(text: str) -> tuple[str, list[int]]:
    """Return a text with its numbers in digits, and the place in the original of each character and of the end."""
    pieces: list[str] = []
    places: list[int] = []
    end = 0
    for start, after, number in sorted([*_spelled(text), *east_asian(text)]):
        is_next = bool(pieces) and text[end:start] == " "  # "under twelve four hundred" has two numbers
        is_behind_letter = text[start - 1 : start] in (*_AND, *_PREPOSITIONS)
        digits = f"{_APART}{number}" if is_next else f"-{number}" if start and is_behind_letter else number
        pieces += (text[end:start], digits)
        places += [*range(end, start), *[start] * len(digits)]
        end = after
    return "".join([*pieces, text[end:]]), [*places, *range(end, len(text) + 1)]


def _spelled(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the digits of each number in words."""
    known = numerals()
    found = list(_words(text))
    place = 0
    while place < len(found):
        word = found[place].text
        is_possible = (word in known.starts and word != _COINS) or len(word) >= _SHORTEST_COMPOUND
        is_ordinal = (read := _ordinal(found, place) if is_possible else None) is not None
        read = read or (_cardinal(found, place) if is_possible else None)
        if read is None:
            place += 1
            continue
        after, value = read
        after, decimals = _decimals(found, after)
        if value % _MILLION == 0 and (more := _half_more(found, after)):
            after, value = more, value + _MILLION // 2
        if _stands_alone(text, found[place].start, found[after - 1].end):
            ending = "th" if is_ordinal and _is_day(found, place, after) else ""
            yield found[place].start, found[after - 1].end, f"{value}{decimals}{ending}"
        place = after


def _words(text: str) -> Iterator[_Word]:
    end, before = -1, ""
    matches = list(_WORD.finditer(text))
    for place, match in enumerate(matches, 1):
        is_joined = match.start() == end + 1 and text[end] in _JOINING
        after = matches[place][0].lower() if place < len(matches) else ""
        word = unmistakable(before, match[0].lower(), after)
        if _begins_after_letter(before, word, after):
            word = word[1:]
            yield _Word(word, match.start() + 1, match.end(), is_joined=False)
        else:
            is_day = word in words()["numeral_weekdays"] and before in words()["before_numeral_weekdays"]
            yield _Word("" if is_day else word, match.start(), match.end(), is_joined)
        end, before = match.end(), word


def _begins_after_letter(before: str, word: str, after: str) -> bool:
    """Return whether a number begins behind a letter that is written as one word with it, and goes on with none before.

    It does behind "and" in Hebrew's and Arabic's "an hour and twenty minutes", and behind the letters for "and", "for"
    or "from" before Hebrew's and Arabic's plurals: "for two children".
    """
    known = numerals()
    if not (word.startswith((*_AND, *_PREPOSITIONS)) and word[1:] in known.starts):
        return False
    is_plural = after.endswith(tuple(words()["plural_endings"])) and not after.startswith(_THE)
    is_apart = is_plural and known.parts.isdisjoint({before, before[1:]})
    return is_apart or (word.startswith(_AND) and before in words()["hours_before_and"])


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Return whether no digit, and no sign of an address, is beside a number."""
    before, after = text[max(0, start - 7) : start], text[end : end + 2]
    if text[start:end] == "Ten" and text[end:].startswith((" en ", " presente", " cuidado")):
        return False  # "keep in mind", in Spanish
    if text[start:end].lower() in months() and before.rstrip(". ")[-1:].isdigit():
        return False  # "26. Sept." is no seven
    if _NO_HUNDRED.search(text[max(0, start - 7) : end].lower()):
        return False  # "per cent", and "it won't cost you a cent"
    if before[-2:].strip()[-1:].isdigit() or after.lstrip(" \u00a0")[:1].isdigit():
        return False
    is_address = after[:1] in tuple(_AROUND) and after[1:2].isalnum()
    return not is_address and not (before[-1:] in tuple(_AROUND) and before[-2:-1].isalnum())


def _cardinal(found: list[_Word], place: int) -> tuple[int, int] | None:
    """Return the place after a number and its value; None if there is no number here."""
    total, current, start, scale = 0, 0, place, _BEYOND
    while place < len(found):
        if place > start and not found[place].is_joined:
            break
        at = _after_joint(found, place) if current >= 100 or total else place
        length, value = _phrase(found, at, is_inside=place > start)
        if not length:
            break
        if value >= 1000:
            if value >= scale or (value >= _LAKH and not current and length == 1):
                break
            total, current, scale = total + max(current, 1) * value, 0, value
        elif value == 100 and 0 < current < (_TEN if found[at].text in _CENTS else 100):
            current *= 100
        elif (value >= 100 and current) or current % 100:
            break
        else:
            current += value
        place = at + length
    return (place, total + current) if total + current else None


def _decimals(found: list[_Word], place: int) -> tuple[int, str]:
    """Return the place after "point nine" and ".9"; the same place and nothing if there are no decimals."""
    known = numerals()
    digits = ""
    if place < len(found) and found[place].is_joined and found[place].text in known.points:
        for word in found[place + 1 : place + 1 + _MOST_DECIMALS]:
            value = known.cardinals.get((word.text,), _TEN) if word.is_joined else _TEN
            if value >= _TEN:
                break
            digits += str(value)
    return (place + 1 + len(digits), f".{digits}") if digits else (place, "")


def _half_more(found: list[_Word], place: int) -> int:
    """Return the place after "and a half" behind millions; 0 if it is not there."""
    for length in (2, 3):
        row = found[place : place + length]
        said = " ".join(word.text for word in row)
        if len(row) == length and all(word.is_joined for word in row) and _half().fullmatch(said):
            return place + length
    return 0


@lru_cache
def _half() -> re.Pattern[str]:
    return re.compile(words()["half_more"])


def _after_joint(found: list[_Word], place: int) -> int:
    is_joint = found[place].text in numerals().joints
    return place + 1 if is_joint and place + 1 < len(found) and found[place + 1].is_joined else place


def _phrase(found: list[_Word], place: int, *, is_inside: bool) -> tuple[int, int]:
    """Return the number of words of the longest part of a number here, and its value; zeros if there is none."""
    known = numerals()
    row = [found[place].text]
    for word in found[place + 1 : place + _MOST_WORDS]:
        if not word.is_joined:
            break
        row.append(word.text)
    if is_inside and row[0].startswith(_AND):
        row[0] = row[0][1:]
    for length in range(len(row), 0, -1):
        value = known.cardinals.get(tuple(row[:length]))
        if value is not None:
            return length, value
    if is_inside and row[0] in words()["ones"]:
        return 1, 1
    return (1, value) if (value := _compound(row[0])) else (0, 0)


def _compound(word: str) -> int:
    """Return the value of a number that is written as one word, such as "fünfhundertvierzig"; 0 if it is none."""
    known = numerals()
    value = 0
    while len(word) >= _SHORTEST_COMPOUND:
        head = known.head.match(word)
        if head is None or (value and known.heads[head[0]] >= value):
            break
        value, word = value + known.heads[head[0]], word[head.end() :]
    rest = known.cardinals.get((word.removeprefix("und"),)) if word else 0
    return value + rest if value and rest is not None and rest < 1000 else 0


def _ordinal(found: list[_Word], place: int) -> tuple[int, int] | None:
    """Read an ordinal if a month follows it, as in "fourth of May", or a day is meant, as in "until the fourth"."""
    known, of = numerals(), words()["month_joints"]
    for length in (2, 1):
        row = found[place : place + length]
        value = known.ordinals.get(tuple(word.text for word in row))
        after = place + length
        if value is None or len(row) < length or not all(word.is_joined for word in row[1:]):
            continue
        after += after < len(found) and found[after].text in of
        if after < len(found) and found[after].is_joined and found[after].text in months():
            return place + length, value
        if _is_behind_weekday(found, place) or _is_day(found, place, after):
            return place + length, value
    return None


def _is_behind_weekday(found: list[_Word], place: int) -> bool:
    """Return whether a weekday and an article stand before a word, as in "Monday the sixteenth"."""
    if place < 2 or found[place - 1].text not in words()["articles"]:
        return False
    return found[place - 2].text in weekdays()


def _is_day(found: list[_Word], place: int, after: int) -> bool:
    """Return whether an ordinal is a day: "on the twenty-seventh", with no word behind it that it could belong to."""
    if place < 2 or found[place - 1].text != "the" or found[place - 2].text not in words()["before_days"]:
        return False
    return after >= len(found) or not found[after].is_joined or found[after].text in words()["behind_days"]


def number_of(text: str) -> Decimal | None:
    """Return the number that a text is, "12.5" or as most of Europe writes it "1.234,50"; None if it is none."""
    if _WITH_POINT.fullmatch(text):
        return Decimal(text)
    return Decimal(text.replace(".", "").replace(",", ".")) if _WITH_COMMA.fullmatch(text) else None


def decimal_of(value: Any) -> Decimal | None:
    """Return the number that a value of a result is, also one written as "34.50"; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
