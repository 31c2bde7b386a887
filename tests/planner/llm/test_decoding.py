"""A plan is read from the text that a language model wrote."""

import json
from typing import Any

import pytest

from turnloom.models.contracts.plan import find_references
from turnloom.models.errors import InvalidPlan
from turnloom.planner.llm.decoding import decode
from turnloom.tools.registry import Registry


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot do that.",
        "[1, 2]",
        '{"steps": [',
        '{"steps": [NaN]}',
        '{"steps": [1e999]}',
        '{"reply": "\\u0000", "steps": []}',
        '{"reply": "\\ud800", "steps": []}',
        '{"reply": 18446744073709551616, "steps": []}',
        '{"a":' * 500 + "1" + "}" * 500,
        '{"a":' * 100_000,
    ],
    ids=["empty", "prose", "list", "cut", "nan", "endless", "nul", "surrogate", "huge", "deep", "bottomless"],
)
def test_what_cannot_be_read_or_stored_is_an_invalid_plan(text: str) -> None:
    """Any such answer raises `InvalidPlan` with a named fault, and nothing else."""
    with pytest.raises(InvalidPlan) as caught:
        decode(text, Registry())

    assert [fault["code"] for fault in caught.value.faults] == ["not_json"]


NASTY = {
    "nul": '"\\u0000"',
    "surrogate": '{"\\ud800": 1}',
    "deep": "[" * 500 + "]" * 500,
    "huge": f"[{10**30}]",
    "endless": "1e999",
}
"""JSON text that cannot be stored."""


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
@pytest.mark.parametrize("is_whole", [True, False])
def test_json_text_is_judged_like_json(text: str, is_whole: bool, tools: Registry) -> None:
    """This holds whether one argument is JSON text or all of them together."""
    args = f'{{"value": {text}}}' if is_whole else {"value": text}
    with pytest.raises(InvalidPlan) as caught:
        decode(json.dumps({"steps": [{"id": "a", "tool": "sim.write", "args": args}]}), tools)

    assert [fault["code"] for fault in caught.value.faults] == ["not_json"]


@pytest.mark.parametrize("number", [2**64 - 1, -(2**63), True])
def test_numbers_of_64_bits_are_kept(number: int, tools: Registry) -> None:
    """The ledger can store them."""
    step = {"id": "a", "tool": "sim.write", "args": {"value": json.dumps(number)}}

    assert decode(json.dumps({"steps": [step]}), tools)["steps"][0]["args"] == {"value": number}


@pytest.mark.parametrize(
    "steps", [3, "x", [1], [{"tool": 3, "args": 5}], [{"tool": "no.such", "args": {"a": None}}]], ids=repr
)
def test_a_wrong_shape_is_left_to_validation(steps: object) -> None:
    """Decoding passes any value of `steps` on, so that validation names the fault."""
    assert "steps" in decode(json.dumps({"steps": steps}), Registry())


def test_a_tool_may_be_named_as_function_calling_wants_it(tools: Registry) -> None:
    """`travel__lookup_weather` is `travel.lookup_weather`. The name of an unknown tool stays as written."""
    plan = decode('{"steps": [{"tool": "travel__lookup_weather"}, {"tool": "travel__fly"}]}', tools)

    assert [step["tool"] for step in plan["steps"]] == ["travel.lookup_weather", "travel__fly"]


PLAN: dict[str, Any] = {"steps": [{"tool": "travel.lookup_weather", "id": "w", "args": {"city": "Rome"}}]}
STEP: dict[str, Any] = PLAN["steps"][0]


@pytest.mark.parametrize(
    "text",
    [
        f"Here is {{your}} plan:\n```json\n{json.dumps(PLAN)}\n```\nShall I go on {{yes/no}}?",
        f'Such as {{"steps": []}}. The plan: {json.dumps(PLAN)}',
        json.dumps(PLAN).replace("}]", "},\n ]").replace('"Rome"}', '"Rome" , }'),
        f"So, {{a}}: {json.dumps(PLAN)[:-1]}, }} done",
    ],
    ids=["fence", "example", "commas", "comma-in-prose"],
)
def test_what_stands_around_the_plan_is_ignored(text: str, tools: Registry) -> None:
    """Prose, braces in it, a smaller object before the plan, and commas before a closing bracket are no fault."""
    assert decode(text, tools) == PLAN


def test_an_object_inside_a_cut_plan_is_not_the_plan() -> None:
    """A cut answer stays a fault, even if it holds whole objects."""
    with pytest.raises(InvalidPlan, match="not JSON"):
        decode('{"steps": [{"tool": "a", "id": "a", "args": {"steps": []}}, {"tool"', Registry())


@pytest.mark.parametrize(
    "written",
    [
        {"plan": PLAN},
        {"plan": PLAN["steps"]},
        {"name": "plan", "arguments": PLAN},
        {"name": "plan", "arguments": json.dumps(PLAN)},
        {"steps": [{"id": "w", "name": "travel.lookup_weather", "arguments": {"city": "Rome"}}]},
        {"steps": [{"id": "w", "tool": "travel.lookup_weather", "parameters": json.dumps({"city": "Rome"})}]},
        {
            "steps": [
                {
                    "id": "w",
                    "type": "function",
                    "function": {"name": "travel__lookup_weather", "arguments": json.dumps({"city": "Rome"})},
                }
            ]
        },
        {"action": "", "slots": None, "steps": [{**STEP, "reason": "", "on_need_error": "", "phase": ""}]},
        {"steps": [{**STEP, "args": {"city": "Rome", "start": "", "days": None}}]},
    ],
    ids=["wrapped", "list", "call", "call-text", "name", "parameters", "function", "empty", "empty-arguments"],
)
def test_other_names_and_empty_values_mean_the_same_plan(written: Any, tools: Registry) -> None:
    """Models without strict mode write the same plan in other forms. An empty string means nothing, as null does."""
    assert decode(json.dumps(written), tools) == PLAN


def test_numbers_are_ids_too(tools: Registry) -> None:
    """Ids and needs may be numbers, and a single need may stand without a list."""
    steps = [{**STEP, "id": 1}, {**STEP, "id": 2, "depends_on": [1]}, {**STEP, "id": 3, "needs": 2}]

    plan = decode(json.dumps({"steps": steps}), tools)

    assert [(step["id"], step.get("needs")) for step in plan["steps"]] == [("1", None), ("2", ["1"]), ("3", ["2"])]


def test_an_empty_string_where_something_must_stand_is_kept(tools: Registry) -> None:
    """A required argument and an id may be wrong, but they are not left out."""
    plan = decode(json.dumps({"steps": [{**STEP, "id": "", "args": {"city": ""}}]}), tools)

    assert plan["steps"] == [{**STEP, "id": "", "args": {"city": ""}}]


@pytest.mark.parametrize("value", ['{"$from": "a.city"}', ['{"$from": "a.city"}'], {"x": ' {"$from":"a.city"} '}])
def test_a_reference_may_be_json_text(value: Any, tools: Registry) -> None:
    """A reference that was written as a string is a reference, wherever it stands."""
    step = {"id": "b", "tool": "sim.write", "args": {"value": value}}

    (decoded,) = decode(json.dumps({"steps": [step]}), tools)["steps"]

    assert [reference for _, reference in find_references(decoded["args"])] == [{"$from": "a.city"}]


def test_a_reply_needs_no_steps(tools: Registry) -> None:
    """A direct reply without a list of steps has none."""
    assert decode('{"reply": "Hello", "steps": null}', tools) == {"reply": "Hello", "steps": []}
