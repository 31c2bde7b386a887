"""Tools of MCP servers are planned, validated and decoded like ours."""

from typing import Any

import pytest

from tests.planner.llm.test_schema import violations
from turnloom.models.errors import InvalidPlan
from turnloom.planner.llm.decoding import decode_step
from turnloom.planner.llm.schema import plan_schema, takes_json_text
from turnloom.planner.plan.validation import validate
from turnloom.tools.mcp.servers import McpServer
from turnloom.tools.mcp.tool_import import judge
from turnloom.tools.registry import Registry

PLACE = {
    "type": "object",
    "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
    "required": ["lat", "lon"],
}
FIND = {
    "name": "find",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "outputSchema": {
        "type": "object",
        "properties": {"place": PLACE, "names": {"type": "array", "items": {"type": "string"}}},
    },
}
MEASURE = {
    "name": "measure",
    "inputSchema": {
        "type": "object",
        "properties": {
            "place": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
            "unit": {"oneOf": [{"const": "c"}, {"const": "f"}]},
            "options": {"type": "object", "patternProperties": {"^x": {}}},
            "tree": {"$ref": "#/$defs/Tree"},
        },
        "required": ["place", "unit"],
        "additionalProperties": False,
        "$defs": {"Place": PLACE, "Tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}}},
    },
}
ANYTHING = {"name": "anything", "inputSchema": {"type": "object"}}


@pytest.fixture(scope="module")
def tools() -> Registry:
    verdicts = judge("maps", McpServer(url="http://unasked", effect="read"), [FIND, MEASURE, ANYTHING])
    return Registry({verdict.tool.name: verdict.tool for verdict in verdicts if verdict.tool})


def steps(**args: Any) -> dict[str, Any]:
    """Return two steps: a place is found, then measured."""
    find = {"id": "f", "tool": "mcp.maps.find", "args": {"city": "Kyoto"}}
    return {"steps": [find, {"id": "m", "tool": "mcp.maps.measure", "args": args}]}


PLACE_FOUND = {"$from": "f.place"}


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"place": PLACE_FOUND, "unit": "c"}, None),
        ({"place": {"lat": {"$from": "f.place.lat"}, "lon": 7}, "unit": "c"}, None),
        ({"place": PLACE_FOUND}, "bad_argument"),
        ({"place": PLACE_FOUND, "unit": "c", "colour": "red"}, "bad_argument"),
        ({"place": PLACE_FOUND, "unit": "k"}, "bad_argument"),
        ({"place": {"$from": "f.names"}, "unit": "c"}, "type_mismatch"),
        ({"place": {"$from": "f.colour"}, "unit": "c"}, "dangling_reference"),
    ],
)
def test_a_plan_is_judged_argument_by_argument(tools: Registry, args: dict[str, Any], expected: str | None) -> None:
    """If one argument refers to a result, the others are still checked."""
    if expected is None:
        validate(steps(**args), tools)
        return
    with pytest.raises(InvalidPlan) as caught:
        validate(steps(**args), tools)

    assert [(fault["step"], fault["code"]) for fault in caught.value.faults] == [("m", expected)]


def test_the_schema_of_foreign_tools_is_strict(tools: Registry) -> None:
    """A tool that takes anything gets its arguments as one text."""
    assert list(violations(plan_schema(tools))) == []
    assert takes_json_text(tools.get("mcp.maps.anything"))


def test_the_answer_of_a_language_model_is_decoded(tools: Registry) -> None:
    """Names come as in function calling, arguments as text, and omitted ones as null."""
    said = {"id": "a", "tool": "mcp__maps__anything", "args": '{"deep": {"n": 1}}'}
    measured = {"place": {"lat": 1, "lon": 2}, "unit": "c", "options": '{"x1": 1}', "tree": None}

    anything = decode_step(said, tools)
    measure = decode_step({"id": "m", "tool": "mcp.maps.measure", "args": measured}, tools)

    assert (anything["tool"], anything["args"]) == ("mcp.maps.anything", {"deep": {"n": 1}})
    assert measure["args"] == {"place": {"lat": 1, "lon": 2}, "unit": "c", "options": {"x1": 1}}
