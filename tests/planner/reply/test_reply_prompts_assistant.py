"""The assistant's templates number the times in the user's zone, and name settled and open notifications."""

from collections.abc import Callable
from typing import Any

import pytest

from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.reply.reply_prompts import fill_templates
from turnloom.planner.reply.responder import compose
from turnloom.planner.reply.template_choice import template_parts

MORNING = {"start": "2026-12-01T10:00:00+02:00", "end": "2026-12-01T10:30:00+02:00", "tz": "Asia/Jerusalem"}
NOON = {"start": "2026-12-02T12:15:00+02:00", "end": "2026-12-02T12:45:00+02:00", "tz": "Asia/Jerusalem"}
PROPOSED = {"counterpart": "David Katz", "duration_mins": 30, "tz": "Asia/Jerusalem", "proposals": [MORNING, NOON]}
INVOICE = {"title": "An invoice is due", "resolution": None}
VISIT = {"title": "A visit is announced", "resolution": "seen"}


@pytest.fixture
def reply(reply_input: Callable[..., ReplyInput]) -> Callable[..., str]:
    """Write the reply of a turn with these results."""

    def write(hint: str, **results: dict[str, Any]) -> str:
        steps = [
            StepResult(id=name, tool=name.replace("__", "."), args={}, status="succeeded", result=result)
            for name, result in results.items()
        ]
        made = reply_input(*steps, agent="assistant", synthesis_hint=hint)
        parts = template_parts(made)
        assert parts
        assert [part.template for part in parts] == [f"responding/{hint}"]
        return fill_templates(made, parts, []).text

    return write


def test_times_are_numbered(reply: Callable[..., str]) -> None:
    """The numbers are those of the choices, and the times are in the user's zone."""
    text = reply("propose_times", network__schedule_meeting=PROPOSED)

    assert text.splitlines() == [
        "These times suit you and David Katz, in your time zone (Jerusalem Time):",
        "1. Tue, 1 Dec 2026, 10:00 to 10:30",
        "2. Wed, 2 Dec 2026, 12:15 to 12:45",
        "Which one shall I confirm?",
    ]


def test_no_time_is_said_plainly(reply: Callable[..., str]) -> None:
    """The reply names what could be searched for instead."""
    text = reply("propose_times", network__schedule_meeting={**PROPOSED, "proposals": []})

    assert text.startswith("I find no time at which David Katz and you")


def test_a_confirmation_says_whom_and_when(reply: Callable[..., str]) -> None:
    """The time is in the user's zone."""
    text = reply("meeting_confirmed", network__confirm_meeting={**MORNING, "counterpart": "David Katz"})

    assert "David Katz on Tue, 1 Dec 2026, 10:00 to 10:30 (Jerusalem Time)" in text


def test_a_change_says_what_was_and_what_is(reply: Callable[..., str]) -> None:
    """A move names both times, a cancellation the time that is free again."""
    moved = {**NOON, "counterpart": "David Katz", "previous_start": MORNING["start"], "previous_end": MORNING["end"]}

    said = reply("meeting_moved", network__reschedule_meeting=moved)
    gone = reply("meeting_cancelled", network__cancel_meeting={**MORNING, "counterpart": "David Katz"})

    assert "David Katz on Wed, 2 Dec 2026, 12:15 to 12:45 (Jerusalem Time), instead of Tue, 1 Dec 2026, 10:00" in said
    assert gone.startswith("Cancelled: your meeting with David Katz on Tue, 1 Dec 2026, 10:00 to 10:30")


@pytest.mark.parametrize(
    ("listed", "more", "text"),
    [
        ([INVOICE, VISIT], 0, "1. An invoice is due\n2. A visit is announced (seen)"),
        ([INVOICE], 4, "1. An invoice is due\nThe table has more of them."),
        ([INVOICE] * 10, 0, "9. An invoice is due\nThe table has more of them."),
        ([], 0, "There is nothing to settle."),
    ],
)
def test_notifications_are_numbered(reply: Callable[..., str], listed: list[Any], more: int, text: str) -> None:
    """The first nine are shown, with the numbers by which a user can refer to them."""
    said = reply("show_notifications", notifications__list={"notifications": listed, "more": more})

    assert said.endswith(text)


@pytest.mark.parametrize(
    ("left", "text"),
    [
        ([VISIT], "Settled: “An invoice is due”.\nStill open:\n1. A visit is announced"),
        ([], "Settled: “An invoice is due”.\nNothing else is open."),
    ],
)
def test_what_was_settled_and_what_is_left(reply: Callable[..., str], left: list[Any], text: str) -> None:
    """The rest has new numbers, by which a user can refer to them next."""
    still_open = {"notifications": left, "more": 0}

    assert (
        reply("notification_resolved", notifications__resolve={"notification": INVOICE, "still_open": still_open})
        == text
    )


def test_people_of_one_name_are_told_apart_by_their_addresses(
    llm: OpenAIModel, reply_input: Callable[..., ReplyInput]
) -> None:
    """The question may show them, as both people are contacts of the user."""
    choices = ["Ann Lee <ann1@example.com>", "Ann Lee <ann2@example.com>"]
    asks = StepResult(
        id="m", tool="network.schedule_meeting", args={}, status="needs_input", asks={"counterpart": choices}
    )

    composed = compose(reply_input(asks, agent="assistant"), llm)

    assert composed.reply.text == f"Which person do you mean: {choices[0]} or {choices[1]}?"
