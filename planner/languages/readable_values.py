"""Write the results of tools for people, without JSON."""

import json
from typing import Any

from turnloom.planner.languages.formats import dated
from turnloom.planner.languages.language import Language

_DEEPEST = 6
"""Levels of a value that are written for people."""
_NOTHING = "-"
_NAMING = ("name", "title")
"""Fields that name a thing. The first one is written before the others."""


def readable(language: Language, value: Any, depth: int = _DEEPEST) -> str:
    """Write a value for people, without JSON: the name of a thing first, then its fields."""
    if isinstance(value, str):
        held = _held(value)
        return dated(language, value) if held is None else readable(language, held, depth)
    if isinstance(value, bool) or value is None:
        return {True: "✓", False: "✗", None: _NOTHING}[value]
    if not isinstance(value, dict | list):
        return str(value)
    if not depth:
        return "…"
    if isinstance(value, list):
        separator = "; " if any(isinstance(inner, dict) for inner in value) else ", "
        return separator.join(readable(language, inner, depth - 1) for inner in value) or _NOTHING
    named = [str(value[key]) for key in _NAMING if isinstance(value.get(key), str)][:1]
    others = [(key, inner) for key, inner in value.items() if named != [inner] and inner not in (None, "", [], {})]
    fields = ", ".join(f"{str(key).replace('_', ' ')} {readable(language, inner, depth - 1)}" for key, inner in others)
    return f"{named[0]} ({fields})" if named and fields else fields or "".join(named) or _NOTHING


def _held(text: str) -> Any:
    """Return the object or list that a text holds as JSON; None if it holds none."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
