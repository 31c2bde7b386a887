"""Find counts with their unit, and durations: 3 nights, 4 stars, 2 rooms left, 3 h 45 min."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.lexicon import either, in_lower_case, spoken, words
from turnloom.planner.reply.grounding.numerals import in_digits

_SMALL = re.compile(r"(?<![\d.,:/-])\d{1,2}(?![\d.,:/]\d|\d|\s?[%€$₪£])")
_FEWEST_SMALL = 4
_AND = "(?:and|und|y|et|e|en|i)"
_JOINT = rf"[\s,]{{0,2}}(?:(?:{_AND}|con|com)\s|[\u05d5\u0648]-?)?"
_END = r"(?:(?![^\W\d_])|(?-i:(?<=[\u2e80-\uffef])))"
"""The end of a word. Scripts of East Asia put no blanks between words."""
_RUNS = re.compile(r"(?<!\d)\d{1,3}(?!\d)")
_BEGIN = re.compile(r"(?<![\d.,:/#])\d")
"""The begin of a number that may have a unit."""
_LIST_NUMBER = re.compile(r"[.)]\s")
_HEADING = re.compile(
    r"^[^\w\n]{0,6}(?P<before>(?:[^\W\d_]{1,12}\s)?)(?P<value>\d{1,2})(?!\d)(?P<after>.{0,2})", re.MULTILINE
)
"""The begin of a line with a number in it, such as "Day 7 (Sunday)"."""
_NUMBER = (
    r"(?<![\d.,:/#])(?-i:(?<![^\W\u2e80-\uffef]))(?<!\d[ \u00a0\u202f])(?P<value>\d{1,4}(?:[.,]\d{1,2})?)(?![\d:/])"
)


def find_counts(text: str) -> Iterator[Figure]:
    """Find numbers with a unit of `words.yaml`."""
    begins = [match.start() for match in _BEGIN.finditer(text)]
    for unit, pattern in _patterns().items() if begins else ():
        for match in _matches(pattern, text, begins):
            # In "rose from 31 to 49 m³" the first number may stand anywhere; temperatures are ranges of one thing.
            for part in ("first", "value") if match["first"] and unit == "degree" else ("value",):
                value = Decimal(match[part].replace(",", "."))
                end = match.end() if part == "value" else match.end(part)
                yield Figure("count", match.start(part), end, (("count", unit, value),))


def _matches(pattern: re.Pattern[str], text: str, begins: list[int]) -> Iterator[re.Match[str]]:
    """Yield the matches that begin at one of some places: looking only there costs a tenth of looking everywhere."""
    end = 0
    for begin in begins:
        match = pattern.match(text, begin) if begin >= end else None
        if match is not None:
            yield match
            end = match.end()


def find_left(text: str) -> Iterator[Figure]:
    """Find how many of a thing are left by the words before the number, such as "only two Garden Rooms"."""
    for match in _left().finditer(text):
        yield Figure("count", *match.span("value"), (("count", "left", Decimal(match["value"])),))


@lru_cache
def _left() -> re.Pattern[str]:
    known = words()
    units = [unit["words"] for name, unit in known["units"].items() if name != "left"]
    lengths = [known["durations"][name]["words"] for name in ("hour", "minute")]
    others = "|".join((*units, *lengths, *known["currency_words"], known["percent"]))
    return re.compile(
        rf"(?<![^\W\d_])(?:{known['left_before_count']})\s?(?P<value>[2-9]|[1-9]\d)(?![\d:/]|[.,]\d)"
        rf"(?!\s?[^\w\s,.;]|[\s-]?(?:{others}){_END})",
        re.IGNORECASE,
    )


def find_found(text: str) -> Iterator[Figure]:
    """Find how many things a text says to have found, such as "I found four cars"."""
    for match in _found().finditer(text):
        if not any(pattern.match(text, match.start("value")) for pattern in _patterns().values()):
            yield Figure("found", match.start("value"), match.end("value"), (("found", Decimal(match["value"])),))


@lru_cache
def _found() -> re.Pattern[str]:
    return re.compile(
        rf"(?<![^\W\d_])(?:{words()['found']})(?: [^\W\d_]+){{0,3}}? (?P<value>[2-9]|[1-3]\d)(?= [^\W\d_]{{3,}})",
        re.IGNORECASE,
    )


def find_durations(text: str) -> Iterator[Figure]:
    """Find lengths of time in hours and minutes."""
    for match in _hour_and_minutes().finditer(text):
        hours = Decimal(120 if match["two"] else 60)
        minutes = hours + Decimal(match["minutes"] or match["bare"])
        yield Figure("duration", match.start(), match.end(), (("duration", minutes),))
    for match in _phrases().finditer(text):
        minutes = words()["duration_phrases"][in_lower_case(match[0])]
        yield Figure("duration", match.start(), match.end(), (("duration", Decimal(minutes)),))
    for pattern in _durations():
        for match in pattern.finditer(text):
            found = match.groupdict()
            hours, minutes = (Decimal((found.get(part) or "0").replace(",", ".")) for part in ("hours", "minutes"))
            after = Decimal(found.get("bare") or _part_of_hour(found.get("part") or found.get("half_more")))
            keys: tuple[Key, ...] = (("duration", hours * 60 + minutes + after),)
            # "07h30" may be a time of day too.
            is_time = bool(found.get("bare") or found.get("of_day")) and hours < 24 and hours == int(hours)
            keys += (("time", int(hours), int(after)),) if is_time else ()
            yield Figure("duration", match.start(), match.end(), keys)


def _part_of_hour(written: str | None) -> int:
    """Return the minutes of a part of an hour, such as "and a quarter"; half an hour if it is a sign, as in 2½."""
    known = words()["durations"]["parts"].items()
    return next((part for part, spelt in known if spoken(spelt).search(written)), 30) if written else 0


def find_small(text: str) -> Iterator[Figure]:
    """Find the small numbers that a text cannot count itself: 4 to 99, but not those that number a list."""
    counted = set(_numbering(text))
    for match in _SMALL.finditer(text):
        value = Decimal(match[0])
        if value >= _FEWEST_SMALL and match.start() not in counted and not _LIST_NUMBER.match(text, match.end()):
            yield Figure("small", match.start(), match.end(), (("small", value),))


def _numbering(text: str) -> Iterator[int]:
    """Yield where the numbers stand that lines such as "Day 1", "Day 2" count on from one."""
    following: dict[tuple[str, str], int] = {}
    for match in _HEADING.finditer(text):
        line = match["before"], match["after"]
        if int(match["value"]) == following.get(line, 1):
            following[line] = int(match["value"]) + 1
            yield match.start("value")


def small_numbers(text: str) -> set[Decimal]:
    """Return the numbers below a hundred that stand alone in a text, and those that a period stands for."""
    spelt = {**words()["periods"], **words()["groups"]}
    periods = (number for pattern, number in spelt.items() if spoken(pattern).search(text))
    return {Decimal(match[0]) for match in _SMALL.finditer(text)} | {Decimal(number) for number in periods}


def runs(text: str) -> set[Decimal]:
    """Return the numbers of up to three digits that a text has anywhere."""
    return {Decimal(run) for run in _RUNS.findall(in_digits(text)[0])}


def fractions(text: str) -> list[Key]:
    """Return the percentages that words such as "a quarter" stand for."""
    known = words()["fractions"].items()
    return [("percent", Decimal(100) / part) for word, part in known if spoken(word).search(text)]


@lru_cache
def _patterns() -> dict[str, re.Pattern[str]]:
    joints = either(map(re.escape, [*words()["range_joints"], *words()["list_joints"]]))
    start = r"(?<!\d['\u2019])(?:(?<![\d.,:/#])(?-i:(?<![^\W\u2e80-\uffef]))"
    first = rf"{start}(?P<first>\d{{1,3}}(?:[.,]\d{{1,2}})?) ?(?:{joints}) ?)?"
    return {
        unit: re.compile(rf"{first}{_NUMBER}[\s\u00a0-]?(?:{read['words']}){_END}", re.IGNORECASE)
        for unit, read in words()["units"].items()
    }


@lru_cache
def _durations() -> tuple[re.Pattern[str], ...]:
    hour, parts, minutes = words()["durations"]["hour"]["words"], words()["durations"]["parts"].values(), _minutes()
    hours = r"(?<![\d.,:/])(?-i:(?<![^\W\u2e80-\uffef]))(?P<hours>\d{1,3}(?:[.,]\d)?)"
    return (
        re.compile(rf"{hours}(?:時間|시간)(?P<part>半|반)"),
        re.compile(rf"{hours}\s?h\s?(?P<bare>[0-5]\d)(?!\d)", re.IGNORECASE),
        re.compile(
            rf"(?:{hours}\s(?:hours|heures|horas|ore|stunden|uur))\s(?:{_AND}\s)?(?P<bare>[0-5]\d)"
            rf"(?=\s?[.,;)](?!\d)|$|\s{_AND}\s(?!\d))",
            re.IGNORECASE,
        ),
        re.compile(rf"{hours}\s?(?P<of_day>h)(?![^\W_])(?!\s\d)", re.IGNORECASE),
        re.compile(
            rf"{hours}(?P<half_more>(?: and a half|½))?[\s-]?(?:{hour}){_END}"
            rf"(?:{_JOINT}{minutes}|(?P<part> (?:{'|'.join(parts)})){_END})?",
            re.IGNORECASE,
        ),
        re.compile(rf"(?<![\d.,:/])(?-i:(?<![^\W\u2e80-\uffef])){minutes}", re.IGNORECASE),
        re.compile(r"\bPT(?=\d)(?:(?P<hours>\d{1,3})H)?(?:(?P<minutes>\d{1,3})M)?\b"),
    )


def _minutes() -> str:
    return rf"(?P<minutes>\d{{1,3}})[\s-]?(?:{words()['durations']['minute']['words']}){_END}"


@lru_cache
def _hour_and_minutes() -> re.Pattern[str]:
    known = words()["durations"]
    hours = rf"(?<!\w)(?:(?P<two>{known['two_hours']})|{known['one_hour']})"
    bare = rf"\s(?:{_AND}\s)?(?P<bare>[1-5]\d)(?=\s?[.,;)](?!\d)|$|\s{_AND}\s(?!\d))"
    return re.compile(rf"{hours}(?:{_JOINT}{_minutes()}|{bare})", re.IGNORECASE)


@lru_cache
def _phrases() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?<!\0 )(?:{either(words()['duration_phrases'])})(?!\w)", re.IGNORECASE)
