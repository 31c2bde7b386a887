"""A plan is read from the text that a language model wrote."""

import json

import pytest

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
    "steps", [None, 3, "x", [1], [{"tool": 3, "args": 5}], [{"tool": "no.such", "args": {"a": None}}]], ids=repr
)
def test_a_wrong_shape_is_left_to_validation(steps: object) -> None:
    """Decoding passes any value of `steps` on, so that validation names the fault."""
    assert "steps" in decode(json.dumps({"steps": steps}), Registry())


def test_a_tool_may_be_named_as_function_calling_wants_it(tools: Registry) -> None:
    """`travel__lookup_weather` is `travel.lookup_weather`. The name of an unknown tool stays as written."""
    plan = decode('{"steps": [{"tool": "travel__lookup_weather"}, {"tool": "travel__fly"}]}', tools)

    assert [step["tool"] for step in plan["steps"]] == ["travel.lookup_weather", "travel__fly"]
