"""A plan's form is written here as a strict JSON schema, although each tool has other arguments.

In: the tools of an agent.  Out: one JSON schema with a variant of a call per tool, its name first. What all steps have
stands once, around the call. `planner.llm.decoding` turns the answer into a plan's data. What the schema says of its
fields stands in prompts/planning/fields.yaml; descriptions of arguments and slots are those of tools and profiles.

An argument that strict mode cannot express (a dict, `Any`, a recursive or very deep model) is requested as a string
that holds JSON text, and decoded afterwards.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from turnloom.models.runtime.settings import settings
from turnloom.models.runtime.yaml_text import read_yaml
from turnloom.planner.agents import AgentProfile
from turnloom.planner.llm.shared_parts import share
from turnloom.planner.llm.strict_mode import LEVELS, NULL, Schema, closed, optional, strict, union
from turnloom.planner.memory.slot_state import slots_schema
from turnloom.planner.plan.fallbacks import can_replace
from turnloom.planner.plan.playbooks import called_name
from turnloom.tools.registry import Registry, Tool

JSON_TEXT: Schema = {"$ref": "#/$defs/json_text"}
"""The schema of a value that is written as a string with JSON."""

SEARCH = "tools.search"
"""The name under which a model asks for tools that it is not shown. It is no tool: the planner answers it."""

BY_REFERENCE = "x-by-reference"
"""Marks a list argument of a tool that a model cannot write itself: it, or each of its items, is a reference."""

FOR_PROGRAMS = "x-for-programs"
"""Marks an optional argument of a tool that a model is not shown: plans of callers use it."""

_REFERENCE: Schema = {"$ref": "#/$defs/reference"}
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}

_DEPTH = 5
"""Levels left for an argument's own structure inside plan, step, call, args and the union with a reference."""

_STEP_ID = "^[A-Za-z0-9_-]+$"
_SOURCE = r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+|\[[0-9]+\])*$"
"""As `models.contracts.plan` reads them, without the bounds of length: a grammar grows with each bound."""

_SCALAR = union(*({"type": kind} for kind in ("string", "number", "boolean")), NULL)
_CONDITION = closed({"$from": _TEXT | {"pattern": _SOURCE}, "equals": _SCALAR, "not": optional({"type": "boolean"})})
_FURTHER = {
    "reason": optional(_TEXT),
    "on_need_error": optional(_TEXT | {"enum": ["skip", "run"]}),
    "critical": optional({"type": "boolean"}),
    "parallel_group": optional(_TEXT),
    "purpose": optional(_TEXT),
}
"""Fields of a step that only some agents need. Two more stand in the call: `run_if` and `fallbacks`."""

Texts = Mapping[str, str]
"""Path of a field -> its description."""


def plan_schema(
    tools: Registry,
    at_most: int | None = None,
    agent: AgentProfile | None = None,
    *,
    phased: bool = False,
    searches: bool = False,
) -> Schema:
    """Return the response schema of a plan of at most `at_most` steps; without tools, of a plan without steps.

    An agent's profile adds its slots and hints. `phased`: the plan has phases and assumptions. `searches`: a step may
    be a search for tools.
    """
    profile = agent.model_dump_json() if agent else ""
    texts = settings().prompts_dir
    return _plan_schema(_Form(tuple(tools.tools.values()), at_most, phased, searches, texts, profile, agent))


def strict_schema(model: type[BaseModel], title: str) -> Schema:
    """Return the response schema of a model that strict mode can express.

    `title` is the answer's name, under which prompts/planning/fields.yaml describes its fields.
    """
    schema = model.model_json_schema()
    converted = strict(_undescribed(schema), schema, LEVELS)
    assert converted is not None, f"strict mode cannot express {title}"
    return share(_told(converted, _texts(settings().prompts_dir)[title])) | {"title": title}


def takes_json_text(tool: Tool) -> bool:
    """Return whether all arguments of a tool are free-form, so that the model writes them as one string with JSON."""
    return not tool.input_schema.get("properties") and bool(tool.input_schema.get("additionalProperties"))


def json_text_arguments(tool: Tool) -> frozenset[str]:
    """Return the names of the arguments that the model writes as a string with JSON."""
    schema = tool.input_schema
    return frozenset(
        name for name, inner in schema.get("properties", {}).items() if strict(inner, schema, _DEPTH) is None
    )


@dataclass(frozen=True, slots=True)
class _Form:
    """The inputs of the form of a plan."""

    tools: tuple[Tool, ...]
    at_most: int | None
    phased: bool
    searches: bool
    prompts_dir: Path
    profile: str
    """The agent's profile as JSON. The profile itself holds lists, which cannot be hashed."""
    agent: AgentProfile | None = field(compare=False)

    @property
    def further(self) -> Collection[str]:
        """The further fields of a step that the agent's profile asks for."""
        return self.agent.step_fields if self.agent else ()


@lru_cache(maxsize=128)
def _plan_schema(form: _Form) -> Schema:
    texts, agent = _texts(form.prompts_dir), form.agent
    head = closed(
        {
            "thought": _TEXT,
            "action": optional(_TEXT),
            "confidence": optional({"type": "number", "minimum": 0, "maximum": 1}),
            **(slots_schema(agent.slots) if agent else {}),
            "synthesis_hint": optional(_TEXT | {"enum": agent.hints}) if agent and agent.hints else NULL,
            **(_phases_schema() if form.phased else {}),
            "steps": _TEXTS,
            # After the steps, so that it can be told while it is written: by then it is known that there are none.
            "reply": optional(_TEXT),
        }
    )
    plan = _told(head, texts["plan"])
    plan["properties"]["steps"] |= _steps(form, texts["step"])
    return share(plan | {"$defs": _definitions(form.tools, texts["argument"])})


def _definitions(tools: tuple[Tool, ...], texts: Texts) -> Schema:
    if not tools:
        return {}
    source = _TEXT | {"pattern": _SOURCE, "description": texts["reference"]}
    is_free = any(takes_json_text(tool) or json_text_arguments(tool) for tool in tools)
    return {
        "reference": closed({"$from": source}),
        **({"json_text": _TEXT | {"description": texts["json_text"]}} if is_free else {}),
    }


def _phases_schema() -> Schema:
    assumption = {
        "id": _TEXT,
        "text": _TEXT,
        "subject": optional(_TEXT),
        "attribute": optional(_TEXT),
        "value": _SCALAR,
    }
    phase = {
        "id": _TEXT,
        "objective": _TEXT,
        "success_metrics": _TEXTS,
        "steps": _TEXTS,
        "rationale": optional(_TEXT),
    }
    return {
        "assumptions": {"type": "array", "items": closed(assumption)},
        "phases": {"type": "array", "items": closed(phase)},
        "current_phase": _TEXT,
    }


def _steps(form: _Form, texts: Texts) -> Schema:
    calls = [_call(form, tool, texts) for tool in form.tools]
    if form.searches:
        calls.append(closed({"tool": {"type": "string", "const": SEARCH}, "args": closed({"words": _TEXT})}))
    if not calls:
        return {"maxItems": 0}
    step = closed(
        {
            "id": _TEXT | {"pattern": _STEP_ID},
            "call": NULL,
            "needs": _TEXTS,
            **({"phase": optional(_TEXT), "assumes": _TEXTS} if form.phased else {}),
            **{name: schema for name, schema in _FURTHER.items() if name in form.further},
        }
    )
    step = _told(step, texts)
    step["properties"]["call"] = union(*calls)
    return {"items": step} | ({} if form.at_most is None else {"maxItems": form.at_most})


def _call(form: _Form, tool: Tool, texts: Texts) -> Schema:
    """Return the form of a tool's call. Condition and fallbacks stand in it: a call of a playbook takes neither."""
    plain, more = _plain_call(tool), dict[str, Any]()
    if called_name(tool.name) is not None:
        return plain
    if "run_if" in form.further:
        more["run_if"] = optional(_CONDITION) | {"description": texts["run_if"]}
    others = [_plain_call(other) for other in form.tools if can_replace(other, tool)]
    if "fallbacks" in form.further and others:
        more["fallbacks"] = optional({"type": "array", "items": union(*others)}) | {"description": texts["fallbacks"]}
    return closed(plain["properties"] | more)


def _plain_call(tool: Tool) -> Schema:
    return closed({"tool": {"type": "string", "const": tool.name}, "args": _arguments(tool)})


def _arguments(tool: Tool) -> Schema:
    schema = tool.input_schema
    if takes_json_text(tool):
        return JSON_TEXT
    properties, required = schema.get("properties", {}), schema.get("required", ())
    shown = {name: inner for name, inner in properties.items() if not inner.get(FOR_PROGRAMS)}
    return closed({name: _argument(inner, schema, name in required) for name, inner in shown.items()})


def _argument(schema: Schema, root: Schema, required: bool) -> Schema:
    by_reference: Schema | None = {"type": "array", "items": _REFERENCE} if schema.get(BY_REFERENCE) else None
    found = by_reference or strict(schema, root, _DEPTH) or JSON_TEXT
    found = found | (_description(found) or _description(schema))
    either = union(_with_referring_items(_bare(found)), *([] if required else [NULL]), _REFERENCE)
    return either | _description(found)


def _description(schema: Schema) -> Schema:
    """Return the description of an argument, or of the first alternative that has one."""
    texts = (one["description"] for one in (schema, *schema.get("anyOf", ())) if one.get("description"))
    text = next(texts, None)
    return {"description": " ".join(text.split())} if text else {}


def _bare(schema: Schema) -> Schema:
    """Return a schema whose alternatives have no descriptions of their own."""
    bare = {name: value for name, value in schema.items() if name != "description"}
    return bare | {"anyOf": [_bare(branch) for branch in bare["anyOf"]]} if "anyOf" in bare else bare


def _with_referring_items(schema: Schema) -> Schema:
    """Allow each item of a list to come from another step, too."""
    if "anyOf" in schema:
        return schema | {"anyOf": [_with_referring_items(branch) for branch in schema["anyOf"]]}
    return schema | {"items": union(schema["items"], _REFERENCE)} if schema.get("type") == "array" else schema


def _told(schema: Schema, texts: Texts, path: str = "") -> Schema:
    """Return a schema with texts as the descriptions of its fields."""
    if "anyOf" in schema:
        return schema | {"anyOf": [_told(branch, texts, path) for branch in schema["anyOf"]]}
    if "items" in schema:
        return schema | {"items": _told(schema["items"], texts, path)}
    fields = {}
    for name, inner in schema.get("properties", {}).items():
        text = texts.get(path + name) if inner != NULL else None
        fields[name] = _told(inner, texts, f"{path}{name}.") | ({"description": text} if text else {})
    return schema | {"properties": fields} if fields else schema


def _undescribed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_undescribed(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _undescribed(inner)
        for name, inner in schema.items()
        if not (name == "description" and isinstance(inner, str))
    }


@lru_cache
def _texts(prompts_dir: Path) -> Mapping[str, Texts]:
    texts: Mapping[str, Texts] = read_yaml((prompts_dir / "planning/fields.yaml").read_text("utf-8"))
    return texts
