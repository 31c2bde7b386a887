"""JSON schemas are written as types."""

from typing import Any

import pytest

from turnloom.planner.llm.signatures import described_types, signature

ROOM = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "number"}}, "required": ["name"]}


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "integer", "minimum": 1}, "integer"),
        ({"type": "string", "format": "date"}, "date"),
        ({"enum": ["a", 1]}, '"a" | 1'),
        ({"const": "x"}, '"x"'),
        ({"type": ["string", "null"]}, "string | null"),
        ({"anyOf": [{"type": "string"}, {"type": "string"}]}, "string"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        (ROOM, "{name: string, size?: number}"),
        ({"type": "object", "properties": {"a": {"anyOf": [ROOM, {"type": "null"}]}}},
         "{a?: {name: string, size?: number}}"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "{[name]: integer}"),
        ({"type": "object"}, "{}"),
        ({}, "any"),
        (True, "any"),
    ],
)  # fmt: skip
def test_a_schema_is_a_type(schema: Any, written: str) -> None:
    """Constraints and descriptions are left out. A field that may be null or missing has a question mark."""
    assert signature({"type": "array", "items": schema}).removesuffix("[]").strip("()") == written.strip("()")


def test_a_recursive_schema_ends() -> None:
    """A foreign tool may return a tree."""
    tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}

    written = signature({"$ref": "#/$defs/tree", "$defs": {"tree": tree}})

    assert written.startswith("{children?: {children?: ")
    assert "any[]" in written


def test_described_types_keep_names_and_comments() -> None:
    """Shared parts stand once, under their names, and each description stands behind its field."""
    part = {"type": "object", "properties": {"x": {"$ref": "#/$defs/day"}}, "required": ["x"], "description": "A part."}
    schema = {**part, "$defs": {"day": {"type": "string", "description": "A day."}}}

    assert described_types(schema) == ("{x: day}", {"day": "string /* A day. */"})
