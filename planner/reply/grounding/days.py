"""Find dates: ISO, numeric in either order, and with names of months in several languages.

A day without a year means that day in whatever year a source has it. A weekday beside a date must be right.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache

from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.lexicon import either, months, months_of_years, weekdays, words
from turnloom.planner.reply.grounding.times import time_keys

_ISO = re.compile(
    r"(?<!\d)(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?!\d)"
    r"(?:[T ](?P<hour>\d{2}):(?P<minute>\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
)
_NUMERIC = re.compile(
    r"(?<![\d./])(?P<a>\d{1,2})(?P<mark>[./-])(?P<b>\d{1,2})(?P=mark)(?P<year>\d{4}|\d{2})(?!\d|[./]\d)"
)
_ISO_MONTH = re.compile(r"(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])")
_CJK = re.compile(r"(?:(?P<year>\d{4})\s?[年년]\s?)?(?P<month>\d{1,2})\s?[月월]\s?(?P<day>\d{1,2})\s?[日일]")
_CJK_WEEKDAY = re.compile(
    r"(?<![\d\u6708\uc6d4./])(?P<day>\d{1,2})\s?[\u65e5\uc77c]\s?[(\uff08](?P<word>[\u6708\u706b\u6c34\u6728\u91d1\u571f\u65e5\uc6d4\ud654\uc218\ubaa9\uae08\ud1a0\uc77c])"
)
"""A day of the month with its weekday in brackets, behind a date with its month."""
_ORDINAL = re.compile(
    r"\b(?:on|from|until|till|to|through|by) the (?P<day>\d{1,2})(?:st|nd|rd|th)\b"
    r"(?!\s(?!(?:to|until|till|through|and)\b)[^\W\d_])"
)
_ON_WEEKDAY = re.compile(
    r"(?<![^\W\d_])(?P<word>[^\W\d_]{4,12})(?:-feira)?,? (?:(?:the|dem|den|der|el|le|dia|día) )?"
    r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
    r"(?=[,;!?)](?!\d)|\.?(?:\s?$|\n)|\.\s"
    r"|\s(?:at|a las|al|au|um|à|e|to|tot|até|until|bis|and|und|y|o|or|oder|from|ab|starting)\b)",
    re.IGNORECASE | re.MULTILINE,
)
"""A weekday and a day of the month, such as "Friday the 11th"."""
_UP_TO_TIME = re.compile(r",?\s?(?:to|until|till|bis|-|\u2013)\s?\d{1,2}(?:[.:h]\d\d|\s?[ap]\.?m)", re.IGNORECASE)
"""What makes a number an hour: "Thursday, 11 to 11.45 am"."""
_WEEKDAY_ORDINAL = re.compile(r"(?<![^\W\d_])(?P<word>[^\W\d_]{4,12}),? the (?P<day>\d{1,2})(?:st|nd|rd|th)\b")
_USUAL_FRACTIONS = frozenset({"24/7", "1/2", "1/3", "2/3", "1/4", "3/4"})
_WORD_BEFORE = re.compile(
    r"(?<![^\W\d_])(?P<word>[^\W\d_]{2,})(?:-feira)?[.,]?\s\(?(?:(?:the|dem|den|der|el|le|il|o|de|dia|día)\s)?$"
)
_WEEKDAY_AFTER = re.compile(
    r"(?:\s?[(\uff08]|,\s(?:an?|une?|ein)\s)(?P<word>[^\W\d_]{3,}|[月火水木金土日월화수목금토일])(?![^\W\d_]|-feira)"
)
_DATE_AFTER = re.compile(r"[.,]{0,2}\s\d{1,2}\.?\s[^\W\d_]{3}")
_LONGEST_WORD = 24
_BESIDE_DATES: dict[str, frozenset[int]] = {
    word: frozenset({number})
    for words_of in ("月火水木金土日", "월화수목금토일", ("שני", "שלישי", "רביעי", "חמישי", "שישי", "שבת", "ראשון"))
    for number, word in enumerate(words_of)
} | {f"{day}曜{end}": frozenset({number}) for number, day in enumerate("月火水木金土日") for end in ("", "日")}
"""Words that are weekdays beside a date only; Monday is 0."""


@dataclass(frozen=True, slots=True)
class _Patterns:
    day_first: re.Pattern[str]
    """`12-14 December 2026`"""
    month_first: re.Pattern[str]
    """`December 12-14, 2026`"""
    month: re.Pattern[str]
    """`December 2026`"""
    short: re.Pattern[str]
    """`5/12` and `5.12.`"""


def find_days(text: str) -> Iterator[Figure]:
    """Find dates, and the times that belong to them."""
    patterns = _patterns()
    scans = (
        (_ISO, _iso),
        (_NUMERIC, _numeric),
        (_CJK, _cjk),
        (patterns.day_first, _named),
        (patterns.month_first, _named),
        (patterns.month, _whole_month),
        (patterns.short, _short),
        (_ORDINAL, _ordinal),
        (_ON_WEEKDAY, _weekday_of_month),
        (_WEEKDAY_ORDINAL, _weekday_of_month),
        (_CJK_WEEKDAY, _weekday_of_month),
    )
    for pattern, read in scans:
        for match in pattern.finditer(text):
            yield from read(match, text)


def implied(day: date) -> tuple[Key, ...]:
    """Return every key by which a full date can be found."""
    return (
        ("date", day),
        ("day", day.month, day.day),
        ("weekday", day.weekday(), day.month, day.day),
        ("month", day.year, day.month),
        ("day of month", day.day),
        ("weekday of month", day.weekday(), day.day),
        ("on", day.weekday()),
        ("number", Decimal(day.year)),
    )


def staying(day: date) -> tuple[Key, ...]:
    """Return the keys of a day within a stay."""
    return (
        ("stay", day),
        ("stay", day.month, day.day),
        ("stay", day.weekday(), day.month, day.day),
        ("stay of month", day.weekday(), day.day),
    )


def iso_day(text: str) -> date | None:
    """Return the day that an ISO date names; None for any other text."""
    if not (len(text) == 10 and text[4] == text[7] == "-"):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def iso_month(text: str) -> tuple[int, int] | None:
    """Return the year and the month that a text such as 2027-04 names; None for any other text."""
    match = _ISO_MONTH.fullmatch(text)
    return (int(match["year"]), int(match["month"])) if match else None


def iso_moment(text: str) -> datetime | None:
    """Return the moment that an ISO date and time with a time zone names; None for any other text."""
    if not (16 < len(text) < 40 and text[4] == "-"):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def coming(month: int, day: int, today: date) -> date | None:
    """Return the next such day from today on; None if neither this year nor the next has one."""
    for year in (today.year, today.year + 1):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found >= today:
            return found
    return None


def _iso(match: re.Match[str], _text: str) -> Iterator[Figure]:
    keys = _dates([(match["month"], match["day"])], match["year"])
    if keys and match["hour"]:
        yield Figure("date", match.start(), match.start("hour") - 1, keys)
        yield Figure("time", match.start("hour"), match.end(), time_keys(match["hour"], match["minute"], None))
    elif keys:
        yield Figure("date", match.start(), match.end(), keys)


def _numeric(match: re.Match[str], text: str) -> Iterator[Figure]:
    year = match["year"] if len(match["year"]) == 4 else f"20{match['year']}"
    keys = _dates([(match["b"], match["a"]), (match["a"], match["b"])], year)
    if keys:
        yield Figure("date", match.start(), match.end(), _on_weekday(keys, match, text))


def _cjk(match: re.Match[str], text: str) -> Iterator[Figure]:
    keys = _dates([(match["month"], match["day"])], match["year"])
    if keys:
        yield Figure("date", match.start(), match.end(), _on_weekday(keys, match, text))


def _named(match: re.Match[str], text: str) -> Iterator[Figure]:
    """Read the days before or after a month's name. Each day needs a source of its own."""
    names = months_of_years() if match["year"] else months()
    numbers = names.get(match["month"].lower())
    if numbers is None or _is_weekday(match, text):
        return
    days = list(re.finditer(r"\d+", match["days"]))
    before = _WORD_BEFORE.search(text, max(0, match.start() - _LONGEST_WORD), match.start())
    if before and before["word"].lower() in months() and len(days) > 1:
        del days[0]  # in "November 4 to 6 December" the 4 is November's
    elif before and before["word"].lower() in words()["numbered"] and len(days) > 1:
        del days[0]  # so is the 1 that of the day in "Day 1 \u2013 10 December"
    for number, day in enumerate(days):
        keys = _dates([(str(month), day[0]) for month in sorted(numbers)], match["year"])
        start = match.start("days") + day.start() if match["days"][: day.start()] else match.start()
        end = match.end() if number == len(days) - 1 else match.start("days") + day.end()
        keys = keys if number else _on_weekday(keys, match, text)
        yield Figure("date", start, end, keys, shown=match.span())


def _is_weekday(match: re.Match[str], text: str) -> bool:
    """Return whether the month is a weekday with its date behind it: in "1. mar, 1 dic 2026" it is Tuesday."""
    return match["month"].lower() in weekdays() and _DATE_AFTER.match(text, match.end()) is not None


def _whole_month(match: re.Match[str], _text: str) -> Iterator[Figure]:
    numbers = months().get(match["month"].lower())
    if numbers is not None:
        keys = tuple(("month", int(match["year"]), month) for month in sorted(numbers))
        yield Figure("date", match.start(), match.end(), keys)


def _short(match: re.Match[str], text: str) -> Iterator[Figure]:
    keys = _dates([(match["b"], match["a"]), (match["a"], match["b"])], None)
    if match["mark"] == ".":
        is_date = match[0].endswith(".") and _opens_date(text, match.start())
    else:
        is_date = match[0] not in _USUAL_FRACTIONS
    if keys and is_date:
        yield Figure("date", match.start(), match.end(), _on_weekday(keys, match, text))


def _opens_date(text: str, end: int) -> bool:
    """Return whether a word that introduces a date ends here."""
    before = _WORD_BEFORE.search(text, max(0, end - _LONGEST_WORD), end)
    word = before["word"].lower() if before else ""
    return word in weekdays() or word in words()["day_openings"]


def _ordinal(match: re.Match[str], _text: str) -> Iterator[Figure]:
    if 1 <= int(match["day"]) <= 31:
        yield Figure("date", match.start("day"), match.end(), (("day of month", int(match["day"])),))


def _weekday_of_month(match: re.Match[str], _text: str) -> Iterator[Figure]:
    numbers = weekdays().get(match["word"].lower()) or _BESIDE_DATES.get(match["word"], frozenset())
    if numbers and 1 <= int(match["day"]) <= 31 and not _UP_TO_TIME.match(match.string, match.end("day")):
        keys = tuple(("weekday of month", number, int(match["day"])) for number in sorted(numbers))
        yield Figure("date", match.start(), match.end("day"), keys)


def _dates(readings: list[tuple[str, str]], year: str | None) -> tuple[Key, ...]:
    """Return the keys of a date with these readings (month, day). A reading that is not a date is dropped."""
    keys: list[Key] = []
    for month, day in readings:
        try:
            read = date(int(year or 2000), int(month), int(day))  # 2000 is a leap year, for dates without a year
        except ValueError:
            continue
        keys.append(("date", read) if year else ("day", read.month, read.day))
    return tuple(dict.fromkeys(keys))


def _on_weekday(keys: tuple[Key, ...], match: re.Match[str], text: str) -> tuple[Key, ...]:
    """Keep the keys that fall on the weekday beside the date, if there is one."""
    before = _WORD_BEFORE.search(text, max(0, match.start() - _LONGEST_WORD), match.start())
    after = _WEEKDAY_AFTER.match(text, match.end())
    beside = [found["word"].lower() for found in (before, after) if found]
    known = weekdays() | _BESIDE_DATES
    named = next((known[word] for word in beside if word in known), None)
    if named is None:
        return keys
    kept: list[Key] = []
    for wanted in sorted(named):
        for key in keys:
            if key[0] == "day":
                kept.append(("weekday", wanted, *key[1:]))
            elif isinstance(key[1], date) and key[1].weekday() == wanted:
                kept.append(key)
    return tuple(kept)


@lru_cache
def _patterns() -> _Patterns:
    lexicon = words()
    of, joint, list_joint = (either(map(re.escape, lexicon[f"{kind}_joints"])) for kind in ("month", "range", "list"))
    year = r"(?P<year>(?:19|20)\d\d)(?!\d)"
    number = r"\d{1,2}(?:st|nd|rd|th|er|º)?(?!\d)"
    day = rf"{number}\.?"
    verb = rf"(?!(?-i:may)\s(?!(?:{either(lexicon['behind_dates'])})\b)[a-z])"  # "children from 8 may play"
    days = rf"{day}(?:(?:,\s?{day}){{0,4}}\s?(?:{joint}|{list_joint})\s?{day}){{0,6}}"
    end = r"(?!\s?[^\W\d_]|[.,:]\d)"
    days_after = rf"{number}(?:\s?(?:{joint})\s?{number}{end})*(?:\s(?:and|&)\s{number}{end})?"
    return _Patterns(
        day_first=re.compile(
            rf"(?<![\d.,/:])(?P<days>{days})[\s-]?(?:(?:{of})\s|d')?{verb}"
            r"(?P<month>[^\W\d_]{3,}[\u05f3']?)(?![^\W\d_])"
            rf"(?:\.?,?[\s-]?(?:(?:{of})\s)?{year})?",
            re.IGNORECASE,
        ),
        # "may" and "mars" are words too, so a month before its day must begin with a capital.
        month_first=re.compile(
            rf"(?<!\w)(?![a-zà-ÿ])(?P<month>[^\W\d_]{{3,}})\.?\s(?P<days>{days_after})(?:,?\s{year})?"
        ),
        month=re.compile(rf"(?<!\w)(?P<month>[^\W\d_]{{3,}})\.?,?\s(?:(?:{of})\s)?{year}"),
        short=re.compile(
            r"(?<![\d.,/:])(?P<a>\d{1,2})(?P<mark>[/.])(?P<b>\d{1,2})(?:\.(?!\d)|(?![\d/]))"
            rf"(?!\s?(?:{either(lexicon['not_dates'])}))",
            re.IGNORECASE,
        ),
    )
