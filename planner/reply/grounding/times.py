"""Find times of day: 19:30, 7.30 pm, 10 Uhr 30, half past ten, noon. Without its half of the day, an hour is either."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.lexicon import words

_TIME = re.compile(
    r"(?<![\d:.,])(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)(?::[0-5]\d)?(?!\d|:\d)"
    r"(?:\s?(?P<half>[ap](?=\.?m\b)|[صم](?![^\W\d_]))(?:\.?m\b\.?)?)?",
    re.IGNORECASE,
)
_POINT = re.compile(
    r"(?<![\d:.,])(?P<hour>[01]?\d|2[0-4])[.h](?P<minute>[0-5]\d)(?!\d|[.,]\d)"
    r"(?:\s?(?:(?P<half>[ap])\.?m\b\.?|u(?:hr|ur)\b)|(?=\s(?:bis|to|until|und|and|-|\u2013)\s\d\d?[.h]\d\d\s?(?:[ap]\.?m|uhr)\b))",
    re.IGNORECASE,
)
_HEURES = re.compile(r"(?<![\d:.,])(?P<hour>[01]?\d|2[0-4])\s?h(?:\s?(?P<minute>[0-5]\d))?(?![\w])", re.IGNORECASE)
"""A time of day as French writes it, where a word before it says that it is no duration."""
_HEURES_RANGE = re.compile(
    r"(?<![\d:.,])(?P<hour>[01]?\d|2[0-4])h(?P<minute>[0-5]\d)?(?:(?=\s?[-\u2013]\s?\d{1,2}h)|(?<=[-\u2013]\d\dh)"
    r"|(?<=[-\u2013]\dh)|(?<=[-\u2013]\d\dh\d\d)|(?<=[-\u2013]\dh\d\d))(?!\w)",
    re.IGNORECASE,
)
"""The ends of opening hours as French writes them: 9h30-19h."""
_CLOCK = re.compile(r"(?<![\d:.,])(?P<hour>[01]?\d|2[0-4])\s?uhr(?:\s(?P<minute>[0-5]\d)(?!\d))?", re.IGNORECASE)
_HOUR = re.compile(r"(?<![\d:.,/])(?P<hour>1?\d)\s?(?P<half>[ap])\.?m\b\.?", re.IGNORECASE)
_CJK = re.compile(
    r"(?P<half>午前|午後|오전|오후)?\s?(?<![\d.,:])(?P<hour>[01]?\d|2[0-4])\s?[時시点](?![間간])"
    r"(?:\s?(?:(?P<minute>[0-5]?\d)\s?[分분]|(?P<half_past>半|반)))?"
)
_QUARTERS = {"half_past": 30, "half_to": -30, "quarter_past": 15, "quarter_to": -15}
"""Words of `words.yaml` before an hour, and the minutes that they add to it."""

Read = Callable[[re.Match[str]], tuple[Key, ...]]


def find_times(text: str) -> Iterator[Figure]:
    """Find times of day."""
    for pattern, read in _patterns():
        for match in pattern.finditer(text):
            yield Figure("time", match.start(), match.end(), read(match))


def time_keys(hour: str, minute: str, half: str | None) -> tuple[Key, ...]:
    """Return the keys of a time; `half`: a or ص, the morning; p or م, the rest of the day; None, either."""
    if half is None:
        is_short = len(hour) == 1 or hour in ("10", "11")
        at = ("time", int(hour) % 24, int(minute))
        return (at, ("time", int(hour) + 12, int(minute))) if is_short else (at,)
    return (("time", int(hour) % 12 + (12 if half.lower() in "pم" else 0), int(minute)),)


def _exact(match: re.Match[str]) -> tuple[Key, ...]:
    found = match.groupdict()
    return time_keys(found["hour"], found.get("minute") or "0", found.get("half"))


def _east_asian(match: re.Match[str]) -> tuple[Key, ...]:
    minute = 30 if match["half_past"] else int(match["minute"] or 0)
    half = "p" if match["half"] in ("午後", "오후") else "a" if match["half"] else None
    if half is None:
        return (("time", int(match["hour"]) % 24, minute),)
    return time_keys(match["hour"], str(minute), half)


def _about(minutes: int) -> Read:
    """Return a reader of a spoken hour, and so many minutes after it."""

    def read(match: re.Match[str]) -> tuple[Key, ...]:
        at = int(match["hour"]) * 60 + minutes
        return tuple(
            ("time", (at // 60 + half) % 24, at % 60) for half in ((0, 12) if int(match["hour"]) < 13 else (0,))
        )

    return read


def _fixed(hour: int) -> Read:
    return lambda _match: (("time", hour, 0),)


@lru_cache
def _patterns() -> tuple[tuple[re.Pattern[str], Read], ...]:
    clock = words()["clock"]
    hour = r"(?P<hour>1?\d|2[0-4])(?![\d:.,]\d|\d)"
    midnight, noon = (rf"(?<![^\W\d_])(?:{clock[name]})(?![^\W\d_])" for name in ("midnight", "noon"))

    before = {name: re.compile(rf"(?<![^\W\d_])(?:{clock[name]})\s{hour}", re.IGNORECASE) for name in _QUARTERS}
    return (
        (_TIME, _exact),
        (_CJK, _east_asian),
        (_POINT, _exact),
        (
            re.compile(rf"(?:{clock['half_past']})\s(?:{clock['midnight']})", re.IGNORECASE),
            lambda _: (("time", 0, 30),),
        ),
        *((pattern, _about(_QUARTERS[name])) for name, pattern in before.items()),
        (re.compile(rf"(?:(?<![^\W\d_])(?:{clock['heures_before']})\s){_HEURES.pattern}", re.IGNORECASE), _exact),
        (_HEURES_RANGE, _exact),
        (
            re.compile(rf"(?<![^\W\d_])(?:{clock['heures_before']})\s{hour}\sheures(?![^\W\d_])", re.IGNORECASE),
            _about(0),
        ),
        (_CLOCK, _exact),
        (re.compile(rf"(?<![\d:.,]){hour}\s(?:{clock['after']})(?![^\W\d_])", re.IGNORECASE), _about(0)),
        (_HOUR, _exact),
        (re.compile(noon, re.IGNORECASE), _fixed(12)),
        (re.compile(midnight, re.IGNORECASE), _fixed(0)),
    )
