"""Validation names every fault with its step."""

from dataclasses import replace
from typing import Any

import pytest

from turnloom.models.errors import InvalidPlan
from turnloom.planner.plan.limits import PlanLimits
from turnloom.planner.plan.validation import validate
from turnloom.tools.registry import Registry, load_registry


@pytest.fixture(scope="module")
def tools() -> Registry:
    return load_registry(["sim", "travel", "dates"])


def wait(name: str, *needs: str, **args: Any) -> dict[str, Any]:
    return {"id": name, "tool": "sim.wait", "args": {"ms": 1, **args}, "needs": list(needs)}


def faults(plan: Any, tools: Registry, limits: PlanLimits | None = None) -> set[tuple[str | None, str]]:
    with pytest.raises(InvalidPlan) as caught:
        validate(plan, tools, limits)
    assert all(fault["message"] for fault in caught.value.faults)
    return {(fault["step"], fault["code"]) for fault in caught.value.faults}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([wait("a"), wait("a")], {("a", "duplicate_id")}),
        ([wait("")], {("", "empty_id")}),
        ([wait("a b")], {("a b", "bad_id")}),
        ([wait("a", "a")], {("a", "self_dependency")}),
        ([wait("a", payload={"$from": "a.ms"})], {("a", "self_dependency")}),
        ([wait("a", "x")], {("a", "dangling_need")}),
        ([wait("a", payload={"$from": "x.ms"})], {("a", "dangling_reference")}),
        ([wait("a"), wait("b", payload={"$from": "a.nothing"})], {("b", "dangling_reference")}),
        ([wait("a"), wait("b", payload={"$from": "a..ms"})], {("b", "bad_reference")}),
        ([wait("a"), wait("b", payload={"$from": "a.ms", "x": 1})], {("b", "bad_reference")}),
        ([wait("a", "b"), wait("b", "a")], {("a", "cycle")}),
        ([{"id": "a", "tool": "sim.nothing"}], {("a", "unknown_tool")}),
        ([wait("a", ms="soon")], {("a", "bad_argument")}),
        ([wait("a", minutes=3)], {("a", "bad_argument")}),
        ([{"id": "a", "tool": "sim.wait"}], {("a", "bad_argument")}),
        (
            [wait("a"), {"id": "b", "tool": "travel.lookup_weather", "args": {"city": {"$from": "a.ms"}}}],
            {("b", "type_mismatch")},
        ),
        ([{**wait("a"), "colour": "red"}], {("a", "unknown_field")}),
        ([{**wait("a"), "needs": "b"}], {("a", "bad_shape")}),
        ([{**wait("a"), "assumes": ["a1"]}], {("a", "dangling_assumption")}),
        ([{**wait("a"), "run_if": "x"}], {("a", "bad_shape")}),
        ([{**wait("a"), "run_if": {"when": 1}}], {("a", "bad_condition")}),
        ([{**wait("a"), "run_if": {"$from": "b.x"}}], {("a", "dangling_reference")}),
        ([{**wait("a"), "fallbacks": [{"tool": "no.such"}]}], {("a", "unknown_tool")}),
        ([{**wait("a"), "fallbacks": [{"tool": "sim.wait", "args": {"ms": "x"}}]}], {("a", "bad_argument")}),
        ([{**wait("a"), "fallbacks": [{"tool": "sim.burn", "args": {"ms": 1}}]}], {("a", "bad_fallback")}),
        ([{**wait("a"), "fallbacks": [{"tool": "sim.write", "args": {"value": 1}}]}], {("a", "bad_fallback")}),
        (["a"], {(None, "bad_shape")}),
    ],
)
def test_each_fault_is_named_with_its_step(tools: Registry, steps: Any, expected: set[tuple[str | None, str]]) -> None:
    """A fault has one name and one step."""
    assert faults({"steps": steps}, tools) == expected


def test_a_fallback_asks_nobody(tools: Registry) -> None:
    """A call that a person must approve cannot replace a failed call."""
    asking = Registry({**tools.tools, "sim.wait": replace(tools.get("sim.wait"), requires_approval=True)})
    steps = [{**wait("a"), "fallbacks": [{"tool": "sim.wait", "args": {"ms": 1}}]}]

    assert validate({"steps": steps}, tools)
    assert faults({"steps": steps}, asking) == {("a", "bad_fallback")}


def test_faults_do_not_hide_each_other(tools: Registry) -> None:
    """A refused plan has all its faults."""
    steps = [wait("a", "a"), wait("b", "x"), {"id": "c", "tool": "no.such"}, wait("d", "e"), wait("e", "d"), wait("b")]

    assert faults({"steps": steps, "mood": "good"}, tools) == {
        (None, "unknown_field"),
        ("a", "self_dependency"),
        ("b", "dangling_need"),
        ("c", "unknown_tool"),
        ("d", "cycle"),
        ("b", "duplicate_id"),
    }


def test_a_cycle_is_spelled_out(tools: Registry) -> None:
    """The message names the steps of the cycle in order."""
    with pytest.raises(InvalidPlan, match=r"a -> b -> c -> a"):
        validate({"steps": [wait("a", "b"), wait("b", "c"), wait("c", "a")]}, tools)


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (PlanLimits(max_steps=2), "too_many_steps"),
        (PlanLimits(max_depth=1), "too_deep"),
        (PlanLimits(max_fan_out=1), "too_wide"),
    ],
)
def test_limits_bound_the_shape(tools: Registry, limits: PlanLimits, code: str) -> None:
    """An agent may set limits for size, depth and fan-out."""
    found = faults({"steps": [wait("a"), wait("b", "a"), wait("c", "a")]}, tools, limits)

    assert {name for _, name in found} == {code}


def test_references_are_dependencies(tools: Registry) -> None:
    """A cycle of references is found."""
    steps = [wait("a", payload={"$from": "b.ms"}), wait("b", payload={"$from": "a.ms"})]

    assert faults({"steps": steps}, tools) == {("a", "cycle")}


def test_a_reference_deep_inside_an_argument_is_found(tools: Registry) -> None:
    """References may stand inside lists and objects of an argument."""
    steps = [wait("a"), wait("b", payload={"list": [{"value": {"$from": "a.ms"}}, {"value": {"$from": "x.ms"}}]})]

    assert faults({"steps": steps}, tools) == {("b", "dangling_reference")}


def test_lists_of_typed_results_fit_the_formatter(tools: Registry) -> None:
    """The result lists of the travel tools type-check as the itinerary's arguments."""
    plan = validate(
        {
            "steps": [
                {"id": "see", "tool": "travel.search_attractions", "args": {"city": "Kyoto"}},
                {"id": "sky", "tool": "travel.lookup_weather", "args": {"city": "Kyoto"}},
                {
                    "id": "trip",
                    "tool": "travel.format_itinerary",
                    "args": {
                        "city": "Kyoto",
                        "days": 2,
                        "attractions": {"$from": "see.results"},
                        "weather": {"$from": "sky.days"},
                    },
                },
            ]
        },
        tools,
    )

    assert len(plan.steps) == 3


@pytest.mark.parametrize("data", [None, [], "plan", {}, {"steps": None}, {"steps": {}}])
def test_what_is_no_plan_is_refused(tools: Registry, data: Any) -> None:
    """Anything without a list of steps is refused."""
    assert faults(data, tools) == {(None, "bad_shape")}


@pytest.mark.parametrize(("written", "meant"), [(95, 0.95), ("95%", 0.95), (0.4, 0.4), (1, 1), (-1, 0), ("high", None)])
def test_no_plan_fails_for_its_confidence(tools: Registry, written: Any, meant: float | None) -> None:
    """A percentage is a share, and what cannot be read is left out."""
    assert validate({"confidence": written, "steps": []}, tools).confidence == meant


SIGHT = {"name": "Gion", "kind": "district", "lat": 35, "lon": 135.8, "summary": "", "source": "demo"}


@pytest.mark.parametrize(
    ("attractions", "places"),
    [
        ([{"$from": "a.results[0]"}, {"$from": "a.results[1]"}], []),
        ([{"$from": "a.results[0]"}, SIGHT], []),
        ([{"$from": "a.results[0]"}, {"kind": "district"}], ["i.args.attractions.1.name"]),
        ({"$from": "a"}, []),
        ("Gion", ["i.args.attractions"]),
    ],
    ids=["references", "mixed", "wrong-beside", "whole", "wrong"],
)
def test_a_reference_stands_for_an_item_of_a_list(tools: Registry, attractions: Any, places: list[str]) -> None:
    """This holds inside a union too. What is wrong beside it is still reported, with its place in the plan."""
    args = {"city": "Kyoto", "days": 2, "attractions": attractions}
    search = {"id": "a", "tool": "travel.search_attractions", "args": {"city": "Kyoto"}}
    plan = {"steps": [search, {"id": "i", "tool": "travel.format_itinerary", "args": args}]}

    if not places:
        assert validate(plan, tools).steps[1].args == args
        return
    with pytest.raises(InvalidPlan) as caught:
        validate(plan, tools)

    assert {fault["path"] for fault in caught.value.faults} >= set(places)


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("${a.ms}", "a.ms"),
        ("{{a.ms}}", "a.ms"),
        ("{{ a.ms }}", "a.ms"),
        ("$a.ms", "a.ms"),
        ("$.a.ms", "a.ms"),
        ("a.ms", "a.ms"),
        ("It took ${a.ms} ms", "a.ms"),
        ({"deep": ["{{a}}"]}, "a"),
        ("${lost.items[0].name}", "lost.items[0].name"),
    ],
)
def test_a_reference_in_another_notation_is_a_fault_that_names_the_right_one(
    tools: Registry, written: Any, right: str
) -> None:
    """Nothing would be filled in there, and the tool would get the text."""
    plan = {"steps": [wait("a"), {"id": "b", "tool": "sim.write", "args": {"value": written}}]}
    with pytest.raises(InvalidPlan) as caught:
        validate(plan, tools)

    assert [(fault["step"], fault["code"]) for fault in caught.value.faults] == [("b", "bad_reference")]
    assert f'write {{"$from": "{right}"}}' in caught.value.faults[0]["message"]


@pytest.mark.parametrize("text", ["a", "ms", "a.nothing", "${HOME}", "{{name}}", "costs $5.50", "e.g. this", "a b.c"])
def test_an_ordinary_text_is_no_reference(tools: Registry, text: str) -> None:
    """A text counts as a reference only if it names a step, or has the form of one between marks."""
    plan = {"steps": [wait("a"), {"id": "b", "tool": "sim.write", "args": {"value": text}}]}

    assert validate(plan, tools)
