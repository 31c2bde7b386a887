"""Signatures: JSON schemas as types, which cost a language model a fraction of the tokens.

    {options: {room_name: string, price_total?: number}[], tz: string}

A field with a question mark may be null or missing. `any` is a value of unknown shape.
"""

import json
from collections.abc import Mapping
from typing import Any

_DEPTH = 12
"""Schemas inside each other that are written out; deeper ones are `any`."""

_ANY = ["any"]


def signature(schema: Mapping[str, Any]) -> str:
    """Return the type that a schema describes, on one line, without descriptions. References are written out."""
    return _Writer(schema.get("$defs", {}), with_comments=False).type_of(schema)


def described_types(schema: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return the type that a schema describes, and its shared parts by name. Descriptions are comments."""
    defined = schema.get("$defs", {})
    writer = _Writer(defined, with_comments=True)
    named = {name: f"{writer.type_of(part)}{writer.comment(part)}" for name, part in defined.items()}
    return writer.type_of(schema), named


class _Writer:
    """A writer of the types in one schema. With comments it leaves references as names."""

    def __init__(self, defined: Mapping[str, Any], *, with_comments: bool) -> None:
        self._defined = defined
        self._with_comments = with_comments

    def type_of(self, schema: Any, depth: int = 0) -> str:
        """Return the type of a schema."""
        return self._joined(self._kinds(schema, depth))

    def comment(self, schema: Mapping[str, Any]) -> str:
        """Return a schema's description as a comment; nothing if there is none."""
        return f" /* {schema['description']} */" if self._with_comments and schema.get("description") else ""

    def _joined(self, kinds: list[str]) -> str:
        has_lines = self._with_comments and len(kinds) > 1 and kinds[0].startswith("{")
        return ("\n | " if has_lines else " | ").join(kinds)

    def _kinds(self, schema: Any, depth: int) -> list[str]:
        """Return the alternatives of a type."""
        if not isinstance(schema, Mapping) or depth > _DEPTH:
            return _ANY
        if "$ref" in schema:
            name = str(schema["$ref"]).rsplit("/", 1)[-1]
            return [name] if self._with_comments else self._kinds(self._defined.get(name), depth + 1)
        if "const" in schema or "enum" in schema:
            return [json.dumps(value, ensure_ascii=False) for value in schema.get("enum", [schema.get("const")])]
        if branches := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
            return list(dict.fromkeys(kind for branch in branches for kind in self._kinds(branch, depth + 1)))
        kinds = schema.get("type")
        return [self._simple(schema, kind, depth) for kind in (kinds if isinstance(kinds, list) else [kinds])]

    def _simple(self, schema: Mapping[str, Any], kind: Any, depth: int) -> str:
        match kind:
            case "array":
                items = self._kinds(schema.get("items"), depth + 1)
                return f"({' | '.join(items)})[]" if len(items) > 1 else f"{items[0]}[]"
            case "object":
                return self._object(schema, depth)
        return str(schema.get("format") or kind or "any")

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        rest = schema.get("additionalProperties")
        if not schema.get("properties"):
            return f"{{[name]: {self.type_of(rest, depth + 1)}}}" if isinstance(rest, Mapping) else "{}"
        fields = (self._field(name, inner, schema, depth) for name, inner in schema["properties"].items())
        return f"{{{', '.join(fields)}}}"

    def _field(self, name: str, schema: Any, parent: Mapping[str, Any], depth: int) -> str:
        kinds = self._kinds(schema, depth + 1)
        mark = "?" if "null" in kinds or name not in parent.get("required", ()) else ""
        kind = self._joined([one for one in kinds if one != "null"]) or "null"
        return f"{name}{mark}: {kind}{self.comment(schema)}"
