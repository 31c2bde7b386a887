"""Templates are chosen by the results that they word, and no result goes unsaid."""

from collections.abc import Callable
from typing import Any

import pytest

from turnloom.models.contracts.memory import RecalledResult
from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.reply.reply_prompts import fill_templates
from turnloom.planner.reply.template_choice import template_parts


def done(tool: str, id_: str = "", **args: Any) -> StepResult:
    return StepResult(id=id_ or tool.rpartition(".")[2], tool=tool, args=args, status="succeeded", result={})


def failed(tool: str, code: str = "TOOL_TIMEOUT", **args: Any) -> StepResult:
    return StepResult(id=tool, tool=tool, args=args, status="failed", error={"code": code, "message": "no"})


def asking(tool: str, **args: Any) -> StepResult:
    return StepResult(id=tool, tool=tool, args=args, status="needs_input", asks={"dates": True})


FROM_DATES = {"check_in": {"$from": "resolve_hint.check_in"}}
DATES, ROOMS, FAQ = done("dates.resolve_hint"), done("pms.get_availability"), done("faq.get_rooms_and_pricing")
LINK = done("pms.generate_booking_link", room={"$from": "get_availability.options[0]"})


@pytest.mark.parametrize(
    ("hint", "steps", "templates"),
    [
        ("present_best_two_options", [DATES, ROOMS], ["present_best_two_options"]),
        ("present_best_two_options", [FAQ], None),
        ("send_link_with_summary", [ROOMS, LINK], ["send_link_with_summary"]),
        ("collect_guest_info", [LINK], None),
        ("ask_for_dates", [ROOMS], None),
        ("ask_for_dates", [DATES], ["ask_for_dates"]),
        ("ask_for_dates", [failed("pms.get_availability")], ["results"]),
        ("answer_amenity_question", [FAQ, ROOMS], ["answer_amenity_question", "present_best_two_options"]),
        ("answer_amenity_question", [FAQ, failed("pms.generate_booking_link")], ["answer_amenity_question"]),
        ("send_link_with_summary", [FAQ, failed("pms.generate_booking_link")], None),
        ("show_updated_options", [ROOMS, done("pms.get_availability", "again")], None),
        ("answer_amenity_question", [FAQ, done("crm.note")], None),
        ("present_best_two_options", [FAQ, asking("pms.get_availability")], ["answer_amenity_question", "question"]),
        ("present_best_two_options", [DATES, asking("pms.get_availability", **FROM_DATES)], ["question"]),
        (
            "present_best_two_options",
            [DATES, failed("pms.get_availability", "CONFLICT", **FROM_DATES)],
            ["refused/conflict"],
        ),
        ("conversational", [], None),
        ("collect_guest_info", [], ["collect_guest_info"]),
        (None, [ROOMS], None),
    ],
)
def test_a_hint_chooses_a_template_that_fits(
    reply_input: Callable[..., ReplyInput], hint: str, steps: list[StepResult], templates: list[str] | None
) -> None:
    """A template whose results are missing is not chosen, nor one beside which a result would go unsaid."""
    parts = template_parts(reply_input(*steps, agent="hotel", synthesis_hint=hint))

    assert (parts and [part.template.removeprefix("responding/") for part in parts]) == templates


def test_without_a_language_model_every_result_is_said_by_one_part(reply_input: Callable[..., ReplyInput]) -> None:
    """A result that no template words is said by the last resort, two results of one tool one after the other."""
    steps = [ROOMS, FAQ, done("pms.get_availability", "again"), done("crm.note")]

    parts = template_parts(reply_input(*steps, agent="hotel", submitted=True))

    assert parts
    assert [(part.template.removeprefix("responding/"), [step.id for step in part.says]) for part in parts] == [
        ("results", ["note"]),
        ("present_best_two_options", ["get_availability"]),
        ("present_best_two_options", ["again"]),
        ("answer_amenity_question", ["get_rooms_and_pricing"]),
    ]


def test_a_hint_without_steps_words_what_earlier_turns_did(reply_input: Callable[..., ReplyInput]) -> None:
    """The newest result of the template's tool is said again. Where none is remembered, nothing is."""
    met = {"counterpart": "David Katz", "start": "2026-12-01T11:00", "end": "2026-12-01T11:30", "tz": "UTC"}
    older, newer = (
        RecalledResult(
            tool="network.confirm_meeting", args={}, result=result, turn="t", step="m", age_s=age, holds=False
        )
        for result, age in (({**met, "counterpart": "Maya"}, 600), (met, 60))
    )
    again: dict[str, Any] = {"agent": "assistant", "synthesis_hint": "meeting_confirmed"}

    given = reply_input(memory=[newer, older], **again)
    parts = template_parts(given)

    assert parts is not None
    assert "David Katz on Tue, 1 Dec 2026, 11:00" in fill_templates(given, parts, []).text
    assert template_parts(reply_input(**again)) is None
