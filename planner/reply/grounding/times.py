"""Find times of day: 19:30, 7.30 pm, 10 Uhr 30, half past ten, noon. Without its half of the day, an hour is either."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial

from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.lexicon import either, in_lower_case, words

_TIME = re.compile(
    r"(?<![\d:.,])(?<!(?:utc|gmt)[+\u2212-])(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)(?::[0-5]\d)?(?!\d|:\d)"
    r"(?:\s?(?P<half>[ap](?=\.?m\b)|[صم](?![^\W\d_]))(?:\.?m\b\.?)?)?",
    re.IGNORECASE,
)
_POINT = re.compile(
    r"(?<![\d:.,])(?P<hour>[01]?\d|2[0-4])[.h](?P<minute>[0-5]\d)(?!\d|[.,]\d)"
    r"(?:\s?(?:(?P<half>[ap])\.?m\b\.?|u(?:hr|ur)\b)|(?=\s(?:bis|to|until|und|and|-|\u2013)\s\d\d?(?:[.h]\d\d)?\s?(?:[ap]\.?m|uhr)\b))",
    re.IGNORECASE,
)
_POINTED = re.compile(
    r"(?<![\d.,$\u20ac\u00a3-])(?P<hour>[01]?\d|2[0-3])\.(?P<minute>[0-5]\d)"
    r"(?![\d.,]\d|\d|\s?(?:%|[$\u20ac\u00a3\u20aa]|[A-Z]{3}\b|k[mgr]\b|m\b|mill|euro|dollar))"
)
_HEURES = re.compile(
    r"(?<![\d:.,])(?P<hour>[01]?\d|2[0-4])\s?h(?:\s?(?P<minute>[0-5]\d))?(?![\w]|\s?min|\s\d{1,2}\s?min)", re.IGNORECASE
)
"""A time of day as French writes it, where a word before it says that it is no duration."""
_HEURES_RANGE = re.compile(
    r"(?<![\d:.,])(?P<hour>[01]?\d|2[0-4])h(?P<minute>[0-5]\d)?(?:(?=\s?[-\u2013]\s?\d{1,2}h)|(?<=[-\u2013]\d\dh)"
    r"|(?<=[-\u2013]\dh)|(?<=[-\u2013]\d\dh\d\d)|(?<=[-\u2013]\dh\d\d))(?!\w)",
    re.IGNORECASE,
)
"""The ends of opening hours as French writes them: 9h30-19h."""
_CLOCK = re.compile(r"(?<![\d:.,])(?P<hour>[01]?\d|2[0-4])\s?uhr(?:\s(?P<minute>[0-5]\d)(?!\d))?", re.IGNORECASE)
_HOUR = re.compile(
    r"(?<![\d:.,/])(?P<hour>1?\d)\s?(?P<half>[ap])\.?m\b\.?"
    r"(?!(?<=\bam)\s(?:\w{0,10}tag|abend|morgen|wochenende|see|meer|strand|bahnhof|flughafen|hafen)\b)",
    re.IGNORECASE,
)
"""An hour and its half of the day. Before German words "am" is "on" or "at": CHF 9 "am Tag" are for a day."""
_FIRST_OF_HALF = re.compile(
    r"(?<![\d:.,/])(?P<hour>[1-9]|1[0-2])(?=\s?(?:[-\u2013]|to|until|till|(?<=between \d )and|(?<=between \d\d )and)\s?"
    r"1?\d(?:[:.][0-5]\d)?\s?[ap]\.?m\b)",
    re.IGNORECASE,
)
"""The beginning of "1 to 2 pm", whose half of the day stands behind the end."""
_CJK = re.compile(
    r"(?:(?P<half>午前|午後|오전|오후|朝|夜|夕方|晩|深夜)[はの]?)?\s?(?<![\d.,:])(?P<hour>[01]?\d|2[0-4])\s?[時시点](?![間간])"
    r"(?:\s?(?:(?P<minute>[0-5]?\d)\s?[分분]|(?P<half_past>半|반)))?"
)
_FIRST_OF_RANGE = re.compile(
    r"(?P<opening>(?<![^\W\d_])(?:from|between|von|zwischen|van|tussen|dalle)\s)(?P<hour>[1-9]|1\d|2[0-4])"
    r"(?=\s(?:to|until|till|and|bis|und|tot|en|alle)\s(?:\d{1,2}[:.][0-5]\d(?!\d)|(?:a )?(?:quarter|half)\s))",
    re.IGNORECASE,
)
"""The hour that begins a range whose end has minutes: "from 9 to 9:45"."""
_LONGEST_RANGE = 14
_AFTERNOON = re.compile(r"午後\s?\d{1,2}時(?:\d{1,2}分|半)?から$")
"""What makes the end of a range one of the afternoon, too."""
_FEW_MINUTES = r"(?<![\d:.,])(?P<minute>5|10)\s"
_HALVES = {-1: rf"{_FEW_MINUTES}vo+r\s(?:half|halb)\s", 1: rf"{_FEW_MINUTES}(?:over|nach)\s(?:half|halb)\s"}
"""Minutes before and after a half hour, in Dutch and German."""
_NOT_AFTER = "".join(
    f"(?<!{word} )" for word in ("after", "past", "nach", "après", "dopo", "tras", "na", "بعد", "אחרי")
)
"""What makes noon and midnight the begin of a half of the day: "at 1:30 after midnight"."""
_QUARTERS = {"half_past": 30, "half_to": -30, "quarter_past": 15, "quarter_to": -15}
"""Words of `words.yaml` before an hour, and the minutes that they add to it."""

Read = Callable[[re.Match[str]], tuple[Key, ...]]


def pointed_times(text: str) -> set[Key]:
    """Return the times that a source may mean by two numbers with a point, such as "kl. 15.30" and "dalle 8.00"."""
    return {("time", int(match["hour"]), int(match["minute"])) for match in _POINTED.finditer(text)}


def find_times(text: str) -> Iterator[Figure]:
    """Find times of day."""
    for pattern, read in _patterns():
        for match in pattern.finditer(text):
            start = match.end("opening") if "opening" in pattern.groupindex else match.start()
            yield Figure("time", start, match.end(), read(match))


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
    half = {"午後": "p", "오후": "p", "午前": "a", "오전": "a"}.get(match["half"] or "")
    is_late = match["half"] in ("夜", "夕方", "晩") or (not match["half"] and _is_in_afternoon(match))
    if is_late and 0 < int(match["hour"]) < 12:
        half = "p"
    if half is None:
        return (("time", int(match["hour"]) % 24, minute),)
    return time_keys(match["hour"], str(minute), half)


def _is_in_afternoon(match: re.Match[str]) -> bool:
    """Return whether an hour ends a range that begins in the afternoon."""
    return _AFTERNOON.search(match.string[max(0, match.start() - _LONGEST_RANGE) : match.start()]) is not None


def _about(minutes: int) -> Read:
    """Return a reader of a spoken hour, and so many minutes after it."""

    def read(match: re.Match[str]) -> tuple[Key, ...]:
        at = int(match["hour"]) * 60 + minutes
        return tuple(
            ("time", (at // 60 + half) % 24, at % 60) for half in ((0, 12) if int(match["hour"]) < 13 else (0,))
        )

    return read


def _minutes_before(match: re.Match[str]) -> tuple[Key, ...]:
    """Read "ten to six"."""
    return _about(-int(match["minute"]))(match)


def _beside_half(sign: int) -> Read:
    """Return a reader of "vijf voor half drie", which is 2:25, and of minutes after the half hour if `sign` is 1."""
    return lambda match: _about(sign * int(match["minute"]) - 30)(match)


def _behind(match: re.Match[str]) -> tuple[Key, ...]:
    """Read "las siete menos cuarto"."""
    return _about(words()["clock"]["behind_hour"][in_lower_case(match["behind"])])(match)


def _arabic(match: re.Match[str]) -> tuple[Key, ...]:
    """Read "التاسعة والنصف صباحا"."""
    clock = words()["clock"]
    at = clock["arabic_hours"][match["hour"]] % 12 * 60 + clock["arabic_minutes"].get(match["minutes"], 0)
    halves = (clock["arabic_parts"][match["part"]],) if match["part"] else (0, 12)
    return tuple(("time", (at // 60 + half) % 24, at % 60) for half in halves)


def _with_minutes(match: re.Match[str]) -> tuple[Key, ...]:
    """Read "ten past six" and "quinze heures trente"."""
    return _about(int(match["minute"] or 0))(match)


def _of_half(first: int) -> Read:
    """Read "las 9 de la noche". `first`: the first hour of the half of the day."""
    return lambda match: tuple(
        ("time", hour, 0) for hour in ((0, 12) if match["hour"] == "12" else (int(match["hour"]) % 12 + first,))
    )


@lru_cache
def _patterns() -> tuple[tuple[re.Pattern[str], Read], ...]:
    clock = words()["clock"]
    hour = r"(?P<hour>1?\d|2[0-4])(?![\d:.,]\d|\d)"
    midnight, noon = (rf"{_NOT_AFTER}(?<![^\W\d_])(?:{clock[name]})(?![^\W\d_])" for name in ("midnight", "noon"))

    before = {name: re.compile(rf"(?<![^\W\d_])(?:{clock[name]})\s{hour}", re.IGNORECASE) for name in _QUARTERS}
    return (
        (_TIME, _exact),
        *(
            (re.compile(rf"{before_half}{hour}", re.IGNORECASE), _beside_half(sign))
            for sign, before_half in _HALVES.items()
        ),
        *((pattern, _about(_QUARTERS[name])) for name, pattern in before.items()),
        (_FIRST_OF_HALF, _about(0)),
        (_FIRST_OF_RANGE, _about(0)),
        (_CJK, _east_asian),
        (_POINT, _exact),
        *_beside_twelve(),
        *_beside_hours(hour),
        (
            re.compile(rf"(?P<opening>(?<![^\W\d_])(?:{clock['heures_before']})\s){_HEURES.pattern}", re.IGNORECASE),
            _exact,
        ),
        (_HEURES_RANGE, _exact),
        (
            re.compile(
                rf"(?P<opening>(?<![^\W\d_])(?:{clock['heures_before']})\s){hour}\s(?:heures|uur)(?:\s(?P<minute>[0-5]\d))?(?![^\W\d_])",
                re.IGNORECASE,
            ),
            _with_minutes,
        ),
        (_CLOCK, _exact),
        (re.compile(rf"(?<![\d:.,]){hour}\s(?:{clock['after']})(?![^\W\d_])", re.IGNORECASE), _about(0)),
        (_HOUR, _exact),
        (re.compile(noon, re.IGNORECASE), _at(12 * 60)),
        (re.compile(midnight, re.IGNORECASE), _at(0)),
    )


def _beside_twelve() -> Iterator[tuple[re.Pattern[str], Read]]:
    """Yield the patterns of "half past midnight", "quarter to noon"."""
    clock = words()["clock"]
    spoken_minutes = [(clock[name], minutes) for name, minutes in _QUARTERS.items()]
    for number in (5, 10, 20, 25):
        spoken_minutes.append((rf"{number} (?:minutes )?(?:past|after)", number))
        spoken_minutes.append((rf"{number} (?:minutes )?(?:to|before)", -number))
    behind = rf"(?P<behind>{either(clock['behind_hour'])})(?![^\W\d_])"
    for named, hour in (("midnight", 0), ("noon", 12)):
        for before, minutes in spoken_minutes:
            found = re.compile(rf"(?<![\w.])(?:{before})\s(?:{clock[named]})", re.IGNORECASE)
            yield found, _at((hour * 60 + minutes) % (24 * 60))
        yield re.compile(rf"(?<![\w.])(?:{clock[named]})\s{behind}", re.IGNORECASE), partial(_behind_twelve, hour)


def _behind_twelve(hour: int, match: re.Match[str]) -> tuple[Key, ...]:
    """Read "mediodía y media"."""
    minutes = words()["clock"]["behind_hour"][in_lower_case(match["behind"])]
    return _at((hour * 60 + minutes) % (24 * 60))(match)


def _at(minute: int) -> Read:
    return lambda _match: (("time", minute // 60, minute % 60),)


def _beside_hours(hour: str) -> tuple[tuple[re.Pattern[str], Read], ...]:
    """Return the patterns of hours with their minutes in words before or behind them."""
    clock = words()["clock"]
    minutes, behind = r"(?<![\d:.,])(?P<minute>5|10|20|25)\s", either(clock["behind_hour"])
    written = r"(?<![\d:.,])(?P<minute>[1-9]|[12]\d)\s"
    romance = rf"(?P<opening>(?<![^\W\d_])(?:{clock['hours_before']})\s?(?<=[\s'])){hour}\s"
    halves = rf"{either(clock['arabic_parts'])}"
    said = (
        rf"(?:الساعة\s)?(?P<hour>{either(clock['arabic_hours'])})(?:\s(?P<minutes>{either(clock['arabic_minutes'])}))?"
    )
    patterns: tuple[tuple[str, Read], ...] = (
        (rf"{minutes}(?:{clock['past']})\s{hour}", _with_minutes),
        (rf"{minutes}(?:{clock['to']})\s{hour}", _minutes_before),
        (rf"{written}(?:{clock['minutes_past']})\s{hour}", _with_minutes),
        (rf"{written}(?:{clock['minutes_to']})\s{hour}", _minutes_before),
        (rf"(?<!from ){minutes}to\s{hour}(?=\s(?:{clock['in_day']}))", _minutes_before),
        (rf"(?:(?<=\bat )|(?<=\bby )|(?<=\bto )|(?<=\buntil )|(?<=\btill )){minutes}to\s{hour}", _minutes_before),
        (
            rf"(?P<opening>(?<![^\W\d_])(?:{clock['heures_before']})\s){hour}\sheures\s(?P<behind>{behind})(?![^\W\d_])",
            _behind,
        ),
        (rf"{romance}(?P<behind>{behind})(?![^\W\d_])", _behind),
        # Fewer minutes behind "and" may be another hour.
        (rf"{romance}(?:e|y)\s(?P<minute>2[5-9]|[345]\d)(?![\d:.,]*\d)", _with_minutes),
        *(
            (rf"(?P<opening>(?<![^\W\d_])(?:{clock['hours_before']})\s?){hour}\s(?:{clock[part]})", read)
            for part, read in (("in_the_morning", _of_half(0)), ("later_on", _of_half(12)))
        ),
        (rf"(?<![^\W\d_]){said}\s(?P<part>{halves})", _arabic),
        (rf"(?<![^\W\d_])(?:ال|لل)ساعة\s{said}(?P<part>)", _arabic),
    )
    return tuple((re.compile(pattern, re.IGNORECASE), read) for pattern, read in patterns)
