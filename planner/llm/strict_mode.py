"""Strict mode: the part of JSON schema in which a model's answer can be enforced.

Every object is closed, every property required (an optional one may be null), with no free-form objects, no `oneOf`,
`allOf`, `not`, `if`, and at most ten levels.
"""

import re
from typing import Any

LEVELS = 10
"""Most levels of a whole answer."""

_KEPT = frozenset({"enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
"""Constraints that strict mode knows; the others are left to validation."""

_PLAIN_PATTERN = re.compile(r"\^(?:[\w :/@,~=<>!%&;#+*?|(){}\[\]-]|\\[.\[\]()+*?/-]|\.)*\$?", re.ASCII)
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})

_SCALARS = frozenset({"string", "number", "integer", "boolean", "null"})

Schema = dict[str, Any]

NULL: Schema = {"type": "null"}


class _NotStrict(Exception):
    """The schema cannot be expressed in strict mode."""


def strict(schema: Schema, root: Schema, levels: int) -> Schema | None:
    """Return a schema in strict form, without its references into `root`; None if it has no such form."""
    try:
        return _convert(schema, root, levels)
    except (_NotStrict, RecursionError):  # a reference to itself, which only a foreign schema has
        return None


def closed(properties: Schema) -> Schema:
    """Return the schema of an object with exactly these properties."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def optional(schema: Schema) -> Schema:
    """Return a schema that also allows null."""
    return union(schema, NULL)


def union(*branches: Schema) -> Schema:
    """Join alternatives, each once, with nested unions unfolded. A description of the whole moves up."""
    flat: list[Schema] = []
    description: Schema = {}
    for branch in branches:
        if "anyOf" in branch and "description" in branch:
            description = {"description": branch["description"]}
        for one in branch.get("anyOf", [branch]):
            if one not in flat:
                flat.append(one)
    return flat[0] if len(flat) == 1 else {"anyOf": flat} | description


def _convert(schema: Any, root: Schema, depth: int) -> Schema:
    if not isinstance(schema, dict) or depth == 0 or schema.keys() & {"not", "if", "prefixItems", "patternProperties"}:
        raise _NotStrict
    described = {"description": str(schema["description"])} if schema.get("description") else {}
    if "$ref" in schema:
        return _convert(_resolve(schema["$ref"], root), root, depth) | described
    joined = schema.get("allOf", [])
    if len(joined) > 1:
        raise _NotStrict
    if branches := schema.get("anyOf") or schema.get("oneOf") or joined:
        return union(*(_convert(branch, root, depth - 1) for branch in branches)) | described
    return _convert_typed(schema, root, depth) | described


def _convert_typed(schema: Schema, root: Schema, depth: int) -> Schema:
    match schema.get("type") or _type_of_values(schema):
        case "object":
            return _convert_object(schema, root, depth)
        case "array":
            return {"type": "array", "items": _convert(schema.get("items"), root, depth - 1)} | _bounds(schema)
        case list() as kinds:
            return union(*(_convert_typed({**schema, "type": kind}, root, depth) for kind in kinds))
        case str() as kind if kind in _SCALARS:
            kept = {key: schema[key] for key in schema.keys() & _KEPT}
            return {"type": kind} | dict(sorted(kept.items())) | _format(schema) | _pattern(schema)
    raise _NotStrict


def _convert_object(schema: Schema, root: Schema, depth: int) -> Schema:
    properties = schema.get("properties")
    if not properties or isinstance(schema.get("additionalProperties"), dict):
        raise _NotStrict
    required = schema.get("required", ())
    converted = {name: _convert(inner, root, depth - 1) for name, inner in properties.items()}
    return closed({name: inner if name in required else optional(inner) for name, inner in converted.items()})


def _resolve(reference: str, root: Schema) -> Any:
    found: Any = root
    for part in reference.removeprefix("#/").split("/"):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _type_of_values(schema: Schema) -> str | None:
    values = [schema["const"]] if "const" in schema else schema.get("enum", [])
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    found = {kinds.get(type(value)) for value in values}
    return found.pop() if len(found) == 1 else None


def _bounds(schema: Schema) -> Schema:
    return {key: schema[key] for key in ("minItems", "maxItems") if key in schema}


def _pattern(schema: Schema) -> Schema:
    """Keep a pattern that all grammars read alike: without groups that look around, and without escapes of classes."""
    pattern = schema.get("pattern")
    is_plain = isinstance(pattern, str) and _PLAIN_PATTERN.fullmatch(pattern) and "(?" not in pattern
    return {"pattern": pattern} if is_plain else {}


def _format(schema: Schema) -> Schema:
    return {"format": schema["format"]} if schema.get("format") in _FORMATS else {}
