"""A plan is read while it is being written: its steps in order, and which of them may start."""

import json
from dataclasses import replace
from typing import Any

import pytest

from turnloom.planner.draft.streamed_plan import PlanReader, WrittenStep
from turnloom.planner.plan.expansion import Expansion
from turnloom.planner.plan.limits import PlanLimits
from turnloom.planner.plan.playbooks import NO_PLAYBOOKS
from turnloom.tools.registry import Registry, load_registry


@pytest.fixture(scope="module")
def tools() -> Registry:
    return load_registry(["sim"])


def wait(name: str, *needs: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "tool": "sim.wait", "args": {"ms": 1}, "needs": list(needs), **fields}


def reads(name: str, source: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "tool": "sim.wait", "args": {"ms": 1, "payload": {"$from": source}}, **fields}


WRITE = {"id": "w", "tool": "sim.write", "args": {"value": 1}}


def told(text: str, tools: Registry, limits: PlanLimits | None = None, pieces: int = 7) -> list[WrittenStep]:
    steps: list[WrittenStep] = []
    reader = PlanReader(steps.append, Expansion(NO_PLAYBOOKS, tools), limits or PlanLimits())
    for start in range(0, len(text), pieces):
        reader(text[start : start + pieces])
    return steps


def early(tools: Registry, *steps: Any, limits: PlanLimits | None = None) -> list[str]:
    text = json.dumps({"thought": "}{", "steps": list(steps)})
    return [step.early.id for step in told(text, tools, limits) if step.early]


@pytest.mark.parametrize("pieces", [1, 5, 40, 10_000])
def test_each_step_is_passed_on_once_whatever_the_pieces(pieces: int, tools: Registry) -> None:
    """The steps have the plan's order and places."""
    text = "Here {it} is, for { you }: " + json.dumps({"steps": [wait("a"), wait("b", "a"), wait("c", "b")]})

    steps = told(text, tools, pieces=pieces)

    assert [(step.position, step.raw["id"]) for step in steps] == [(0, "a"), (1, "b"), (2, "c")]


@pytest.mark.parametrize("pieces", [1, 3, 10_000])
def test_marks_in_strings_and_around_the_plan_are_no_structure(pieces: int, tools: Registry) -> None:
    """Whatever a text contains and however it is cut, steps begin and end where they should."""
    odd = '"}]} \\" {[ \\'
    plan = {"thought": odd, "assumptions": [{"id": "x"}], "steps": [wait(odd), wait("b")]}

    steps = told(f'As "asked" [1]: {json.dumps(plan)}', tools, pieces=pieces)

    assert [step.raw["id"] for step in steps] == [odd, "b"]


@pytest.mark.parametrize("length", range(1, 60))
def test_half_a_step_is_not_passed_on(length: int, tools: Registry) -> None:
    """If an answer ends in the middle of a step, that step is left out."""
    first, second = json.dumps(wait("a")), json.dumps(wait("b"))

    assert [step.raw["id"] for step in told(f'{{"steps": [{first}, {second[:length]}', tools)] == ["a"]


def test_a_step_is_passed_on_when_it_ends(tools: Registry) -> None:
    """It does not wait for the end of the plan."""
    text = json.dumps({"steps": [wait(f"s{number}") for number in range(20)]})
    steps: list[WrittenStep] = []
    reader = PlanReader(steps.append, Expansion(NO_PLAYBOOKS, tools), PlanLimits())

    written = text.index("}, {") + 1
    reader(text[: written - 1])
    before = list(steps)
    reader(text[written - 1])

    assert (before, [step.raw["id"] for step in steps]) == ([], ["s0"])
    assert written / len(text) < 0.06


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([wait("a"), reads("b", "a.ms"), wait("c", "b")], ["a", "b", "c"]),
        ([wait("a"), WRITE, reads("b", "w.value"), wait("c", "b"), wait("d", "a")], ["a", "d"]),
        ([reads("b", "a.ms"), wait("a"), wait("c", "b")], ["a"]),
        ([wait("a", "b"), wait("b", "a"), wait("c")], ["c"]),
        ([wait("a"), wait("b", run_if={"$from": "a.ms"}), wait("c", run_if={"$from": "z.ms"})], ["a", "b"]),
        ([wait("a"), wait("a"), wait("b")], ["a"]),
        ([wait("a"), wait("b", tool="sim.nothing"), wait("c")], ["a"]),
        ([wait("a"), wait("b", args={}), wait("c")], ["a"]),
        ([wait("a"), reads("b", "a.nothing"), wait("c")], ["a"]),
        ([wait("a"), reads("b", "a..ms"), wait("c")], ["a"]),
        ([wait("a"), wait("b", fallbacks=[{"tool": "sim.write", "args": {"value": 1}}]), wait("c")], ["a"]),
        ([wait("a"), wait("b", surprise=1), wait("c")], ["a"]),
        ([wait("a"), wait("b c"), wait("c")], ["a"]),
        ([wait("a"), 7, wait("c")], ["a"]),
        ([wait("a"), wait("b", args={"ms": 1, "payload": "\0"}), wait("c")], ["a"]),
        ([wait("a"), wait("b", args={"ms": 1, "payload": '"\\ud800"'}), wait("c")], ["a"]),
    ],
    ids=[
        "reads",
        "behind a write",
        "forward",
        "cycle",
        "condition",
        "twice",
        "tool",
        "argument",
        "path",
        "reference",
        "fallback",
        "field",
        "id",
        "no object",
        "unstorable",
        "unstorable text",
    ],
)
def test_what_only_reads_may_start_until_something_is_wrong(
    steps: list[Any], expected: list[str], tools: Registry
) -> None:
    """A step waits if it needs one that may not start. After the first fault no step starts."""
    assert early(tools, *steps) == expected


def test_what_a_person_has_to_approve_does_not_start(tools: Registry) -> None:
    """Nobody is asked to approve a step of a plan that may still be refused."""
    asking = Registry({**tools.tools, "sim.wait": replace(tools.get("sim.wait"), requires_approval=True)})

    assert early(asking, wait("a"), {"id": "b", "tool": "sim.echo", "args": {"value": 1}}) == ["b"]


def test_nothing_starts_beyond_the_limit_of_steps(tools: Registry) -> None:
    """A plan that is too long will be refused."""
    assert early(tools, wait("a"), wait("b"), wait("c"), limits=PlanLimits(max_steps=2)) == ["a", "b"]


def test_numbers_that_are_none_end_the_reading(tools: Registry) -> None:
    """Numbers that strict JSON does not know are left to the check of the whole answer."""
    assert told('{"steps": [{"id": "a", "tool": "sim.wait", "args": {"ms": NaN}}, {"id": "b"}, {}]}', tools) == []
