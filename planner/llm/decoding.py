"""Decoding turns a language model's text into a plan's data: find the JSON, read it strictly, undo strict mode.

It checks only that the text is JSON that can be stored; `planner.plan.validation` finds the faults of the plan.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from turnloom.models.contracts.plan import Fault, is_reference
from turnloom.models.errors import InvalidPlan
from turnloom.planner.llm.schema import json_text_arguments, takes_json_text
from turnloom.tools.registry import Registry, Tool

_MAX_DEPTH = 64
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def decode(text: str, tools: Registry) -> dict[str, Any]:
    """Return the plan's data. Nulls of absent arguments are dropped, and arguments in JSON text are decoded.

    Prose or a code fence around the JSON is ignored.

    Raises:
        InvalidPlan: the text holds no JSON object, or one that could not be stored.
    """
    plan = _read_object(text)
    steps = plan.get("steps")
    if isinstance(steps, list):
        plan["steps"] = [decode_step(step, tools) if isinstance(step, dict) else step for step in steps]
    return plan


def _read_object(text: str) -> dict[str, Any]:
    start = text.find("{")
    if start < 0:
        raise _unreadable("the answer holds no JSON object")
    try:
        data, _ = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode(text, start)
    except RecursionError:
        raise _unreadable("the answer is nested too deeply") from None
    except ValueError as error:
        raise _unreadable(f"the answer is not JSON: {error}") from None
    check_storable(data)
    assert isinstance(data, dict)
    return data


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


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


def _unreadable(message: str) -> InvalidPlan:
    fault = Fault(step=None, code="not_json", message=message)
    return InvalidPlan(message, faults=[fault.model_dump()])


def decode_step(step: dict[str, Any], tools: Registry) -> dict[str, Any]:
    """Return one step of a plan as data, its shape unchecked.

    Raises:
        InvalidPlan: arguments in JSON text hold data that could not be stored.
    """
    step = {key: value for key, value in step.items() if value is not None}
    tool, args = _named(step, tools), step.get("args")
    if tool is not None:
        step["tool"] = tool.name
    if isinstance(args, str):
        args = step["args"] = _parsed(args)
    if tool is None or not isinstance(args, dict) or takes_json_text(tool):
        return step
    texts = json_text_arguments(tool)
    given = {key: _parsed(value) if key in texts and isinstance(value, str) else value for key, value in args.items()}
    return step | {"args": _without_nulls(given, tool.input_schema, tool, skip=texts)}


def _named(step: dict[str, Any], tools: Registry) -> Tool | None:
    """Return the step's tool. Some models write `__` for the dot in its name, as function calling requires."""
    name = step.get("tool")
    if not isinstance(name, str):
        return None
    return tools.tools.get(name) or tools.tools.get(name.replace("__", "."))


def _parsed(text: str) -> Any:
    """Read JSON text. A model that wrote a bare string instead meant that string."""
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text
    check_storable(data)
    return data


def _without_nulls(value: Any, schema: Any, tool: Tool, skip: frozenset[str] = frozenset()) -> Any:
    """Drop the nulls of optional properties: strict mode cannot leave them out."""
    branches = list(_branches(schema, tool.input_schema))
    if not branches:
        return value
    if isinstance(value, list):
        items = {"anyOf": [branch["items"] for branch in branches if "items" in branch]}
        return [_without_nulls(item, items, tool) for item in value]
    if not isinstance(value, dict) or is_reference(value):
        return value
    required = {name for branch in branches for name in branch.get("required", ())}
    kept = {}
    for name, inner in value.items():
        deeper = {"anyOf": [branch["properties"][name] for branch in branches if name in branch.get("properties", {})]}
        if inner is not None or name in required:
            kept[name] = inner if name in skip else _without_nulls(inner, deeper, tool)
    return kept


def _branches(schema: Any, root: Mapping[str, Any], depth: int = 8) -> Iterator[dict[str, Any]]:
    """Yield the schemas that a value may follow, with references and alternatives unfolded."""
    if not isinstance(schema, dict) or depth == 0:
        return
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        yield from _branches(root.get("$defs", {}).get(name), root, depth - 1)
    alternatives = [one for key in ("anyOf", "oneOf", "allOf") for one in schema.get(key, ())]
    for alternative in alternatives:
        yield from _branches(alternative, root, depth - 1)
    if not alternatives and "$ref" not in schema:
        yield schema
