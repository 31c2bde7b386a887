"""Make envelopes from results, questions and failures of tools. Pure."""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, get_args

import orjson
from pydantic import BaseModel, ValidationError

from turnloom.models.contracts.envelope import Envelope, ErrorCode, ToolError
from turnloom.models.runtime.value_faults import faults_of
from turnloom.tools.registry import Tool

MAX_RESULT_BYTES = 1_048_576
"""Largest result, as JSON. It is stored with its step and read by the steps that refer to it."""

_ERROR_CODES = frozenset(get_args(ErrorCode))
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_MASK = "***"
_LONGEST_MESSAGE = 2_000
_SHORTEST_SECRET = 4
"""Shorter secrets are not masked: they also occur inside unrelated words."""


def checked(tool: Tool, result: object) -> Envelope:
    """Check a result against the tool's output model and turn it into JSON."""
    try:
        # Dump instances too: being an instance proves nothing, since `model_construct` checks no field.
        plain = result.model_dump(warnings="error") if isinstance(result, BaseModel) else result
        # Call `storable` before the JSON dump, which writes null for NaN, and after it, because it makes new strings.
        valid = tool.output.model_validate(storable(plain), by_name=True)
        data = storable(valid.model_dump(mode="json"))
        size = len(orjson.dumps(data))
    except ValidationError as error:
        return failure(
            "INTERNAL_ERROR",
            f"{tool.name} returned data that its output model refuses: {faults_of(error, 'arguments')}",
        )
    except (ValueError, TypeError, RecursionError) as error:
        return failure("INTERNAL_ERROR", f"{tool.name} returned data that JSON cannot hold: {error}")
    if size > MAX_RESULT_BYTES:
        message = f"{tool.name} returned {size} bytes of JSON; {MAX_RESULT_BYTES} are allowed: return less, or a link"
        return failure("INTERNAL_ERROR", message)
    return Envelope(ok=True, data=data)


def asking(needs: Mapping[str, bool | list[Any]]) -> Envelope:
    """Return the envelope of a tool that asks the user for something.

    Raises:
        ValueError, TypeError: the ledger cannot store the questions.
    """
    asked = storable(dict(needs))
    if (size := len(orjson.dumps(asked))) > MAX_RESULT_BYTES:
        raise ValueError(f"the questions have {size} bytes; at most {MAX_RESULT_BYTES} are allowed")
    return Envelope(ok=False, needs=asked)


def failure(
    code: str,
    message: str,
    retry_at: datetime | None = None,
    unknown: ErrorCode = "INTERNAL_ERROR",
    cause: Mapping[str, str | int] | None = None,
) -> Envelope:
    """Return the envelope of a failure. `unknown` replaces a code that is not in the closed list."""
    told = storable(message[:_LONGEST_MESSAGE])
    error = ToolError(code=known(code, unknown), message=told, retry_at=retry_at, cause=storable(cause))
    return Envelope(ok=False, error=error)


def known(code: str, unknown: ErrorCode) -> ErrorCode:
    """Return the code if it is in the closed list, otherwise `unknown`."""
    return code if code in _ERROR_CODES else unknown  # type: ignore[return-value]


def storable(value: Any) -> Any:
    """Return a copy of a value that jsonb can hold: NUL and lone surrogates become U+FFFD.

    Raises:
        ValueError: the value contains NaN or an infinite number.
    """
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {storable(key): storable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [storable(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a number in JSON")
    return value


def redacted(message: str, tool: Tool, query: BaseModel) -> str:
    """Mask the arguments that a tool redacts in its failure message, which events and logs show."""
    if not tool.redact:
        return message
    for secret in sorted(_secrets(query.model_dump(mode="json"), tool.redact), key=len, reverse=True):
        message = message.replace(secret, _MASK)
    return message


def _secrets(value: Any, names: frozenset[str], *, is_secret: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _secrets(inner, names, is_secret=is_secret or name in names)
    elif isinstance(value, list):
        for inner in value:
            yield from _secrets(inner, names, is_secret=is_secret)
    elif is_secret and len(str(value)) >= _SHORTEST_SECRET:
        yield str(value)
