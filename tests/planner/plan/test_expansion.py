"""A call of a playbook in a plan is expanded into steps."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.planner.llm.scripted import Script, says
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft, planning_messages
from turnloom.planner.draft.streamed_plan import WrittenStep
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.planner.plan.expansion import Expansion, expand
from turnloom.planner.plan.playbooks import Playbooks, read_playbook
from turnloom.planner.plan.validation import validate
from turnloom.tools.registry import Registry

Context = Callable[..., PlanningContext]

TRIP = """
name: trip
version: 3
description: A trip in one call.
agents: [travel]
inputs:
  city: {type: text, description: Where.}
  days: {type: integer, default: 2, description: How long.}
  nights: {type: integer, description: How many nights.}
  budget: {type: money, description: What it may cost.}
when: [city]
action: Put a trip together
synthesis_hint: itinerary
steps:
  - {id: sights, tool: travel.search_attractions, args: {city: "${city}"}, reason: Something to see}
  - {id: weather, tool: travel.lookup_weather, args: {city: "${city}", days: "${days}"}, critical: false}
  - id: hotels
    tool: travel.search_hotels
    run_if: "${nights}"
    args: {city: "${city}", nights: "${nights}", budget: "${budget.amount}"}
  - id: plan
    tool: travel.format_itinerary
    args:
      {city: "${city}", days: "${days}", attractions: "${sights.results}", weather: "${weather}", hotels: "${hotels}"}
    needs: [weather]
    on_need_error: run
"""
OUTER = """
name: outer
version: 1
description: A trip to where the weather is.
agents: [travel]
inputs: {city: {type: text, description: Where.}}
when: [city]
action: Go there
steps:
  - {id: look, tool: travel.lookup_weather, args: {city: "${city}"}}
  - {id: go, tool: playbook.trip, args: {city: "${look.city}", nights: 1}}
"""


@pytest.fixture
def books(tools: Registry) -> Playbooks:
    """Return two playbooks, one of which calls the other."""
    read = {name: read_playbook(name, text) for name, text in (("trip", TRIP), ("outer", OUTER))}
    return Playbooks(read).for_agent("travel", tools)


@pytest.fixture
def expansion(books: Playbooks, tools: Registry) -> Expansion:
    """Return the expansion of one plan."""
    return Expansion(books, books.beside(tools))


def _call(name: str, tool: str = "playbook.trip", **more: Any) -> dict[str, Any]:
    return {"id": name, "tool": tool, "args": {"city": "Rome"}, "needs": [], **more}


def _by_id(plan: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {step["id"]: step for step in plan["steps"]}


def test_a_call_becomes_the_steps_it_stands_for(expansion: Expansion, tools: Registry) -> None:
    """Inputs and defaults are filled in, references point to its own steps, and the result is a valid plan."""
    plan = expand({"steps": [_call("t", args={"city": "Rome", "nights": 3, "budget": {"amount": 90}})]}, expansion)

    steps = _by_id(plan)
    assert list(steps) == ["t-sights", "t-weather", "t-hotels", "t-plan"]
    assert steps["t-weather"]["args"] == {"city": "Rome", "days": 2}
    assert steps["t-hotels"]["args"] == {"city": "Rome", "nights": 3, "budget": 90}
    assert steps["t-plan"]["args"]["attractions"] == {"$from": "t-sights.results"}
    assert (steps["t-plan"]["needs"], steps["t-plan"]["on_need_error"]) == (["t-weather"], "run")
    assert len(validate(plan, tools).steps) == 4


def test_a_step_whose_condition_is_empty_is_left_out(expansion: Expansion) -> None:
    """A step whose `run_if` is empty is left out, and so is every reference to it."""
    steps = _by_id(expand({"steps": [_call("t")]}, expansion))

    assert "t-hotels" not in steps
    assert "hotels" not in steps["t-plan"]["args"]


def test_an_input_may_come_from_another_step(expansion: Expansion, tools: Registry) -> None:
    """The reference replaces the input. A condition on it becomes one of the plan, checked when it runs."""
    args = {"city": {"$from": "w.city"}, "nights": {"$from": "w.days[0].t_max_c"}}
    weather = {"id": "w", "tool": "travel.lookup_weather", "args": {"city": "Rome"}}

    steps = _by_id(expand({"steps": [weather, _call("t", args=args)]}, expansion))

    assert steps["t-sights"]["args"] == {"city": {"$from": "w.city"}}
    assert steps["t-hotels"]["run_if"] == {"$from": "w.days[0].t_max_c"}


def test_other_steps_refer_to_the_call(expansion: Expansion, tools: Registry) -> None:
    """A reference to a call, or a need of it, becomes one of its result step. The order in the list does not matter."""
    after = {"id": "e", "tool": "sim.echo", "args": {"value": [{"$from": "t.days[0].morning"}]}, "needs": ["t"]}

    plan = expand({"steps": [after, _call("t")]}, expansion)

    assert plan["steps"][0]["args"] == {"value": [{"$from": "t-plan.days[0].morning"}]}
    assert plan["steps"][0]["needs"] == ["t-plan"]
    assert validate(plan, tools)


def test_the_first_steps_of_a_call_have_its_needs(expansion: Expansion) -> None:
    """The other steps of the playbook wait for them through the first ones."""
    plan = {"steps": [_call("t", needs=["x"], on_need_error="run", reason="He asked for it", critical=False)]}

    steps = _by_id(expand(plan, expansion))

    assert [steps[f"t-{name}"]["needs"] for name in ("sights", "weather", "plan")] == [["x"], ["x"], ["t-weather"]]
    assert steps["t-sights"]["on_need_error"] == "run"
    assert {(step["reason"], step["critical"]) for step in steps.values()} == {("He asked for it", False)}


def test_playbooks_may_call_playbooks(expansion: Expansion, tools: Registry) -> None:
    """The inner steps carry both ids. The result of the outer playbook is that of the inner one."""
    after = {"id": "e", "tool": "sim.echo", "args": {"value": {"$from": "o.notes"}}}

    plan = expand({"steps": [_call("o", "playbook.outer"), after]}, expansion)

    steps = _by_id(plan)
    assert steps["o-go-sights"]["args"] == {"city": {"$from": "o-look.city"}}
    assert steps["e"]["args"] == {"value": {"$from": "o-go-plan.notes"}}
    assert list(expansion.used) == ["playbooks/outer@1", "playbooks/trip@3"]
    assert validate(plan, tools)


def test_a_plan_that_is_one_call_is_answered_as_the_playbook_says(expansion: Expansion) -> None:
    """The playbook's template is used if the planner names none."""
    hints = [
        expand(plan, expansion)["synthesis_hint"]
        for plan in (
            {"steps": [_call("t")]},
            {"steps": [_call("t")], "synthesis_hint": "other"},
            {"steps": [_call("t"), _call("u")]},
        )
    ]

    assert hints == ["itinerary", "other", None]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (_call("t", args={}), "bad_argument"),
        (_call("t", args={"city": "Rome", "days": "many"}), "bad_argument"),
        (_call("t", args={"city": "Rome", "moon": 1}), "bad_argument"),
        (_call("t", run_if={"$from": "x.y"}), "bad_condition"),
        (_call("t", fallbacks=[{"tool": "sim.echo"}]), "bad_fallback"),
    ],
)
def test_a_wrong_argument_of_a_playbook_is_a_fault(expansion: Expansion, call: dict[str, Any], code: str) -> None:
    """A wrong call is named by its own id, as that of a tool would be."""
    expand({"steps": [call]}, expansion)

    assert [(fault.step, fault.code) for fault in expansion.faults] == [("t", code)]


@pytest.mark.parametrize(
    "steps",
    [
        None,
        "x",
        [None, 3, "t"],
        [{"tool": "playbook.trip"}],
        [{"tool": 3, "id": "t"}],
        [_call("t", args="x")],
        [_call("t", tool="playbook.nobody")],
        [{"id": "a", "tool": "sim.echo", "needs": [[1]], "args": {"$from": 3}}],
    ],
)
def test_an_invalid_step_is_left_to_validation(expansion: Expansion, steps: Any) -> None:
    """Expanding it raises nothing and changes nothing, whatever a model wrote."""
    data = {"steps": steps}

    assert expand(data, expansion).get("steps") == steps


def test_a_planner_may_call_a_playbook(script: Script, llm: OpenAIModel, context: Context, books: Playbooks) -> None:
    """It is among the tools in prompt and schema. The plan has its steps, and the trace its version."""
    call = {"tool": "playbook.trip", "id": "t", "reason": None, "args": {"city": "Rome", "nights": None}, "needs": []}
    script.behaviours = [says(json.dumps({"thought": "t", "reply": None, "steps": [call]}))]
    told: list[WrittenStep] = []
    asked = replace(context("A trip to Rome"), playbooks=books)

    drafted = draft(asked, llm, on_step=told.append)

    assert drafted.plan is not None
    assert [step.id for step in drafted.plan.steps] == ["t-sights", "t-weather", "t-plan"]
    assert [step.early for step in told] == drafted.plan.steps
    assert [step.position for step in told] == [0, 1, 2]
    assert "playbooks/trip@3" in drafted.prompts
    assert "playbook.trip" in planning_messages(asked)[0][0]["content"]
    assert "playbook.trip" in json.dumps(script.requests[0]["response_format"])


def test_a_wrong_call_is_repaired(script: Script, llm: OpenAIModel, context: Context, books: Playbooks) -> None:
    """The repair prompt names the call, not the steps that the model has never seen."""
    wrong, right = _call("t", args={"town": "Rome"}), _call("t")
    script.behaviours = [says(json.dumps({"steps": [wrong]})), says(json.dumps({"steps": [right]}))]

    drafted = draft(replace(context("A trip to Rome"), playbooks=books), llm)

    assert drafted.plan is not None
    assert drafted.repaired
    assert "playbook.trip" in script.requests[1]["messages"][-1]["content"]
