"""The names of types in foreign schemas, and the JSON schema of each."""

import re
from typing import Any

from turnloom.models.errors import Invalid

Schema = dict[str, Any]

_NAMES = {
    "string": "string str text char character varchar nvarchar",
    "integer": "integer int long short bigint int32 int64 uint uint32 uint64",
    "number": "number num float double decimal real float32 float64",
    "boolean": "boolean bool",
    "array": "array list tuple set sequence iterable arraylist vector collection",
    "object": "object dict dictionary map mapping hashmap hashtable struct record",
    "null": "null none nonetype nil void undefined",
}
_FORMATS = {
    "date": "date localdate",
    "date-time": "datetime date-time timestamp",
    "time": "time",
    "email": "email",
    "uri": "url uri link",
    "uuid": "uuid guid",
}
_KINDS: dict[str, Schema] = (
    {name: {"type": kind} for kind, names in _NAMES.items() for name in names.split()}
    | {name: {"type": "string", "format": form} for form, names in _FORMATS.items() for name in names.split()}
    | {name: {} for name in ("any", "mixed", "unknown", "")}
)
_ENCLOSING = re.compile(r"([\w.-]+) ?[\[<(](.*)[\]>)]", re.DOTALL)
_LONGEST = 200


def schema_of_kind(kind: Any) -> Schema:
    """Return the schema of a type by its name in JSON, Python, Java, JavaScript or SQL.

    Raises:
        Invalid: JSON has no such type.
    """
    if not isinstance(kind, str) or len(kind) > _LONGEST:
        raise Invalid(f"{str(kind)[:40]!r} is not the name of a type")
    name = kind.strip().lower()
    if name in _KINDS:
        return dict(_KINDS[name])
    if name.endswith("[]"):
        return _of_items(name[:-2])
    if "|" in name and "[" not in name:
        return {"anyOf": [schema_of_kind(one) for one in name.split("|")]}
    if enclosing := _ENCLOSING.fullmatch(name):
        return _enclosed(enclosing[1].removeprefix("typing."), enclosing[2])
    raise Invalid(f"the type {kind!r} does not exist in JSON")


def nullable(schema: Schema) -> Schema:
    """Return the schema with null allowed as well."""
    kept: Schema = {word: schema.pop(word) for word in ("title", "description", "default") if word in schema}
    return {"anyOf": [schema, {"type": "null"}], **kept}


def _enclosed(outer: str, inner: str) -> Schema:
    if outer == "optional":
        return nullable(schema_of_kind(inner))
    schema = schema_of_kind(outer)
    return _of_items(inner) if schema.get("type") == "array" and "," not in inner else schema


def _of_items(kind: str) -> Schema:
    return {"type": "array", "items": schema_of_kind(kind)}
