"""A message changes the slots that it mentions, and the rest of the state stays."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as some

from turnloom.models.contracts.step_result import StepResult
from turnloom.models.errors import InvalidPlan
from turnloom.models.runtime.settings import settings
from turnloom.planner.agents import AgentProfile, load_agents
from turnloom.planner.memory.slot_state import merged, read_slots, settled, shown, slots_schema
from turnloom.planner.memory.slots import Slot, Slots
from turnloom.planner.plan.limits import PlanLimits
from turnloom.planner.plan.validation import validate
from turnloom.tools.registry import Registry

SLOTS: Slots = {
    "date_hint": Slot(type="text", description="d", replaces=("check_in", "check_out")),
    "check_in": Slot(
        type="date", description="d", replaces=("date_hint",), taken_from={"dates.resolve_hint": "check_in"}
    ),
    "check_out": Slot(
        type="date", description="d", replaces=("date_hint",), taken_from={"dates.resolve_hint": "check_out"}
    ),
    "adults": Slot(type="integer", description="d", default=2, min=1, max=20),
    "ages": Slot(type="integers", description="d", counts={"babies": (0, 1), "children": (2, 17)}),
}
STATE = {"check_in": "2026-12-04", "check_out": "2026-12-06", "adults": 2, "ages": [5]}


@pytest.mark.parametrize(
    ("said", "forget", "changed"),
    [
        ({}, [], {}),
        ({"adults": 3}, [], {"adults": 3}),
        ({"ages": [1, 5]}, [], {"ages": [1, 5]}),
        ({"date_hint": "next weekend"}, [], {"date_hint": "next weekend", "check_in": None, "check_out": None}),
        ({"check_out": "2026-12-07"}, [], {"check_out": "2026-12-07"}),
        ({}, ["ages"], {"ages": None}),
        ({"adults": 4}, ["adults"], {"adults": 4}),
        (
            {"date_hint": "x", "check_in": "2026-12-05"},
            [],
            {"date_hint": "x", "check_in": "2026-12-05", "check_out": None},
        ),
    ],
    ids=["nothing", "one", "list", "replaced", "kept", "forgotten", "both", "together"],
)
def test_a_message_changes_what_it_mentions(said: dict[str, Any], forget: list[str], changed: dict[str, Any]) -> None:
    """None removes a slot. All others stay as they were."""
    after = merged(STATE, said, forget, SLOTS)

    expected = STATE | changed
    assert after == {name: value for name, value in expected.items() if value is not None}


@given(
    state=some.dictionaries(some.sampled_from(sorted(SLOTS)), some.integers()),
    said=some.dictionaries(some.sampled_from(sorted(SLOTS)), some.integers()),
    forget=some.lists(some.sampled_from(sorted(SLOTS))),
)
def test_merging_twice_changes_nothing_more(state: dict[str, int], said: dict[str, int], forget: list[str]) -> None:
    """A plan that is recorded again has the same effect. The state has the values that were said, and no others."""
    once = merged(state, said, forget, SLOTS)

    assert merged(once, said, forget, SLOTS) == once
    assert said.items() <= once.items() <= {**state, **said}.items()


def test_a_state_is_shown_with_defaults_and_counts() -> None:
    """Babies are under 2, children from 2 to 17. By default there are two adults."""
    assert shown({"ages": [0, 1, 2, 17]}, SLOTS) == {"adults": 2, "ages": [0, 1, 2, 17], "babies": 2, "children": 2}
    assert shown({"adults": 3}, SLOTS) == {"adults": 3}


def test_another_agents_value_under_the_same_name_is_not_shown() -> None:
    """A conversation may change its agent. A slot of another type means nothing to the new one."""
    assert shown({"adults": "a few", "city": "Rome"}, SLOTS) == {"adults": 2}


def _resolved(name: str, check_in: str) -> StepResult:
    result = {"check_in": check_in, "check_out": "2026-12-06"}
    return StepResult(id=name, tool="dates.resolve_hint", args={}, status="succeeded", result=result)


def test_results_settle_slots_as_far_as_they_agree() -> None:
    """Dates that a tool resolved fill their slots. If two of them differ, neither does."""
    hint = {"date_hint": "next weekend"}
    one, other = _resolved("a", "2026-12-04"), _resolved("b", "2026-12-11")
    failed = StepResult(id="c", tool="dates.resolve_hint", args={}, status="failed", result=None)

    assert settled(hint, [one, failed], SLOTS) == {**hint, "check_in": "2026-12-04", "check_out": "2026-12-06"}
    assert settled(hint, [one, other], SLOTS) == {**hint, "check_out": "2026-12-06"}
    assert settled(hint, [failed], SLOTS) == hint


def test_wrong_slots_are_faults_of_the_plan() -> None:
    """Each fault has a sentence for the repair, and no other fault hides it."""
    plan = {"slots": {"adults": "many", "stars": 5, "check_in": None}, "forget": ["stars"], "steps": [{"id": "a"}]}

    with pytest.raises(InvalidPlan) as caught:
        validate(plan, Registry(), PlanLimits(slots=SLOTS))

    wrong = [(fault["code"], fault["path"]) for fault in caught.value.faults if fault["code"] == "bad_slot"]
    assert wrong == [("bad_slot", "forget"), ("bad_slot", "slots.adults"), ("bad_slot", "slots")]
    assert "bad_shape" in [fault["code"] for fault in caught.value.faults]


def test_a_plan_keeps_its_slots_normalised() -> None:
    """Nulls are removed, and values have the form in which they are stored."""
    said = {"slots": {"adults": "3", "ages": None}, "steps": [], "reply": "Fine."}

    plan = validate(said, Registry(), PlanLimits(slots=SLOTS))

    assert plan.slots == {"adults": 3}


def test_without_slots_of_the_agents_those_of_a_plan_mean_nothing() -> None:
    """They are neither checked nor read."""
    assert read_slots({"slots": {"anything": 1}, "forget": ["more"]}, {}) == ({}, [])


AGENTS = [agent for agent in load_agents(settings().prompts_dir / "agents").profiles.values() if agent.slots]


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_shipped_slots_can_be_said_in_strict_mode(agent: AgentProfile) -> None:
    """Every slot may be null, and every value that the schema accepts can be stored."""
    schema = slots_schema(agent.slots)["slots"]
    nothing = dict.fromkeys(agent.slots)

    jsonschema_rs.validator_for(schema).validate(nothing)
    assert schema["required"] == list(agent.slots)
    assert read_slots({"slots": nothing}, agent.slots) == ({}, [])
