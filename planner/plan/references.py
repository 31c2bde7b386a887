"""References between steps: typed before anything runs, filled in before each call.

Types are JSON schemas as pydantic writes them. The output of the producing tool is compared with the input of the
consuming tool. What a schema leaves open passes, because the call itself validates again.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from turnloom.models.contracts.plan import find_references, is_reference, parse_reference
from turnloom.models.errors import ToolFailed

Schema = Mapping[str, Any]

MAX_ARGS_BYTES = 1_048_576
"""Most bytes of a call's arguments as JSON. A few references can stand for gigabytes."""

_DEPTH = 12
"""Schemas nested deeper than this (recursive ones) count as compatible."""


def resolve_args(args: Mapping[str, Any], results: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with every reference filled in.

    An argument that refers to a step without a result is left out. That happens if the step failed and this one runs
    anyway; the tool's own model decides whether it can do without the argument.

    Raises:
        LookupError: a result has nothing at the place of a reference; the message names the reference.
        ToolFailed: BAD_ARGS, the arguments are larger than `MAX_ARGS_BYTES`, or are not JSON.
    """
    count = _Count(MAX_ARGS_BYTES)
    filled = {name: resolve(value, results, count) for name, value in args.items() if _has_results(value, results)}
    _Count(MAX_ARGS_BYTES).add(filled)
    return filled


def holds(condition: Mapping[str, Any], results: Mapping[str, Any]) -> bool:
    """Return whether a step's `run_if` holds.

    It holds if the value is truthy, or equals `equals` if that is given. `not` reverses it. A reference to nothing is
    None.
    """
    try:
        found = _found({"$from": condition["$from"]}, results)
    except LookupError:
        found = None
    held = found == condition["equals"] if "equals" in condition else bool(found)
    return held != bool(condition.get("not", False))


def resolve(value: Any, results: Mapping[str, Any], count: "_Count | None" = None) -> Any:
    """Return the value with every reference replaced by its value in `results` (step id -> result).

    Raises:
        LookupError: a reference points to nothing; the message names it.
        ToolFailed: the values exceed what `count` allows.
    """
    if is_reference(value):
        found = _found(value, results)
        if count is not None:
            count.add(found)
        return found
    if isinstance(value, dict):
        return {key: resolve(inner, results, count) for key, inner in value.items()}
    if isinstance(value, list):
        return [resolve(inner, results, count) for inner in value]
    return value


def schema_at(schema: Schema, path: tuple[str | int, ...]) -> Schema | None:
    """Return the schema at this path: {} if it is left open, None if nothing can be there."""
    alternatives = [(alternative, schema) for alternative in _alternatives(schema, schema)]
    for part in path:
        alternatives = [
            (deeper, root)
            for alternative, root in alternatives
            if (inner := _child(alternative, part)) is not None
            for deeper in _alternatives(inner, root)
        ]
    if not alternatives:
        return None
    return {"anyOf": [alternative for alternative, _ in alternatives], "$defs": schema.get("$defs", {})}


def compatible(source: Schema, target: Schema) -> bool:
    """Return whether a value of the source schema can stand where the target schema is wanted."""
    return _fits(source, source, target, target, _DEPTH)


def _has_results(value: Any, results: Mapping[str, Any]) -> bool:
    references = (parse_reference(raw) for _, raw in find_references(value))
    return all(reference is None or reference.step in results for reference in references)


class _Count:
    """A count of the bytes that references have added so far."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0

    def add(self, value: Any) -> None:
        """Count a value.

        Raises:
            ToolFailed: BAD_ARGS, the value is too large or is not JSON.
        """
        try:
            self._bytes += len(orjson.dumps(value))
        except TypeError as error:
            raise ToolFailed(f"the arguments cannot be written as JSON: {error}", code="BAD_ARGS") from None
        if self._bytes > self._most:
            message = f"the arguments are at least {self._bytes} bytes with their references filled in"
            raise ToolFailed(f"{message}; {self._most} are allowed: refer to parts of results", code="BAD_ARGS")


def _found(raw: dict[str, Any], results: Mapping[str, Any]) -> Any:
    """Return the value that a reference points to."""
    reference = parse_reference(raw)
    if reference is None or reference.step not in results:
        raise LookupError(f"the reference {raw['$from']!r} points to a step without a result")
    found = results[reference.step]
    for part in reference.path:
        found = _descend(found, part, str(reference))
    return found


def _descend(value: Any, part: str | int, reference: str) -> Any:
    try:
        if isinstance(value, list) and isinstance(part, str) and part.isdecimal():
            return value[int(part)]
        return value[part]
    except (KeyError, IndexError, TypeError):
        raise LookupError(f"the reference {reference!r} finds nothing at {part!r}") from None


def _fits(source: Schema, source_root: Schema, target: Schema, target_root: Schema, depth: int) -> bool:
    if depth == 0:
        return True
    wanted = list(_alternatives(target, target_root))
    offered = [schema for schema in _alternatives(source, source_root) if schema.get("type") != "null"]
    return any(_fits_one(one, source_root, other, target_root, depth) for one in offered for other in wanted)


def _fits_one(source: Schema, source_root: Schema, target: Schema, target_root: Schema, depth: int) -> bool:
    have, want = _type(source), _type(target)
    if have is None or want is None:
        return True
    if have == "array" and want == "array":
        return _fits(source.get("items", {}), source_root, target.get("items", {}), target_root, depth - 1)
    if have == "object" and want == "object":
        return _fits_object(source, source_root, target, target_root, depth)
    return have == want or (have == "integer" and want == "number")


def _fits_object(source: Schema, source_root: Schema, target: Schema, target_root: Schema, depth: int) -> bool:
    offered, wanted = source.get("properties", {}), target.get("properties", {})
    if "properties" not in source:
        return True
    if not set(target.get("required", ())) <= set(offered):
        return False
    if target.get("additionalProperties") is False and not set(offered) <= set(wanted):
        return False
    return all(
        _fits(offered[name], source_root, wanted[name], target_root, depth - 1) for name in set(offered) & set(wanted)
    )


def _type(schema: Schema) -> str | None:
    if "type" in schema:
        return str(schema["type"])
    values = [schema["const"]] if "const" in schema else schema.get("enum", ())
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number"}
    return kinds.get(type(values[0])) if values else None


def _alternatives(schema: Schema, root: Schema) -> Iterator[Schema]:
    """Yield the alternatives of a schema, with `$ref`, `anyOf` and `oneOf` unfolded."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        yield from _alternatives(root.get("$defs", {}).get(name, {}), root)
    elif branches := schema.get("anyOf") or schema.get("oneOf"):
        for branch in branches:
            yield from _alternatives(branch, root)
    else:
        yield schema


def _child(schema: Schema, part: str | int) -> Schema | None:
    kind = _type(schema)
    if kind is None:
        return {}
    if isinstance(part, str) and kind == "object":
        properties = schema.get("properties", {})
        if part in properties:
            return dict(properties[part])
        rest = schema.get("additionalProperties", "properties" not in schema)
        return {} if rest is True else rest or None
    if kind == "array" and (isinstance(part, int) or part.isdecimal()):
        return dict(schema.get("items", {}))
    return None
