"""Raw text: what a language model wrote for programs, and no person should get as a reply."""

import json
import re
from collections.abc import Set

_FENCED = re.compile(r"```(?:json)?\s*([\[{].{0,20000}?)```", re.DOTALL)
_MARKS = ("{{", "}}", "{%", "${", "<think", "</think", "<script")
_WORD = re.compile(r"[A-Za-z0-9_.]+")


def is_raw(text: str, names: Set[str] = frozenset()) -> bool:
    """Return whether a text is JSON, or has JSON in a fence, a placeholder, a thought, or one of these internal names.

    Internal names have a dot, such as those of tools and scopes.
    """
    words = (word.strip(".") for word in _WORD.findall(text))
    if any(mark in text for mark in _MARKS) or not names.isdisjoint(words):
        return True
    return any(map(_is_json, [text, *(found[1] for found in _FENCED.finditer(text))]))


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
