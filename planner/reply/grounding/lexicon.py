"""The words that figures and assertions are written with, by language: `words.yaml`, `assertions.yaml`, and names.

The names of months and weekdays are dateparser's.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from babel import Locale
from dateparser.languages import default_loader

from turnloom.models.runtime.yaml_text import map_texts, read_yaml

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_LETTER = r"[^\W\d_](?<=[\0-\u2e7f])"
"""A letter of a script that puts blanks between words, unlike those of East Asia, which come behind it.

A pattern that ignores case needs `(?-i:…)` around it: to fold the range takes a hundred times as long as the rest of a
pattern. And a shorter range is compiled sooner, because each sign of it is looked at.
"""
_SIGN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
"""A sign of a pattern: one that is escaped, a set of characters, or any other one."""
_SHORTEST_IN_FULL = 5
_SAME_LETTERS = str.maketrans({"\u0130": "i", "\u0131": "i", "\u017f": "s", "\u212a": "k"})
"""Letters that are equal to ASCII ones where case is ignored, whatever they are in lower case."""
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@lru_cache
def words() -> dict[str, Any]:
    """Return the content of `words.yaml`."""
    return _read("words.yaml")


@lru_cache
def assertion_words() -> dict[str, Any]:
    """Return the content of `assertions.yaml`, with each aspect's words for it, and against it, in one pattern."""
    loaded = _read("assertions.yaml")
    for read in (*loaded["aspects"].values(), *loaded["aspects_of_any"].values()):
        read |= {kind: "|".join(read[kind]) for kind in ("affirms", "denies")}
    return loaded


@lru_cache
def endings() -> dict[str, frozenset[str]]:
    """Return the endings of host names: all `names`, and those that `files` and `hours` have too."""
    loaded: dict[str, Any] = read_yaml((Path(__file__).parent / "endings.yaml").read_text("utf-8"))
    names = frozenset([*loaded["names"].split(), *loaded["reserved"]])
    return {"names": names, "files": frozenset(loaded["files"]), "hours": frozenset(loaded["hours"])}


@lru_cache
def months() -> dict[str, frozenset[int]]:
    """Return lower-case names of months, each with the months that it may mean, 1 to 12."""
    unlike = set(words()["not_months"])
    return {name: numbers for name, numbers in months_of_years().items() if name not in unlike}


@lru_cache
def months_of_years() -> dict[str, frozenset[int]]:
    """Return the names of months beside a year, with those that are words in another language."""
    # After a day, Hebrew has the prefix "in" before a month.
    forms = Locale("he").months["format"]
    hebrew = {f"ב{name}": frozenset({n}) for form in ("wide", "abbreviated") for n, name in forms[form].items()}
    austrian = {name.lower(): frozenset({n}) for n, name in Locale("de", "AT").months["format"]["wide"].items()}
    return austrian | _named(_MONTHS, 1) | hebrew


@lru_cache
def weekdays() -> dict[str, frozenset[int]]:
    """Return lower-case names of weekdays, each with the days that it may mean; Monday is 0."""
    return {name: numbers for name, numbers in _named(_WEEKDAYS, 0).items() if len(name) > 2}


@lru_cache
def currencies() -> dict[str, frozenset[str]]:
    """Return the signs and codes of currencies, each with the ISO 4217 codes that it may mean."""
    signs = {sign: frozenset(codes.split()) for sign, codes in words()["currencies"].items()}
    return {code: frozenset({code}) for code in words()["codes"].split()} | signs


@lru_cache(maxsize=512)
def currency_codes(written: str) -> frozenset[str]:
    """Return the codes that a sign, a code or a word of a currency may mean; none if it is no currency."""
    found = currencies().get(written) or currencies().get(written.upper())
    if found is not None:
        return found
    spelt = words()["currency_words"].items()
    named = (codes for pattern, codes in spelt if re.fullmatch(pattern, written, re.IGNORECASE))
    return frozenset(next(named, "").split())


def in_lower_case(text: str) -> str:
    """Return a text as a pattern that ignores case compares it: "\u0130stanbul" has the letters of "istanbul"."""
    return text.translate(_SAME_LETTERS).lower()


def either(texts: Iterable[str]) -> str:
    """Return a pattern of alternatives, the longer ones first, so that none hides another."""
    return "|".join(sorted(texts, key=lambda text: (-len(text), text)))


@cache
def spoken(pattern: str) -> re.Pattern[str]:
    """Return a pattern of `words.yaml` for whole words in any case."""
    return re.compile(rf"(?-i:(?<!{_LETTER}))(?:{pattern})(?-i:(?!{_LETTER}))", re.IGNORECASE)


def search(pattern: str, text: str) -> re.Match[str] | None:
    """Return where a text first has one of the words of a pattern of `words.yaml` or `assertions.yaml`."""
    return spoken(pattern).search(text)


def _read(name: str) -> dict[str, Any]:
    """Return the content of a file of patterns."""
    loaded: dict[str, Any] = map_texts(read_yaml((Path(__file__).parent / name).read_text("utf-8")), unbroken)
    return loaded


def unbroken(pattern: str) -> str:
    """Return a pattern without the blanks that the ends of lines leave between alternatives."""
    return "|".join(_alternatives(pattern))


def _alternatives(pattern: str) -> Iterator[str]:
    """Yield the alternatives of a pattern without the blanks at a line's end. Those within brackets stay."""
    depth, start = 0, 0
    for sign in _SIGN.finditer(pattern):
        depth += (sign[0] == "(") - (sign[0] == ")")
        if sign[0] == "|" and not depth:
            yield pattern[start : sign.start()].removesuffix(" ")
            start = sign.end()
    yield pattern[start:]


@lru_cache
def answer() -> str:
    """Return the pattern of a colon before a word such as "no"."""
    return rf":(?=[ \u00a0]{{0,3}}(?:{words()['answers']})(?![^\W\d_]))"


def _named(keys: tuple[str, ...], first: int) -> dict[str, frozenset[int]]:
    named: dict[str, set[int]] = {}
    for language in (*words()["languages"], *words()["languages_in_full"]):
        info = default_loader.get_locale(language).info
        shortest = _SHORTEST_IN_FULL if language in words()["languages_in_full"] else 1
        for number, key in enumerate(keys, first):
            for name in (name for name in info[key] if len(name) >= shortest):
                named.setdefault(name.lower(), set()).add(number)
    return {name: frozenset(numbers) for name, numbers in named.items()}
