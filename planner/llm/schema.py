"""A plan's form is written here as a strict JSON schema, although each tool has other arguments.

In: the tools of an agent.  Out: one JSON schema with a variant of a step per tool, its name first.
`planner.llm.decoding` turns the answer into a plan's data.

Strict means: every object is closed, every property required (an optional one may be null), with no free-form objects,
no `oneOf`, `allOf`, `not`, `if`, and at most ten levels. An argument that cannot be expressed in this way (a dict,
`Any`, a recursive or very deep model) is requested as a string that holds JSON text, and decoded afterwards.
"""

from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from turnloom.planner.agents import AgentProfile
from turnloom.planner.memory.slot_state import slots_schema
from turnloom.tools.registry import Registry, Tool

JSON_TEXT = "JSON text"
"""The first words in the description of an argument that is written as a string with JSON."""

_DEPTH = 5
"""Levels left for an argument's own structure inside plan, steps, step, args and the union with a reference."""

_LEVELS = 10
"""Most levels of a whole answer."""

_KEPT = frozenset({"enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
"""Constraints that strict mode knows; the others are left to validation."""

_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})

_SCALARS = frozenset({"string", "number", "integer", "boolean", "null"})

_STEP_ID = "^[A-Za-z0-9_-]+$"
_SOURCE = r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+|\[[0-9]+\])*$"
"""As `models.contracts.plan` reads them, without the bounds of length: a grammar grows with each bound."""

_REFERENCE = {"$ref": "#/$defs/reference"}
_NULL = {"type": "null"}

Schema = dict[str, Any]


class _NotStrict(Exception):
    """The schema cannot be expressed in strict mode."""


def plan_schema(
    tools: Registry, at_most: int | None = None, agent: AgentProfile | None = None, *, phased: bool = False
) -> Schema:
    """Return the response schema of a plan of at most `at_most` steps; without tools, of a plan without steps.

    An agent's profile adds its slots and hints. `phased`: the plan has phases and assumptions.
    """
    plan = _closed(
        {
            "thought": _text("What the user wants and how the tools serve it, in one or two sentences."),
            "action": _optional(_text("What is being done, in one phrase for the user.")),
            "confidence": _optional(_share("How sure you are, from 0 to 1.")),
            **(slots_schema(agent.slots) if agent else {}),
            "synthesis_hint": _hint_schema(agent.hints if agent else []),
            "reply": _optional(_text("The whole answer, where no tool is needed; null where there are steps.")),
            **(_phases_schema() if phased else {}),
            "steps": _steps_schema(tuple(tools.tools.values()), at_most, phased),
        }
    )
    source = _text("Where the value comes from: step_id.path[0].field of another step's result.", _SOURCE)
    return plan | {"$defs": {"reference": _closed({"$from": source})}}


def strict_schema(model: type[BaseModel], title: str) -> Schema:
    """Return the response schema of a model that strict mode can express. `title`: the answer's name."""
    schema = model.model_json_schema()
    return _convert(schema, schema, _LEVELS) | {"title": title}


def takes_json_text(tool: Tool) -> bool:
    """Return whether all arguments of a tool are free-form, so that the model writes them as one string with JSON."""
    return not tool.input_schema.get("properties") and bool(tool.input_schema.get("additionalProperties"))


def json_text_arguments(tool: Tool) -> frozenset[str]:
    """Return the names of the arguments that the model writes as a string with JSON."""
    schema = tool.input_schema
    return frozenset(name for name, inner in schema.get("properties", {}).items() if _strict(inner, schema) is None)


def _hint_schema(hints: list[str]) -> Schema:
    return _optional(_text("The template that writes the reply, where one fits.") | {"enum": hints}) if hints else _NULL


def _phases_schema() -> Schema:
    value = _union(*({"type": kind} for kind in ("string", "number", "boolean")), _NULL)
    assumption = _closed(
        {
            "id": _text("Unique in the plan."),
            "text": _text("What the plan takes for granted."),
            "subject": _optional(_text("Name of the thing that it is about, where it gives a value of an attribute.")),
            "attribute": _optional(_text("The attribute, under the name that is known.")),
            "value": value,
        }
    )
    phase = _closed(
        {
            "id": _text("Unique in the plan."),
            "objective": _text("What is to be reached."),
            "success_metrics": {"type": "array", "items": _text("How one sees that it is reached.")},
            "steps": {"type": "array", "items": _text("Id of a step, also of one that has run.")},
            "rationale": _optional(_text("Why it is needed.")),
        }
    )
    return {
        "assumptions": {"type": "array", "items": assumption},
        "phases": {"type": "array", "items": phase, "description": "The way to the goal, in order."},
        "current_phase": _text("The phase that comes next; done where every success metric is met."),
    }


@lru_cache(maxsize=64)
def _steps_schema(tools: tuple[Tool, ...], at_most: int | None, phased: bool) -> Schema:
    steps: Schema = {"type": "array", "description": "The calls of tools; empty where none is needed."}
    variants = [_variant(tool, phased) for tool in tools]
    steps |= {"items": {"anyOf": variants}} if variants else {"items": {"type": "string"}, "maxItems": 0}
    return steps | {"maxItems": at_most} if at_most is not None and variants else steps


def _variant(tool: Tool, phased: bool) -> Schema:
    name = {"type": "string", "const": tool.name}
    phase = {
        "phase": _optional(_text("Id of the phase that it belongs to.")),
        "assumes": {"type": "array", "items": _text("Id of an assumption that it rests on.")},
    }
    return _closed(
        {
            "tool": name,
            "id": _text("Unique in the plan: letters, digits, - and _.", _STEP_ID),
            "reason": _optional(_text("Why this step is needed.")),
            "args": _arguments(tool),
            "needs": {"type": "array", "items": _text("Id of a step to wait for whose data is not used.")},
            "on_need_error": _optional({"type": "string", "enum": ["skip", "run"]}),
            **(phase if phased else {}),
        }
    ) | {"description": tool.description}


def _arguments(tool: Tool) -> Schema:
    schema = tool.input_schema
    if takes_json_text(tool):
        return _text(f"{JSON_TEXT} of an object with the arguments.")
    properties, required = schema.get("properties", {}), schema.get("required", ())
    return _closed({name: _argument(inner, schema, name in required) for name, inner in properties.items()})


def _argument(schema: Schema, root: Schema, required: bool) -> Schema:
    strict = _strict(schema, root)
    if strict is None:
        strict = _text(f"{JSON_TEXT} of the value. {schema.get('description', '')}".strip())
    union = _union(_with_referring_items(strict), _REFERENCE)
    return union if required else _optional(union)


def _with_referring_items(schema: Schema) -> Schema:
    """Allow each item of a list to come from another step, too."""
    if "anyOf" in schema:
        return schema | {"anyOf": [_with_referring_items(branch) for branch in schema["anyOf"]]}
    return schema | {"items": _union(schema["items"], _REFERENCE)} if schema.get("type") == "array" else schema


def _strict(schema: Schema, root: Schema) -> Schema | None:
    """Return the schema in strict form; None if it has none."""
    try:
        return _convert(schema, root, _DEPTH)
    except (_NotStrict, RecursionError):  # a reference to itself, which only a foreign schema has
        return None


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
        return _union(*(_convert(branch, root, depth - 1) for branch in branches)) | described
    return _convert_typed(schema, root, depth) | described


def _convert_typed(schema: Schema, root: Schema, depth: int) -> Schema:
    match schema.get("type") or _type_of_values(schema):
        case "object":
            return _convert_object(schema, root, depth)
        case "array":
            return {"type": "array", "items": _convert(schema.get("items"), root, depth - 1)} | _bounds(schema)
        case list() as kinds:
            return _union(*(_convert_typed({**schema, "type": kind}, root, depth) for kind in kinds))
        case str() as kind if kind in _SCALARS:
            kept = {key: schema[key] for key in schema.keys() & _KEPT}
            return {"type": kind} | dict(sorted(kept.items())) | _format(schema)
    raise _NotStrict


def _convert_object(schema: Schema, root: Schema, depth: int) -> Schema:
    properties = schema.get("properties")
    if not properties or isinstance(schema.get("additionalProperties"), dict):
        raise _NotStrict
    required = schema.get("required", ())
    converted = {name: _convert(inner, root, depth - 1) for name, inner in properties.items()}
    return _closed({name: inner if name in required else _optional(inner) for name, inner in converted.items()})


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


def _format(schema: Schema) -> Schema:
    return {"format": schema["format"]} if schema.get("format") in _FORMATS else {}


def _closed(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _optional(schema: Schema) -> Schema:
    return _union(schema, _NULL)


def _union(*branches: Schema) -> Schema:
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


def _text(description: str, pattern: str | None = None) -> Schema:
    return {"type": "string", **({"pattern": pattern} if pattern else {}), "description": description}


def _share(description: str) -> Schema:
    return {"type": "number", "minimum": 0, "maximum": 1, "description": description}
