"""Shared parts: what a response schema says in several places stands once, in its `$defs`.

In: a schema in strict mode.  Out: a schema that accepts the same answers with fewer tokens.

Beside a `$ref` strict mode allows no other keyword. A shape that is described differently in each place is therefore
referred to by a union of one.
"""

import json
from collections import Counter
from typing import Any, NamedTuple

from turnloom.planner.llm.strict_mode import NULL, Schema

_REFERENCE_LENGTH = 30
"""Characters of a reference."""
_WRAPPED_LENGTH = 50
"""Characters of a union of one reference."""
_WORTH = 40
"""Characters that a part must save."""


def share(schema: Schema) -> Schema:
    """Return the schema with its repeated parts in `$defs`, in the order in which they are first referred to."""
    uses: Counter[str] = Counter()
    _count(schema, uses)
    parts = _Parts(uses, dict(schema.get("$defs", {})))
    whole = {name: parts.within(name, value) for name, value in schema.items() if name != "$defs"}
    return whole | {"$defs": parts.defined} if parts.defined else whole


class _Shape(NamedTuple):
    """A part without its description, and the description."""

    bare: Schema
    described: Schema

    @classmethod
    def of(cls, schema: Schema) -> "_Shape":
        bare = {name: value for name, value in schema.items() if name != "description"}
        return cls(bare, {"description": schema["description"]} if "description" in schema else {})


class _Parts:
    """The parts of one schema that are worth sharing."""

    def __init__(self, uses: Counter[str], defined: Schema) -> None:
        self.defined = defined
        self._uses = uses
        self._names: dict[str, str] = {}

    def within(self, keyword: str, value: Any) -> Any:
        """Return a keyword's value with references to shared parts."""
        match keyword:
            case "properties":
                return {name: self._part(inner, name) for name, inner in value.items()}
            case "anyOf":
                return [self._part(inner, None) for inner in value]
            case "items":
                return self._part(value, None)
        return value

    def _part(self, schema: Schema, name: str | None) -> Schema:
        if self._is_worth(schema, _REFERENCE_LENGTH):
            return self._referred(schema, name or _kind(schema))
        return self._written_out(schema)

    def _written_out(self, schema: Schema) -> Schema:
        """Return a part with its own description, the rest of it perhaps by reference."""
        shape = _Shape.of(schema)
        if shape.described and self._is_worth(shape.bare, _WRAPPED_LENGTH):
            return {"anyOf": [self._referred(shape.bare, _kind(shape.bare))]} | shape.described
        return self._inside(schema)

    def _inside(self, schema: Schema) -> Schema:
        return {keyword: self.within(keyword, value) for keyword, value in schema.items()}

    def _is_worth(self, schema: Schema, length: int) -> bool:
        text = _written(schema)
        return (self._uses[text] - 1) * (len(text) - length) >= _WORTH

    def _referred(self, schema: Schema, wanted: str) -> Schema:
        text = _written(schema)
        if text not in self._names:
            name = self._names[text] = self._free(wanted)
            self.defined[name] = {}  # keeps its place before the parts inside it
            self.defined[name] = self._written_out(schema)
        return {"$ref": f"#/$defs/{self._names[text]}"}

    def _free(self, wanted: str) -> str:
        names = (wanted, *(f"{wanted}_{number}" for number in range(2, len(self.defined) + 3)))
        return next(name for name in names if name not in self.defined)


def _count(schema: Schema, uses: Counter[str]) -> None:
    """Count the parts, with and without their descriptions. What is inside a repeated part counts once."""
    for part in _parts_of(schema):
        shape, text = _Shape.of(part), _written(part)
        uses[text] += 1
        if shape.described:
            uses[_written(shape.bare)] += uses[text] == 1
        if uses[text] == 1:
            _count(part, uses)


def _parts_of(schema: Schema) -> list[Schema]:
    parts = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    return [*parts, schema["items"]] if "items" in schema else parts


def _kind(schema: Schema) -> str:
    """Return a name for a shape, such as `nullable_string`."""
    branches = [branch for branch in schema.get("anyOf", [schema]) if "$ref" not in branch]
    kinds = [_kind_of_one(branch) for branch in branches if branch != NULL]
    name = "_or_".join(dict.fromkeys(kinds)) or "value"
    return f"nullable_{name}" if NULL in branches else name


def _kind_of_one(schema: Schema) -> str:
    return "choice" if "enum" in schema else str(schema.get("format", schema.get("type", "value"))).replace("-", "_")


def _written(schema: Schema) -> str:
    return json.dumps(schema, separators=(",", ":"))
