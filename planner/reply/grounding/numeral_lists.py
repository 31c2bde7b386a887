"""The words of numbers, by language, from `numerals.yaml`."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from turnloom.models.runtime.yaml_text import read_yaml


@dataclass(frozen=True, slots=True)
class Numerals:
    """The words that numbers begin and go on with."""

    cardinals: dict[tuple[str, ...], int]
    ordinals: dict[tuple[str, ...], int]
    starts: frozenset[str]
    parts: frozenset[str]
    """Every word of a cardinal."""
    joints: frozenset[str]
    points: frozenset[str]
    """What is said between a whole number and its decimals."""
    heads: dict[str, int]
    """The hundreds and thousands that are written as one word with the rest."""
    head: re.Pattern[str]
    """The longest of them at the beginning of a word."""


@lru_cache
def numerals() -> Numerals:
    """Return the words of numbers of all languages."""
    loaded: dict[str, Any] = read_yaml((Path(__file__).parent / "numerals.yaml").read_text("utf-8"))
    cardinals: dict[tuple[str, ...], int] = {}
    ordinals: dict[tuple[str, ...], int] = {}
    joined: dict[str, int] = {}
    for language in loaded.values():
        lists = (("below_hundred", 0, 1), ("hundreds", 100, 100))
        read = {text: first + step * n for key, first, step in lists for n, text in enumerate(_listed(language, key))}
        read |= {language["thousand"]: 1000} | language["also"]
        read |= dict.fromkeys(_listed(language, "millions"), 1000000)
        read |= {
            f"{unit} {language['joint']}{ten}": more + value
            for unit, more in language.get("units", {}).items()
            for ten, value in language.get("tens", {}).items()
        }
        read.pop("-", None)
        cardinals |= {tuple(text.split()): value for text, value in read.items() if value}
        joined |= {text: value for text, value in read.items() if value >= 100 and " " not in text}
        ordinals |= {tuple(text.split()): n for n, text in enumerate(_listed(language, "ordinals"), 1)}
    joined |= {f"{unit}tausend": value * 1000 for (unit, *more), value in cardinals.items() if value < 13 and not more}
    return Numerals(
        cardinals,
        ordinals,
        frozenset(words[0] for words in (*cardinals, *ordinals)),
        frozenset(word for words in cardinals for word in words),
        frozenset(language["joint"] for language in loaded.values() if "joint" in language),
        frozenset(language["point"] for language in loaded.values() if "point" in language),
        joined,
        re.compile("|".join(re.escape(text) for text in sorted(joined, key=len, reverse=True))),
    )


def _listed(language: dict[str, Any], key: str) -> list[str]:
    return [text.strip() for text in language.get(key, "").split(",")] if key in language else []
