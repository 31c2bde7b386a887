"""Test when the loop plans a turn again, and what prevents it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.planner.material import make_material
from turnloom.models.contracts.plan import StepStatus
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Mode, Usage
from turnloom.planner.agents import AgentProfile, load_agents
from turnloom.planner.loop import Move, next_move

GENERIC = load_agents(Path("prompts/agents")).get("generic")


def ended(name: str, status: StepStatus = "succeeded", *needs: str, **fields: Any) -> StepResult:
    code = fields.pop("code", "UPSTREAM_5XX")
    error = {"code": code, "message": "no"} if status == "failed" else None
    made = StepResult(id=name, tool="sim.echo", args={"value": name}, needs=needs, status=status, error=error)
    return replace(made, **fields)


FAILED = ended("a", "failed")
DONE = ended("a")


@pytest.mark.parametrize(
    ("mode", "steps", "fields", "move"),
    [
        ("plan", [DONE], {}, Move()),
        ("plan", [FAILED], {}, Move(again="blocked")),
        ("auto", [FAILED], {}, Move(again="blocked")),
        ("direct", [], {}, Move()),
        # A result that the plan was made for is there, so the answer says what is missing.
        ("plan", [FAILED, ended("b")], {}, Move()),
        # The step that succeeded only prepared the one that failed.
        ("plan", [ended("b"), ended("a", "failed", "b")], {}, Move(again="blocked")),
        ("plan", [FAILED, ended("b", "skipped", "a")], {}, Move(again="blocked")),
        ("plan", [replace(FAILED, critical=False)], {}, Move()),
        ("plan", [FAILED], {"on_error": "fail_fast"}, Move()),
        ("plan", [FAILED], {"submitted": True}, Move()),
        ("plan", [FAILED], {"ending": "late"}, Move()),
        ("plan", [FAILED], {"revision": 2}, Move()),
        ("plan", [FAILED, ended("b", "failed", revision=2)], {"revision": 2}, Move(bound="rounds")),
        ("plan", [ended("a", "failed", code="REJECTED")], {}, Move()),
        ("plan", [ended("a", "unknown"), ended("b", "failed")], {}, Move()),
        ("plan", [ended("a", "needs_input"), ended("b", "failed")], {}, Move()),
        ("plan", [FAILED], {"left_ms": 500}, Move(bound="time")),
        ("react", [DONE], {}, Move(again="observe")),
        ("react", [FAILED], {}, Move(again="observe")),
        ("adaptive", [DONE], {}, Move(again="observe")),
        ("react", [FAILED], {"on_error": "fail_fast"}, Move()),
        ("react", [ended("a", "needs_input")], {}, Move()),
        # A revision without steps says that nothing is left to do.
        ("react", [DONE], {"revision": 2}, Move()),
        ("react", [DONE], {"spent_ms": 700_000}, Move(bound="time")),
        ("react", [replace(DONE, revision=8)], {"revision": 8}, Move(bound="rounds")),
        ("react", [FAILED, ended("b", "failed", revision=2)], {"revision": 2}, Move(bound="no_progress")),
        ("react", [DONE, ended("b", "failed", revision=2)], {"revision": 2}, Move(again="observe")),
    ],
)
def test_the_rules(mode: Mode, steps: list[StepResult], fields: dict[str, Any], move: Move) -> None:
    """Each rule decides as it says."""
    assert next_move(make_material(*steps, mode=mode, **fields), GENERIC) == move


def test_the_same_call_a_third_time_ends_the_loop() -> None:
    """Other step ids do not hide that the planner goes round in circles."""
    twice = [ended("a", args={"value": 1}), ended("b", args={"value": 1})]
    thrice = [*twice, ended("c", args={"value": 1})]

    assert next_move(make_material(*twice, mode="react"), GENERIC) == Move(again="observe")
    assert next_move(make_material(*thrice, mode="react"), GENERIC) == Move(bound="repetition")


@pytest.mark.parametrize(("cost", "move"), [(0.2, Move(bound="cost")), (0.1, Move("observe")), (None, Move("observe"))])
def test_a_turns_cost_limit_bounds_it(cost: float | None, move: Move) -> None:
    """An unknown cost is no limit."""
    agent = AgentProfile.model_validate(GENERIC.model_dump() | {"max_cost": 0.15})

    assert next_move(make_material(DONE, mode="react", usage=Usage(cost=cost)), agent) == move
