"""Translate between codes and people's words for beds, boards, amenities and topics, with data/terms.yaml."""

import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from turnloom.models.runtime.yaml_text import read_yaml

_FILE = Path(__file__).parent / "data" / "terms.yaml"


class _Index(NamedTuple):
    codes: dict[str, str]
    """Phrase -> code."""
    pattern: re.Pattern[str]
    """A pattern that finds any of the phrases, also in the plural. Longer phrases win."""


def find_terms(text: str, *kinds: str) -> list[str]:
    """Return the codes of these kinds (`boards`, `beds`, `amenities`, `topics`) that a text names, in order."""
    index = _index(kinds)
    return list(dict.fromkeys(index.codes[match[1]] for match in index.pattern.finditer(_plain(text))))


def known_terms(kind: str) -> Collection[str]:
    """Return the codes of a kind."""
    return _terms()[kind].keys()


def name_of(code: str) -> str:
    """Return the first phrase for a code. For an unknown code, return the code itself as words."""
    return next((kind[code][0] for kind in _terms().values() if code in kind), code.replace("_", " "))


def counted(code: str, count: int) -> str:
    """Return the name of a thing with the number of them, for a cell of an artifact."""
    return f"{name_of(code)} ({count})" if count > 1 else name_of(code)


@lru_cache
def _terms() -> dict[str, dict[str, list[str]]]:
    read: dict[str, dict[str, list[str]]] = read_yaml(_FILE.read_text("utf-8"))
    return read


@lru_cache
def _index(kinds: tuple[str, ...]) -> _Index:
    codes = {
        _plain(phrase): code
        for kind in reversed(kinds)
        for code, phrases in _terms()[kind].items()
        for phrase in (code, *phrases)
    }
    longest_first = sorted(codes, key=lambda phrase: (-len(phrase), phrase))
    return _Index(codes, re.compile(rf"(?<!\w)({'|'.join(map(re.escape, longest_first))})(?:e?s)?(?!\w)"))


def _plain(text: str) -> str:
    """Return a text in lower case, with single spaces in place of hyphens, underscores and other white space."""
    return " ".join(re.sub(r"[_\-\u2010-\u2015]", " ", text.casefold()).split())
