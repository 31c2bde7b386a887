"""The rules of a planning prompt describe each tool and its result in few words."""

from collections.abc import Callable
from itertools import pairwise

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
