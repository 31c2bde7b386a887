"""Open the JSON documents and tables that stand in a result as text, as tools of strangers return them."""

from typing import Any

import orjson

from turnloom.planner.reply.grounding.tables import as_table

_LONGEST = 100_000
_DEEPEST = 30


def opened(value: Any) -> Any:
    """Return a result with every text that is a JSON document replaced by what it holds, and tables by their rows."""
    match value:
        case dict():
            return {key: opened(inner) for key, inner in value.items()}
        case list():
            return [opened(inner) for inner in value]
        case str() if value[:1] in ("{", "[") and len(value) <= _LONGEST:
            return _document(value)
        case str() if "\n" in value and len(value) <= _LONGEST:
            return as_table(value)
    return value


def _document(text: str) -> Any:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return found if _is_flat(found) else text


def _is_flat(value: Any) -> bool:
    """Return whether a document is not nested so deeply that walking it would be dangerous."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return True
    return False


def beginning(text: str, length: int) -> str:
    """Return the part of a text that is read, in whole words, because half a number is another number."""
    if len(text) <= length:
        return text
    kept = text[:length].rstrip() if text[length - 1 : length].isspace() else text[:length].rsplit(None, 1)[0]
    return kept if len(kept) < length else ""
