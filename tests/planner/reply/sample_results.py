"""Results of tools that their output schemas allow, for tests that need one of any tool."""

from collections.abc import Mapping
from typing import Any

_BY_FORMAT = {
    "date": "2026-12-05",
    "date-time": "2026-12-05T10:00:00+02:00",
    "uri": "https://example.com/a",
    "uuid": "0199b3a0-0000-7000-8000-000000000001",
}


_BY_NAME = dict.fromkeys(("start", "end"), "2026-12-05T10:00:00+02:00") | {"invite": "BEGIN:VCALENDAR"}
"""Fields of the type `string` that hold a time, and one that is for programs."""


def sample_result(schema: Mapping[str, Any], *, is_full: bool) -> Any:
    """Return a value of a schema: one with all optional parts, or one without any."""
    return _sample(schema, schema.get("$defs", {}), is_full)


def _sample(schema: Mapping[str, Any], defs: Mapping[str, Any], is_full: bool) -> Any:
    if "$ref" in schema:
        return _sample(defs[schema["$ref"].rsplit("/", 1)[-1]], defs, is_full)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        chosen = [option for option in options if (option.get("type") != "null") == is_full] or options
        return _sample(chosen[0], defs, is_full)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    return _sample_of_type(schema, defs, is_full)


def _sample_of_type(schema: Mapping[str, Any], defs: Mapping[str, Any], is_full: bool) -> Any:
    found: Any = {"colour": "green", "sizes": [3, 4], "owner": {"age": None}} if is_full else None
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            found = {name: _BY_NAME.get(name) or _sample(field, defs, is_full) for name, field in fields.items()}
        case "array":
            found = [_sample(schema.get("items", {}), defs, is_full) for _ in range(2 if is_full else 0)]
        case "string":
            found = _BY_FORMAT.get(schema.get("format", ""), "pine")
        case "boolean":
            found = is_full
        case "integer" | "number":
            found = max(3 if is_full else 0, schema.get("minimum", 0))
    return found
