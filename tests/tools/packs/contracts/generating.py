"""Make calls that a tool must refuse, from the schema of its arguments."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator

from tests.tools.packs.contracts.cases import Refused, Valid
from turnloom.tools.registry import Tool

_OTHER_TYPES = ({"not": "this"}, "text", [[]])
"""Values that pydantic turns into no other type."""

_BEYOND: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "minimum": ("too small", lambda least: least - 1),
    "exclusiveMinimum": ("too small", lambda least: least),
    "maximum": ("too large", lambda most: most + 1),
    "exclusiveMaximum": ("too large", lambda most: most),
    "minLength": ("too short", lambda _: ""),
    "maxLength": ("too long", lambda most: "x" * (most + 1)),
    "minItems": ("too few", lambda _: []),
    "enum": ("no such choice", lambda _: "no such choice"),
}
"""Keyword of a schema -> the name of a value that breaks it, and such a value."""


def refused(tool: Tool, valid: Valid | None) -> Iterator[tuple[str, Refused]]:
    """Yield arguments that the tool's input schema rules out, each with a name. They are changes of a valid call."""
    base = dict(valid.args) if valid is not None and isinstance(valid.args, Mapping) else {}
    schema = tool.input_schema
    for name in schema.get("required", ()):
        yield f"{name} missing", Refused({key: value for key, value in base.items() if key != name}, name)
    for name, described in schema.get("properties", {}).items():
        for what, value in _wrong(described, schema.get("$defs", {})):
            yield f"{name} {what}", Refused({**base, name: value}, name)
    if schema.get("additionalProperties") is not True:
        yield "unknown argument", Refused({**base, "no_such_argument": 1}, "no_such_argument")


def _wrong(described: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    validator = Draft202012Validator({**described, "$defs": definitions})
    for value in _OTHER_TYPES:
        if not validator.is_valid(value):
            yield f"is {type(value).__name__}", value
            break
    kinds = [kind for kind in described.get("anyOf", [described]) if kind.get("type") != "null"]
    if len(kinds) == 1:
        yield from _out_of_bounds(kinds[0])


def _out_of_bounds(kind: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for bound, (what, beyond) in _BEYOND.items():
        # A decimal has its bounds on the number, not on the pattern of its text. A length of None bounds nothing.
        if kind.get(bound) not in (None, 0) or (bound in kind and kind.get("type") in ("integer", "number")):
            yield what, beyond(kind[bound])
