"""Decoding turns a language model's text into a plan's data: it undoes strict mode, and what models write otherwise.

It checks only that the text is JSON that can be stored; `planner.plan.validation` finds the faults of the plan.
An empty string or null that stands for something optional is left out, wherever it stands.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from turnloom.models.contracts.plan import is_reference, parse_reference
from turnloom.planner.llm.json_object import read_object, read_value
from turnloom.planner.llm.schema import json_text_arguments, takes_json_text
from turnloom.tools.registry import Registry, Tool

_WRAPPERS = ("plan", "arguments", "parameters")
"""Fields of an object that hold the plan, where a model put one around it."""
_STEP_ALIASES = {
    "name": "tool",
    "tool_name": "tool",
    "arguments": "args",
    "parameters": "args",
    "input": "args",
    "depends_on": "needs",
    "dependsOn": "needs",
    "dependencies": "needs",
}
"""Names that models without strict mode give to fields of a step."""
_LISTS_OF_IDS = ("needs", "assumes", "steps")


def decode(text: str, tools: Registry) -> dict[str, Any]:
    """Return the plan's data. Absent arguments are dropped, and arguments in JSON text are decoded.

    Prose or a code fence around the JSON is ignored.

    Raises:
        InvalidPlan: the text holds no JSON object, or one that could not be stored.
    """
    plan = _present(_unwrapped(read_object(text)))
    if isinstance(plan.get("slots"), dict):
        plan["slots"] = {name: _filled(value) for name, value in _present(plan["slots"]).items()}
    for field in ("assumptions", "phases"):
        if isinstance(plan.get(field), list):
            plan[field] = [_with_ids(_present(one)) if isinstance(one, dict) else one for one in plan[field]]
    steps = plan.setdefault("steps", []) if "reply" in plan else plan.get("steps")
    if isinstance(steps, list):
        plan["steps"] = [decode_step(step, tools) if isinstance(step, dict) else step for step in steps]
    return plan


def decode_step(step: dict[str, Any], tools: Registry) -> dict[str, Any]:
    """Return one step of a plan as data, its shape unchecked.

    Raises:
        InvalidPlan: arguments in JSON text hold data that could not be stored.
    """
    step = _with_ids(_present(_renamed(_present(step))))
    if isinstance(fallbacks := step.get("fallbacks"), list):
        step["fallbacks"] = [decode_step(call, tools) if isinstance(call, dict) else call for call in fallbacks]
    if isinstance(step.get("run_if"), dict):
        step["run_if"] = _present(step["run_if"])
    tool, args = _named(step, tools), step.get("args")
    if tool is not None:
        step["tool"] = tool.name
    if isinstance(args, str):
        args = step["args"] = _parsed(args)
    if not isinstance(args, dict):
        return step
    args = step["args"] = _with_references(args)
    if tool is None or takes_json_text(tool):
        return step
    texts = json_text_arguments(tool)
    given = {key: _parsed(value) if key in texts and isinstance(value, str) else value for key, value in args.items()}
    return step | {"args": _without_absent(given, tool.input_schema, tool, skip=texts)}


def _unwrapped(data: dict[str, Any]) -> dict[str, Any]:
    """Return the plan in an object that holds it: `{"plan": {…}}`, or a function call written as text."""
    for _ in _WRAPPERS:
        field = next((name for name in _WRAPPERS if name in data), None)
        if field is None or "steps" in data:
            break
        inner = _parsed(data[field]) if isinstance(data[field], str) else data[field]
        if isinstance(inner, list):
            inner = {"steps": inner}
        if not isinstance(inner, dict):
            break
        data = inner if "name" in data else {**data, **inner}
        data.pop(field, None)
    return data


def _present(data: dict[str, Any]) -> dict[str, Any]:
    """Leave out what stands for nothing. An id must be there, so an empty one is a fault."""
    return {name: value for name, value in data.items() if value is not None and (value != "" or name == "id")}


def _filled(value: Any) -> Any:
    """Leave out the empty strings of a list."""
    return [one for one in value if one != ""] if isinstance(value, list) else value


def _renamed(step: dict[str, Any]) -> dict[str, Any]:
    """Return a step with the names of our fields, and with the fields of a call inside it beside the others."""
    call = step.get("call") or step.get("function")
    if isinstance(call, str):
        call = {"tool": call}
    if isinstance(call, dict):
        step = {name: value for name, value in step.items() if name not in ("call", "function", "type")} | call
    renamed = {name: value for name, value in step.items() if name not in _STEP_ALIASES}
    for alias, name in _STEP_ALIASES.items():
        if alias in step:
            renamed |= {alias: step[alias]} if name in renamed else {name: step[alias]}
    return renamed


def _with_ids(data: dict[str, Any]) -> dict[str, Any]:
    """Write ids as strings, and a single id where a list is wanted as a list."""
    lists = {name: data[name] if isinstance(data[name], list) else [data[name]] for name in _LISTS_OF_IDS & data.keys()}
    ids = {name: [_as_id(one) for one in listed] for name, listed in lists.items()}
    return data | ids | ({"id": _as_id(data["id"])} if "id" in data else {})


def _as_id(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _named(step: dict[str, Any], tools: Registry) -> Tool | None:
    """Return the step's tool. Some models write `__` for the dot in its name, as function calling requires."""
    name = step.get("tool")
    if not isinstance(name, str):
        return None
    return tools.tools.get(name) or tools.tools.get(name.replace("__", "."))


def _parsed(text: str) -> Any:
    """Read JSON text. A model that wrote a bare string instead meant that string."""
    try:
        return read_value(text)
    except ValueError:
        return text


def _with_references(value: Any) -> Any:
    """Read each string that holds a reference as JSON text."""
    if isinstance(value, dict):
        return {name: _with_references(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_references(inner) for inner in value]
    if isinstance(value, str) and '"$from"' in value:
        data = _parsed(value)
        return data if is_reference(data) and parse_reference(data) else value
    return value


def _without_absent(value: Any, schema: Any, tool: Tool, skip: frozenset[str] = frozenset()) -> Any:
    """Drop nulls and empty strings of optional properties: strict mode cannot leave them out."""
    branches = list(_branches(schema, tool.input_schema))
    if not branches:
        return value
    if isinstance(value, list):
        items = {"anyOf": [branch["items"] for branch in branches if "items" in branch]}
        return [_without_absent(item, items, tool) for item in value]
    if not isinstance(value, dict) or is_reference(value):
        return value
    required = {name for branch in branches for name in branch.get("required", ())}
    kept = {}
    for name, inner in value.items():
        deeper = {"anyOf": [branch["properties"][name] for branch in branches if name in branch.get("properties", {})]}
        if inner not in (None, "") or name in required:
            kept[name] = inner if name in skip else _without_absent(inner, deeper, tool)
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
