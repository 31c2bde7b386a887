"""The offline model understands meetings and notifications: with whom, how long, when, and which ones."""

from collections.abc import Callable
from typing import Any

import pytest

from turnloom.models.contracts.memory import Exchange, RecalledResult
from turnloom.models.contracts.plan import Plan
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft
from turnloom.planner.llm.openai import OpenAIModel

Context = Callable[..., PlanningContext]
PlanFor = Callable[..., Plan]

LISTED = RecalledResult(
    tool="notifications.list",
    args={},
    result={"notifications": [{"id": f"0199c0de-0000-7000-8000-00000000000{n}", "title": f"t{n}"} for n in (1, 2)]},
    turn="t",
    step="a",
    age_s=60,
)
ON_THE_DAY = {"start_window": {"$from": "dates.check_in"}, "end_window": {"$from": "dates.check_in"}}


@pytest.fixture
def plan_for(context: Context, offline: OpenAIModel) -> PlanFor:
    """Plan the last of some messages. The ones before it are the conversation."""

    def plan(*messages: str, memory: tuple[RecalledResult, ...] = ()) -> Plan:
        history = tuple(Exchange(message, "Well.") for message in messages[:-1])
        drafted = draft(context(messages[-1], agent="assistant", history=history, memory=memory), offline)
        assert drafted.plan is not None, drafted.faults
        assert not drafted.repaired
        return drafted.plan

    return plan


def only_args(plan: Plan, tool: str) -> dict[str, Any]:
    (args,) = (step.args for step in plan.steps if step.tool == tool)
    return args


@pytest.mark.parametrize(
    ("message", "args"),
    [
        ("Schedule 30 minutes with David next Tuesday", {"counterpart": "David", "duration_mins": 30, **ON_THE_DAY}),
        ("Set up a call with Noa Levi tomorrow", {"counterpart": "Noa Levi", **ON_THE_DAY}),
        ("find an hour to meet David Katz", {"counterpart": "David Katz", "duration_mins": 60}),
        ("meet David Cohen Friday", {"counterpart": "David Cohen", **ON_THE_DAY}),
        ("arrange a 45-minute meeting with ann@example.com", {"counterpart": "ann@example.com", "duration_mins": 45}),
        ("plan a meeting with Zoë", {"counterpart": "Zoë"}),
        (
            "schedule half an hour with Noa next week",
            {"counterpart": "Noa", "duration_mins": 30, "start_window": {"$from": "dates.check_in"}},
        ),
        ("schedule a meeting", {}),
    ],
)
def test_a_wish_to_meet(plan_for: PlanFor, message: str, args: dict[str, Any]) -> None:
    """Names reach the tool as they are. Missing details are left out, and the tool asks for them."""
    plan = plan_for(message)

    assert only_args(plan, "network.schedule_meeting") == args
    assert plan.synthesis_hint == "propose_times"


@pytest.mark.parametrize(
    ("answer", "args"),
    [
        ("David Katz", {"counterpart": "David Katz"}),
        ("I mean Ann Lee <ann2@example.com>", {"counterpart": "Ann Lee <ann2@example.com>"}),
        ("45 minutes", {"duration_mins": 45}),
        ("make it an hour", {"duration_mins": 60}),
        ("with Noa instead", {"counterpart": "Noa"}),
    ],
)
def test_an_answer_goes_on_from_there(plan_for: PlanFor, answer: str, args: dict[str, Any]) -> None:
    """It changes one thing, and all else stays as it was."""
    plan = plan_for("Schedule 30 minutes with David tomorrow", answer)

    before = {"counterpart": "David", "duration_mins": 30, **ON_THE_DAY}
    assert only_args(plan, "network.schedule_meeting") == before | args


@pytest.mark.parametrize(
    ("choice", "number"),
    [
        ("Option 2", 2),
        ("the first one", 1),
        ("Confirm the third", 3),
        ("take 4", 4),
        ("2", 2),
        ("confirm number two", 2),
    ],
)
def test_a_choice_is_confirmed_by_its_number(plan_for: PlanFor, choice: str, number: int) -> None:
    """No second proposal is made, and no session id is invented."""
    plan = plan_for("Schedule 30 minutes with David", choice)

    assert [step.tool for step in plan.steps] == ["network.confirm_meeting"]
    assert plan.steps[0].args == {"selection_number": number}
    assert plan.synthesis_hint == "meeting_confirmed"


@pytest.mark.parametrize(
    ("message", "args"),
    [
        ("Move my meeting with David to 3pm", {"counterpart": "David", "new_time": "3pm"}),
        ("reschedule the call with Noa Levi for 15:30", {"counterpart": "Noa Levi", "new_time": "15:30"}),
        (
            "Postpone my meeting with David Katz to next Friday",
            {"counterpart": "David Katz", "new_day": {"$from": "dates.check_in"}},
        ),
    ],
)
def test_a_meeting_is_moved(plan_for: PlanFor, message: str, args: dict[str, Any]) -> None:
    """Nothing is proposed again, though earlier messages were about a meeting."""
    plan = plan_for("Schedule 30 minutes with David tomorrow", "Option 2", message)

    assert only_args(plan, "network.reschedule_meeting") == args
    assert {step.tool for step in plan.steps} <= {"network.reschedule_meeting", "dates.resolve_hint"}
    assert plan.synthesis_hint == "meeting_moved"


def test_the_time_of_a_move_may_follow(plan_for: PlanFor) -> None:
    """A time alone answers the question for it."""
    plan = plan_for("Move my meeting with David", "3 pm")

    assert only_args(plan, "network.reschedule_meeting") == {"counterpart": "David", "new_time": "3 pm"}


@pytest.mark.parametrize("message", ["Cancel my meeting with David", "please call off the meeting with David"])
def test_a_meeting_is_cancelled(plan_for: PlanFor, message: str) -> None:
    """This is its only step."""
    plan = plan_for("Move my meeting with David to 3pm", message)

    assert [(step.tool, step.args) for step in plan.steps] == [("network.cancel_meeting", {"counterpart": "David"})]
    assert plan.synthesis_hint == "meeting_cancelled"


def test_a_listed_notification_is_settled_by_its_id(plan_for: PlanFor) -> None:
    """The id is the one that was returned, and the words are the user's."""
    plan = plan_for("Any notifications?", "Resolve the second one because it was paid", memory=(LISTED,))

    assert [step.tool for step in plan.steps] == ["notifications.resolve"]
    assert plan.steps[0].args == {
        "notification_id": LISTED.result["notifications"][1]["id"],
        "resolution": "paid",
    }


def test_what_was_not_listed_is_listed_first(plan_for: PlanFor) -> None:
    """The id then comes by reference. The reason of an earlier one is not used."""
    plan = plan_for("Resolve the second one because it was paid", "resolve the first notification")

    assert [step.tool for step in plan.steps] == ["notifications.list", "notifications.resolve"]
    assert plan.steps[1].args == {
        "notification_id": {"$from": "notifications.notifications[0].id"},
        "resolution": "done",
    }


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        ("Any notifications?", ["notifications.list"]),
        ("what's new?", ["notifications.list"]),
        ("resolve the one about the invoice", ["notifications.list"]),
        ("hello", []),
        ("option 7", []),
    ],
)
def test_other_wishes(plan_for: PlanFor, message: str, calls: list[str]) -> None:
    """If it cannot tell options apart it shows them. It does not act on a reference that fits nothing."""
    plan = plan_for("Schedule 30 minutes with David", message)

    assert [step.tool for step in plan.steps] == calls


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("When do I meet David again?", "meeting_confirmed"),
        ("what was the second one again?", "propose_times"),
        ("Which times were the options again?", "propose_times"),
    ],
)
def test_what_was_done_is_told_again(plan_for: PlanFor, message: str, hint: str) -> None:
    """It is not done twice. The template of its result words it."""
    done = {"args": {}, "result": {"counterpart": "David"}, "turn": "t", "step": "a", "age_s": 60, "holds": False}
    tools = ("network.schedule_meeting", "network.confirm_meeting")

    plan = plan_for(
        "Schedule 30 minutes with David", message, memory=tuple(RecalledResult(tool=tool, **done) for tool in tools)
    )

    assert (plan.steps, plan.reply, plan.synthesis_hint) == ([], None, hint)


def test_the_newest_change_of_a_meeting_is_told(plan_for: PlanFor) -> None:
    """A meeting that was moved after its confirmation is not told as it was confirmed."""
    done = {"args": {}, "result": {"counterpart": "David"}, "turn": "t", "step": "a", "holds": False}
    ages = {"network.confirm_meeting": 60, "network.reschedule_meeting": 30}
    memory = tuple(RecalledResult(tool=tool, age_s=age_s, **done) for tool, age_s in ages.items())

    plan = plan_for("Schedule 30 minutes with David", "When do I meet David again?", memory=memory)

    assert (plan.steps, plan.synthesis_hint) == ([], "meeting_moved")
