"""Translate the schemas of foreign tools into the few words of JSON schema that all of our code understands.

In: anything that a server calls a schema: any draft, OpenAPI's, or something similar.  Out: a finite tree in the words
of draft 2020-12 without references, or `Invalid` with the reason why there is none.

`left_out` names the words that the translation does not check. Only the server checks these. The translation never
tightens a schema: a value that the server takes is not refused here. The one exception is that a schema with properties
requires an object.
"""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import orjson

from turnloom.models.errors import Invalid
from turnloom.tools.mcp.foreign_texts import LONGEST_NAME, clean, is_readable
from turnloom.tools.mcp.schema_keywords import PLAIN
from turnloom.tools.mcp.type_names import Schema, nullable, schema_of_kind

MAX_BYTES = 65_536
"""Largest schema, as JSON."""
MAX_NODES = 1_000
"""Most subschemas of a schema, with references written out, because a value may be checked against each of them."""
MAX_DEPTH = 24

_UNCHECKED = frozenset(
    {
        "not",
        "if",
        "then",
        "else",
        "contains",
        "minContains",
        "maxContains",
        "propertyNames",
        "patternProperties",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "unevaluatedProperties",
        "unevaluatedItems",
        "uniqueItems",
        "$dynamicRef",
        "$recursiveRef",
        "extends",
        "disallow",
    }
)
"""Words that are not checked.

They are rare, expensive, or negate a subschema, which may itself contain unchecked words."""

_OTHER_NAMES = {
    "desc": "description",
    "allowed_values": "enum",
    "possible_values": "enum",
    "default_value": "default",
    "divisibleBy": "multipleOf",
}
_STRUCTURE = frozenset({"type", "properties", "$ref", "anyOf", "oneOf", "allOf", "additionalProperties", "$schema"})


@dataclass
class Translation:
    """A translated schema."""

    schema: Schema
    left_out: list[str] = field(default_factory=list)
    """Words of the foreign schema that are not checked, in alphabetical order."""


def translate(raw: Any) -> Translation:
    """Translate the schema of an object. Arguments and results are objects.

    Raises:
        Invalid: the schema cannot be translated. The message says why.
    """
    try:
        size = len(orjson.dumps(raw))
    except (TypeError, ValueError) as error:  # orjson's own errors are subclasses of these; one is for deep nesting
        raise Invalid(f"the schema is not JSON that can be stored: {error}") from error
    if size > MAX_BYTES:
        raise Invalid(f"the schema has {size} bytes; {MAX_BYTES} are allowed")
    raw = as_object(raw)
    if not isinstance(raw, dict):
        raise Invalid(f"expected the schema of an object, found {_shown(raw)}")
    if isinstance(raw.get("type"), list) and "object" in raw["type"]:
        raw = raw | {"type": "object"}
    walk = _Walk(raw)
    schema = walk.translate(raw, 0)
    if schema.setdefault("type", "object") != "object":
        raise Invalid("the schema does not describe an object")
    if not schema.get("properties") and "properties" not in raw:
        # A schema that does not mention properties leaves them open. A plan gives such arguments as a whole.
        schema.setdefault("additionalProperties", True)
    return Translation(schema, sorted(walk.left_out))


def as_object(raw: Any) -> Any:
    """Wrap a mere map of names to schemas into the schema of an object with these properties."""
    is_map = isinstance(raw, dict) and raw and all(isinstance(inner, dict) for inner in raw.values())
    words = {name for name in raw if name in _STRUCTURE and name != "type"} if is_map else set()
    return {"type": "object", "properties": raw} if is_map and not words else raw


class _Walk:
    """The translation of one schema. It counts the parts and follows references."""

    def __init__(self, root: Any) -> None:
        self.left_out: set[str] = set()
        self._root = root
        self._nodes = 0
        self._followed: list[str] = []

    def translate(self, raw: Any, depth: int) -> Schema:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise Invalid(f"the schema has more than {MAX_NODES} parts, references written out")
        if depth > MAX_DEPTH:
            raise Invalid(f"the schema is nested more than {MAX_DEPTH} levels deep")
        if isinstance(raw, bool):
            return {} if raw else {"not": {}}
        if isinstance(raw, str):
            return self._of_kind(raw, {}, depth)
        if not isinstance(raw, dict):
            raise Invalid(f"expected a schema, found {_shown(raw)}")
        raw = {_OTHER_NAMES.get(key, key): value for key, value in raw.items()}
        self.left_out |= {word for word in raw.keys() & _UNCHECKED if raw[word] is not False}
        schema = self._referred(raw, depth) if "$ref" in raw else self._described(raw, depth)
        return nullable(schema) if raw.get("nullable") is True or raw.get("x-nullable") is True else schema

    def _referred(self, raw: dict[str, Any], depth: int) -> Schema:
        """Replace a reference by its target. If the target refers back to itself, allow anything there."""
        reference = raw["$ref"]
        target = self._resolve(reference)
        if reference in self._followed:
            self.left_out.add("$ref to itself")
            found: Schema = {}
        else:
            self._followed.append(reference)
            found = self.translate(target, depth + 1)
            self._followed.pop()
        beside = self._described({key: value for key, value in raw.items() if key != "$ref"}, depth)
        constraints = beside.keys() - {"description", "title", "default"}
        return {"allOf": [found, beside]} if constraints else found | beside

    def _resolve(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            raise Invalid(f"the reference {_shown(reference)} points outside the schema")
        found = self._root
        for part in reference.split("/")[1:]:
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            elif isinstance(found, dict) and name in found:
                found = found[name]
            else:
                raise Invalid(f"the reference {_shown(reference)} points to nothing")
        return found

    def _described(self, raw: dict[str, Any], depth: int) -> Schema:
        kind = raw.get("type")
        if isinstance(kind, list) and kind:
            branches = [self._of_kind(one, raw, depth) for one in kind]
            return branches[0] if len(branches) == 1 else {"anyOf": branches}
        if kind is None:
            kind = "object" if isinstance(raw.get("properties"), dict) else "any"
        return self._of_kind(kind, raw, depth)

    def _of_kind(self, kind: Any, raw: dict[str, Any], depth: int) -> Schema:
        if isinstance(kind, dict):  # a schema among the types, as in draft 3
            return self.translate(kind, depth + 1)
        schema = schema_of_kind(kind)
        schema |= self._annotations(raw)
        schema |= self._plain(raw)
        schema |= self._branches(raw, depth)
        if schema.get("type") in ("object", None):
            schema |= self._object(raw, depth)
        if schema.get("type") in ("array", None):
            schema |= self._array(raw, depth)
        return schema

    def _annotations(self, raw: dict[str, Any]) -> Schema:
        found = {word: clean(raw[word]) for word in ("title", "description") if isinstance(raw.get(word), str)}
        default = raw.get("default")
        is_short = default is not None and len(orjson.dumps(default)) <= LONGEST_NAME
        return {key: text for key, text in found.items() if text} | ({"default": default} if is_short else {})

    def _plain(self, raw: dict[str, Any]) -> Schema:
        """Copy the words whose values are not schemas, if their values are valid."""
        schema: Schema = {}
        for word in PLAIN.keys() & raw.keys():
            if PLAIN[word](raw[word]):
                schema[word] = raw[word]
            elif raw[word] not in (None, [], "", False, True):
                self.left_out.add(word)
        for bound in ("minimum", "maximum"):
            exclusive = f"exclusive{bound.capitalize()}"
            if raw.get(exclusive) is True and bound in schema:  # draft 4
                schema[exclusive] = schema.pop(bound)
        return dict(sorted(schema.items()))

    def _branches(self, raw: dict[str, Any], depth: int) -> Schema:
        """Translate the combining words. `oneOf` becomes `anyOf`: with fewer checks inside, more branches may fit."""
        schema: Schema = {}
        for word, ours in (("anyOf", "anyOf"), ("oneOf", "anyOf"), ("allOf", "allOf")):
            if isinstance(raw.get(word), list) and raw[word]:
                branches = {ours: [self.translate(one, depth + 1) for one in raw[word]]}
                schema = {"allOf": [schema, branches]} if ours in schema else schema | branches
        return schema

    def _object(self, raw: dict[str, Any], depth: int) -> Schema:
        inner = raw.get("properties")
        if inner is not None and not isinstance(inner, dict):
            raise Invalid(f"`properties` is {_shown(inner)}, not an object")
        schema: Schema = {}
        if isinstance(inner, dict):
            schema["properties"] = {_property(name): self.translate(one, depth + 1) for name, one in inner.items()}
        if required := _required(raw, inner or {}):
            schema["required"] = required
        rest = raw.get("additionalProperties")
        if isinstance(rest, bool | dict) and "patternProperties" not in raw:
            schema["additionalProperties"] = rest if isinstance(rest, bool) else self.translate(rest, depth + 1)
        return schema

    def _array(self, raw: dict[str, Any], depth: int) -> Schema:
        items, first = raw.get("items"), raw.get("prefixItems")
        if isinstance(items, list):  # before draft 2020-12
            first, items = items, raw.get("additionalItems")
        schema: Schema = {}
        if isinstance(first, list) and first:
            schema["prefixItems"] = [self.translate(one, depth + 1) for one in first]
        if items is not None:
            schema["items"] = self.translate(items, depth + 1)
        return schema


def _required(raw: dict[str, Any], inner: dict[str, Any]) -> list[str]:
    """Return the names in the list `required`, and those of properties that are themselves marked as required."""
    said = raw.get("required")
    names = [name for name in said if isinstance(name, str)] if isinstance(said, list) else []
    names += [name for name, one in inner.items() if isinstance(one, dict) and one.get("required") is True]
    return list(dict.fromkeys(names))


def _property(name: str) -> str:
    if name == "$from" or not 0 < len(name) <= LONGEST_NAME or not is_readable(name):
        raise Invalid(f"{_shown(name)} cannot be the name of an argument")
    return name


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
