"""Identity of calls: two calls are the same if the tool reads the same values from their arguments."""

import hashlib
from typing import Any

import orjson

from turnloom.tools.registry import Tool

_EXACT = 2**53
"""From here on, floats no longer represent every whole number."""


def call_hash(tool: Tool, args: dict[str, Any]) -> str | None:
    """Return a digest of a call as the tool's input model reads it. None means that the model refuses the arguments.

    Defaults are filled in, and `7` and `7.0` count as the same number.
    """
    try:
        read = tool.input.model_validate(args).model_dump(mode="json")
        canonical = orjson.dumps([tool.name, _plain(read)], option=orjson.OPT_SORT_KEYS)
    except (ValueError, TypeError):
        return None
    return hashlib.sha256(canonical).hexdigest()[:40]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return value
