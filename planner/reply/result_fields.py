"""The fields of a result as people read them: their titles from the tool's output model, without empty ones."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from turnloom.planner.languages.language import Language

_DEEPEST = 8
"""Levels of a result or schema that are looked at."""


class ResultField(NamedTuple):
    """A field of a result."""

    title: str
    """Empty if the result has no fields."""
    value: Any


def result_fields(result: Any, schema: Mapping[str, Any], language: Language) -> list[ResultField]:
    """Return the fields of a result that say something. The names inside their values are titles, too."""
    titles = dict(_titles(schema))
    titled = _titled(result, lambda name: language.text(titles.get(name) or _in_words(name)))
    while isinstance(titled, dict) and len(titled) == 1 and isinstance(inner := next(iter(titled.values())), dict):
        titled = inner
    if isinstance(titled, dict):
        return [ResultField(title, value) for title, value in titled.items()]
    return [] if _is_empty(titled) else [ResultField("", titled)]


def _titles(schema: Any, depth: int = _DEEPEST) -> Iterator[tuple[str, str]]:
    """Yield name and title of each field whose title is not just its name."""
    if not isinstance(schema, dict) or not depth:
        return
    for name, field in (schema.get("properties") or {}).items():
        title = field.get("title") if isinstance(field, dict) else None
        if isinstance(title, str) and title.casefold() != _in_words(name).casefold():
            yield name, title
    for inner in schema.values():
        inners = inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ()
        for each in (inner, *inners):
            yield from _titles(each, depth - 1)


def _titled(value: Any, title: Callable[[str], str], depth: int = _DEEPEST) -> Any:
    if isinstance(value, list) and depth:
        return [_titled(inner, title, depth - 1) for inner in value]
    if not isinstance(value, dict) or not depth:
        return value
    kept = {name: inner for name, inner in value.items() if not _is_empty(inner)}
    return {title(name): _titled(inner, title, depth - 1) for name, inner in kept.items()}


def _in_words(name: str) -> str:
    return name.replace("_", " ")


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})
