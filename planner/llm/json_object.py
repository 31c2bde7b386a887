"""Find the JSON object in a language model's text, and refuse one that could not be stored."""

import json
import math
import re
from typing import Any

from turnloom.models.contracts.plan import Fault
from turnloom.models.errors import InvalidPlan

_MAX_DEPTH = 64
_MOST_TRIES = 32
"""Most places in a text where an object may begin. It keeps the search linear."""
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_STRING_OR_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+"?|,(?=\s*[}\]])', re.DOTALL)


def read_object(text: str) -> dict[str, Any]:
    """Return the largest JSON object in a text. Prose, a code fence and smaller objects around it are ignored.

    A comma before a closing bracket is ignored too.

    Raises:
        InvalidPlan: the text holds no JSON object, or one that could not be stored.
    """
    found: dict[str, Any] = {}
    size, place, problem = 0, text.find("{"), "the answer holds no JSON object"
    for _ in range(_MOST_TRIES):
        if place < 0:
            break
        try:
            data, end = _read_at(text, place)
        except json.JSONDecodeError as error:
            problem = f"the answer is not JSON: {error}"
            end = max(place + 1, error.pos)  # an object inside a broken one is not the answer
        else:
            if end - place > size:
                found, size = data, end - place
        place = text.find("{", end)
    if not size:
        raise _unreadable(problem)
    check_storable(found)
    return found


def read_value(text: str) -> Any:
    """Read a text that is JSON as a whole.

    Raises:
        ValueError: it is not JSON.
        InvalidPlan: it could not be stored.
    """
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    check_storable(data)
    return data


def check_storable(data: Any) -> None:
    """Refuse data that Postgres could not store, or so deep that later code would exhaust its stack.

    Raises:
        InvalidPlan: it is such data.
    """
    waiting = [(data, 1)]
    while waiting:
        value, depth = waiting.pop()
        if depth > _MAX_DEPTH:
            raise _unreadable("the answer is nested too deeply")
        if isinstance(value, dict):
            waiting += [(part, depth + 1) for item in value.items() for part in item]
        elif isinstance(value, list):
            waiting += [(item, depth + 1) for item in value]
        elif isinstance(value, float) and not math.isfinite(value):
            raise _unreadable("a number of the answer is beyond what JSON can hold")
        elif isinstance(value, int) and not -(2**63) <= value < 2**64:
            raise _unreadable("a whole number of the answer is beyond 64 bits")
        elif isinstance(value, str) and _UNSTORABLE.search(value):
            raise _unreadable("a string of the answer holds NUL or half of a surrogate pair")


def _read_at(text: str, start: int) -> tuple[dict[str, Any], int]:
    """Return the object that begins here and the place where it ends."""
    try:
        try:
            return _DECODER.raw_decode(text, start)
        except json.JSONDecodeError:
            # Commas become blanks, so that every place stays where it is.
            blanked = _STRING_OR_TRAILING_COMMA.sub(lambda match: " " if match[0] == "," else match[0], text[start:])
            return _DECODER.raw_decode(text[:start] + blanked, start)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise _unreadable("the answer is nested too deeply") from None
    except ValueError as error:
        raise _unreadable(f"the answer is not JSON: {error}") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _unreadable(message: str) -> InvalidPlan:
    fault = Fault(step=None, code="not_json", message=message)
    return InvalidPlan(message, faults=[fault.model_dump()])


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
