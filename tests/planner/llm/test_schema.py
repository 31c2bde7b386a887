"""The response schema of a plan obeys strict mode for every tool, even for hostile ones."""

import json
import re
from collections.abc import Iterator
from datetime import date
from typing import Any, Literal

import jsonschema_rs
import pytest
from pydantic import BaseModel, ConfigDict, Field

from turnloom.planner.knowledge.extraction import Conclusion
from turnloom.planner.llm.decoding import decode
from turnloom.planner.llm.schema import (
    BY_REFERENCE,
    FOR_PROGRAMS,
    JSON_TEXT,
    json_text_arguments,
    plan_schema,
    strict_schema,
)
from turnloom.planner.llm.shared_parts import share
from turnloom.tools.registry import Registry, Tool

FORBIDDEN = {"oneOf", "allOf", "not", "if", "then", "else", "default", "patternProperties", "prefixItems", "title"}


class Leaf(BaseModel):
    when: date | None = None
    size: Literal["s", "m"] = "m"


class Tree(BaseModel):
    """Recursive."""

    children: list["Tree"] = []


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]
    toys: dict[str, int]


class Nasty(BaseModel):
    """Arguments that strict mode cannot express, beside some that it can."""

    anything: Any
    mapping: dict[str, int] = {}
    pair: tuple[int, str] = (1, "a")
    tree: Tree | None = None
    pet: Cat | Dog | None = Field(None, discriminator="kind")
    leaves: list[Leaf] = Field(default_factory=list, max_length=3)
    leaf: Leaf = Leaf()
    count: int = Field(5, ge=1, le=9)
    must: str | None


class Patterned(BaseModel):
    code: str = Field(pattern="^[A-Z]{3}$")
    foreign: str = Field(pattern=r"^\d+$")
    looking: str = Field(json_schema_extra={"pattern": "^(?!a)b$"})
    read: list[Leaf] = Field(json_schema_extra={BY_REFERENCE: True})
    index: int = Field(0, json_schema_extra={FOR_PROGRAMS: True})


class Open(BaseModel):
    """Free-form as a whole."""

    model_config = ConfigDict(extra="allow")


class Bare(BaseModel):
    """No arguments."""


def _tool(name: str, model: type[BaseModel]) -> Tool:
    return Tool(name=name, description="…", input=model, output=Bare, call=lambda *_: Bare(), effect="read")


REFERENCE = {"$ref": "#/$defs/reference"}


def unfolded(schema: Any, defined: dict[str, Any]) -> Any:
    """Return a schema with its shared parts written out, except references to results and JSON text."""
    if isinstance(schema, list):
        return [unfolded(inner, defined) for inner in schema]
    if not isinstance(schema, dict) or schema in (REFERENCE, JSON_TEXT):
        return schema
    if "$ref" in schema:
        return unfolded(defined[schema["$ref"].removeprefix("#/$defs/")], defined)
    return {name: unfolded(inner, defined) for name, inner in schema.items()}


NASTY = Registry({tool.name: tool for tool in (_tool("t.nasty", Nasty), _tool("t.open", Open), _tool("t.bare", Bare))})


def violations(schema: dict[str, Any], path: str = "$", depth: int = 0) -> Iterator[str]:
    """Yield each part that strict structured output would refuse."""
    yield from (f"{path}: {word}" for word in schema.keys() & FORBIDDEN)
    if not schema.keys() & {"type", "anyOf", "$ref"}:
        yield f"{path}: says nothing"
    if schema.get("type") == "object":
        depth += 1
        if schema.get("additionalProperties") is not False or schema["required"] != list(schema["properties"]):
            yield f"{path}: not closed, or not all required"
    if depth > 10:
        yield f"{path}: too deep"
    for name, inner in _inside(schema):
        yield from violations(inner, f"{path}.{name}", depth)


def _inside(schema: dict[str, Any]) -> Iterator[tuple[object, dict[str, Any]]]:
    yield from schema.get("properties", {}).items()
    yield from schema.get("$defs", {}).items()
    yield from enumerate(schema.get("anyOf", []))
    if "items" in schema:
        yield "items", schema["items"]


@pytest.mark.parametrize("phased", [False, True])
@pytest.mark.parametrize("kind", ["shipped", "nasty", "none"])
def test_the_schema_is_strict(tools: Registry, kind: str, phased: bool) -> None:
    """At any depth every object is closed, every property is required, and nothing is free-form."""
    schema = plan_schema({"shipped": tools, "nasty": NASTY, "none": Registry()}[kind], phased=phased)

    assert list(violations(schema)) == []
    assert schema["type"] == "object"
    jsonschema_rs.validator_for(schema)


def test_what_a_schema_says_twice_stands_once(tools: Registry) -> None:
    """A repeated part is in `$defs`. Every reference leads there, and every part there is referred to."""
    text = json.dumps(plan_schema(tools))

    defined = set(plan_schema(tools)["$defs"])
    assert text.count("Id of the hotel; leave it out") == 1
    assert set(re.findall(r'"#/\$defs/(\w+)"', text)) == defined


def test_sharing_changes_no_meaning() -> None:
    """With its parts written out again, a shared schema is the one that was given."""
    day = {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "description": "A day, ISO 8601."}
    shape = {"type": "object", "properties": {"first": day, "last": day | {"description": "Another day, ISO 8601."}}}
    schema = {"type": "object", "properties": {"a": shape, "b": shape, "c": {"type": "array", "items": day}}}

    shared = share(schema)

    assert len(json.dumps(shared)) < len(json.dumps(schema))
    assert list(shared["$defs"]) == ["a", "first"]
    assert unfolded({"properties": shared["properties"]}, shared["$defs"]) == {"properties": schema["properties"]}


def test_a_models_own_schema_is_strict() -> None:
    """A schema made from one of our models is strict, except for its name."""
    schema = strict_schema(Conclusion, "context")

    assert schema.pop("title") == "context"
    assert list(violations(schema)) == []


def test_phases_are_asked_for_where_they_are_wanted(tools: Registry) -> None:
    """Without phases the schema is as small as before."""
    plain, phased = plan_schema(tools), plan_schema(tools, phased=True)
    steps = [schema["properties"]["steps"]["items"]["properties"] for schema in (plain, phased)]

    more = list(phased["properties"])[:-2][-3:]
    assert more == ["assumptions", "phases", "current_phase"]
    assert phased["properties"].keys() - plain["properties"].keys() == set(more)
    assert steps[1].keys() - steps[0].keys() == {"phase", "assumes"}


def test_thought_comes_before_steps_and_the_tool_first(tools: Registry) -> None:
    """A model writes fields in the schema's order. It thinks before it plans, and names a tool before its arguments."""
    schema = plan_schema(tools)

    variants = _calls(schema)
    assert [next(iter(schema["properties"])), *list(schema["properties"])[-2:]] == ["thought", "steps", "reply"]
    assert {next(iter(variant["properties"])) for variant in variants} == {"tool"}
    assert [variant["properties"]["tool"]["const"] for variant in variants] == sorted(tools.tools)


def test_every_argument_may_be_a_reference(tools: Registry) -> None:
    """Each argument of each tool, and each item of a list, may come from another step."""
    variants = _calls(plan_schema(tools))

    arguments = [argument for variant in variants for argument in variant["properties"]["args"]["properties"].values()]
    lists = [branch for argument in arguments for branch in _branches(argument) if branch.get("type") == "array"]

    assert all(REFERENCE in _branches(argument) for argument in arguments)
    assert lists
    assert all(REFERENCE in _branches(array["items"]) for array in lists)


def test_what_strict_mode_cannot_say_is_asked_for_as_text() -> None:
    """`Any`, dicts, tuples and recursive models are strings of JSON. The rest keeps its type."""
    properties = _calls(plan_schema(NASTY))[0]["properties"]["args"]["properties"]

    assert json_text_arguments(NASTY.get("t.nasty")) == {"anything", "mapping", "pair", "tree", "pet"}
    assert JSON_TEXT in _branches(properties["anything"])
    assert {"type": "integer", "minimum": 1, "maximum": 9} in _branches(properties["count"])


def test_decoding_undoes_what_strict_mode_asked_for() -> None:
    """Absent arguments lose their null, required nulls stay, and JSON text becomes its value. A bare string stays."""
    args = {
        "anything": '[1, {"$from": "a.x"}]',
        "mapping": None,
        "pair": "not JSON",
        "leaves": [{"when": None, "size": "s"}, {"$from": "a.y"}],
        "leaf": None,
        "must": None,
    }
    steps = [
        {"id": "n", "call": {"tool": "t.nasty", "args": args}, "on_need_error": None},
        {"tool": "t.open", "id": "o", "args": '{"x": null}'},
    ]

    plan = decode(f"Here you are:\n```json\n{_json({'reply': None, 'steps': steps})}\n```\nDone.", NASTY)

    assert plan["steps"] == [
        {
            "tool": "t.nasty",
            "id": "n",
            "args": {
                "anything": [1, {"$from": "a.x"}],
                "pair": "not JSON",
                "leaves": [{"size": "s"}, {"$from": "a.y"}],
                "must": None,
            },
        },
        {"tool": "t.open", "id": "o", "args": {"x": None}},
    ]


def _calls(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the variants of a call, with their shared parts written out."""
    call = schema["properties"]["steps"]["items"]["properties"]["call"]
    variants: list[dict[str, Any]] = unfolded(call, schema["$defs"])["anyOf"]
    return variants


def _branches(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for branch in schema["anyOf"] for one in branch.get("anyOf", [branch])]


def _json(data: Any) -> str:
    return json.dumps(data)


def test_only_patterns_that_every_grammar_reads_are_kept() -> None:
    """Others would make an endpoint refuse the whole schema."""
    args = _arguments_of(Patterned)

    assert {name: "pattern" in json.dumps(args[name]) for name in args} == {
        "code": True,
        "foreign": False,
        "looking": False,
        "read": False,
    }


def test_what_a_model_cannot_write_comes_from_other_steps() -> None:
    """Such a list, or each of its items, is a reference."""
    reference = {"$ref": "#/$defs/reference"}

    assert _arguments_of(Patterned)["read"]["anyOf"] == [{"type": "array", "items": reference}, reference]


def test_a_model_is_not_shown_what_is_for_programs() -> None:
    """Such an argument would only cost tokens: people say it in another one."""
    assert "index" not in _arguments_of(Patterned)


def _arguments_of(model: type[BaseModel]) -> dict[str, Any]:
    tool = _tool("t.one", model)
    call = plan_schema(Registry({tool.name: tool}))["properties"]["steps"]["items"]["properties"]["call"]
    properties: dict[str, Any] = call["properties"]["args"]["properties"]
    return properties
