"""Identity of calls: two calls are the same if the tool reads the same values from their arguments.

For the backend, two calls are the same if they have the same idempotency key.
"""

import hashlib
from typing import Any
from uuid import UUID

import orjson
from pydantic_core import to_jsonable_python

from turnloom.tools.registry import Tool

_EXACT = 2**53
"""From here on, floats no longer represent every whole number."""


def call_hash(tool: Tool, args: dict[str, Any]) -> str | None:
    """Return a digest of a call as the tool's input model reads it. None means that the model refuses the arguments.

    Defaults are filled in, and `7` and `7.0` count as the same number.
    """
    read = read_values(tool, args)
    try:
        canonical = None if read is None else orjson.dumps([tool.name, read], option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return None
    return hashlib.sha256(canonical).hexdigest()[:40] if canonical else None


def idempotency_key(turn_id: UUID, step_id: str, args: dict[str, Any]) -> str:
    """Return the key of a call: the same for the same turn, step and arguments, whatever the attempt."""
    canonical = orjson.dumps(args, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(f"{turn_id}|{step_id}|".encode() + canonical).hexdigest()[:40]


def read_values(tool: Tool, args: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments as the tool's input model reads them, with plain numbers; None if it refuses them."""
    try:
        read: dict[str, Any] = plain_numbers(tool.input.model_validate(args).model_dump(mode="json"))
    except (ValueError, TypeError):
        return None
    return read


def with_defaults(tool: Tool, args: dict[str, Any]) -> dict[str, Any]:
    """Return arguments as they are written, with the defaults of those left out. The model may refuse them."""
    left_out = {name: field for name, field in tool.input.model_fields.items() if name not in args}
    defaults = {
        name: each.get_default(call_default_factory=True) for name, each in left_out.items() if not each.is_required()
    }
    return {**to_jsonable_python(defaults), **plain_numbers(args)}


def plain_numbers(value: Any) -> Any:
    """Return a JSON value with whole floats as integers."""
    if isinstance(value, dict):
        return {name: plain_numbers(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain_numbers(inner) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return value
