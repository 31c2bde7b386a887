"""The rules of a planning prompt describe each tool and its result in few words."""

from collections.abc import Callable
from itertools import pairwise

from turnloom.models.contracts.memory import Exchange
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.planning_prompt import planning_messages

Context = Callable[..., PlanningContext]


def _results(context: PlanningContext) -> dict[str, str]:
    """Return tool -> what the rules say that it returns."""
    rules = planning_messages(context)[0][0]["content"]
    lines = [line.strip() for line in rules.partition("Tools, with")[2].splitlines()[1:]]
    return {
        tool.removeprefix("- ").split()[0]: result.removeprefix("-> ")
        for tool, result in pairwise(lines)
        if result.startswith("-> ")
    }


def test_fields_that_two_tools_return_are_written_once(context: Context) -> None:
    """The second tool refers to the first, for its whole result, for a part of it, or for an object inside it."""
    found = _results(context("Hi", agent="assistant"))

    assert found["network.cancel_meeting"].startswith("{session_id: uuid")
    assert found["network.confirm_meeting"] == "{...network.cancel_meeting}"
    assert found["network.reschedule_meeting"].startswith("{...network.cancel_meeting, previous_start: ")
    assert found["notifications.resolve"] == (
        "{notification: {...notifications.list.notifications}, still_open: {...notifications.list}}"
    )


def test_a_result_of_other_fields_is_written_out(context: Context) -> None:
    """A field that only begins or ends alike is another one."""
    found = _results(context("Hi", agent="travel"))

    assert [name for name, result in found.items() if "..." in result] == []


def test_what_a_person_wrote_is_not_taken_for_the_agents_own(context: Context) -> None:
    """It stands among the agent's replies, marked with who wrote it. A message without a reply stands alone."""
    history = [
        Exchange("are you there?", ""),
        Exchange("", "Yes, I am.", author="Dana"),
        Exchange("", "A moment.", seen=False, author="Dana"),
    ]

    _, first, *replies, last = planning_messages(context("thanks", history=history))[0]

    assert (first["role"], last["role"], [each["role"] for each in replies]) == ("user", "user", ["assistant"] * 2)
    assert "are you there?" in first["content"]
    mark = "[Not you but a person of the team wrote this, Dana:]"
    assert [each["content"] for each in replies] == [
        f"{mark} Yes, I am.",
        f"[This reply did not reach the user:] {mark} A moment.",
    ]
