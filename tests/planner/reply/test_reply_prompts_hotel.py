"""The hotel agent's templates say what matters: the best options with their prices, and not the whole table."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.planner.llm.scripted import Script
from tests.planner.material import make_material
from turnloom.models.contracts.memory import RecalledResult
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Question
from turnloom.models.runtime.settings import ROOT
from turnloom.planner.agents import load_agents
from turnloom.planner.prompts import shipped
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.reply.reply_prompts import fill_templates
from turnloom.planner.reply.responder import compose
from turnloom.planner.reply.template_choice import Part, template_parts
from turnloom.tools.registry import load_registry

AGENT = load_agents(ROOT / "prompts" / "agents").get("hotel")
STAY = {"check_in": "2026-12-04", "check_out": "2026-12-05", "nights": 1, "adults": 2, "children": 1, "babies": 0}


def option(name: str, price: int = 440, *, cancellable: bool = True, board: str = "RO") -> dict[str, Any]:
    return {
        "room_type_code": name[:3].upper(),
        "room_name": name,
        "board_code": board,
        "rate_code": "ILS",
        "price_total": price,
        "currency": "ILS",
        "cancellable": cancellable,
        "quota": 3,
    }


def availability(*options: dict[str, Any], **more: Any) -> dict[str, Any]:
    found = {**STAY, "options": list(options), "budget": None, "over_budget": 0, "sold_out": [], **more}
    return {"pms.get_availability": found}


def compared(name: str, **more: Any) -> dict[str, Any]:
    return {**option(name, more.pop("price", 440)), "beds": [], "sleeps": 2, "amenities": ["wifi"], **more}


BUDGET = {"amount": 400, "currency": "ILS", "operator": "<="}
TWO = (option("Classic Double", 396, cancellable=False), option("Sea Suite", 914, board="BB"))
LINK = {"url": "https://book.example/x", "expires_at": "2026-11-20T10:42:00Z", "valid_minutes": 30, "held": True}
HALVES = [{"check_in": "2026-12-04", "check_out": "2026-12-05"}, {"check_in": "2026-12-05", "check_out": "2026-12-06"}]
WEEKEND = {**HALVES[0], "tz": "Asia/Jerusalem", "alternatives": HALVES}


NOW = datetime(2026, 11, 20, 12, 22, tzinfo=ZoneInfo("Asia/Jerusalem"))
"""Twenty minutes before the link runs out."""


def told(hint: str, steps: list[StepResult], slots: dict[str, Any] | None = None, now: datetime = NOW) -> ReplyInput:
    return ReplyInput(
        material=make_material(*steps, synthesis_hint=hint),
        agent=AGENT,
        tools=load_registry(["hotel", "dates"]),
        prompts=shipped(),
        now=now,
        slots=slots or {},
    )


def reply(hint: str, results: dict[str, Any], slots: dict[str, Any] | None = None) -> str:
    steps = [
        StepResult(id=f"s{number}", tool=tool, args={}, status="succeeded", result=result)
        for number, (tool, result) in enumerate(results.items())
    ]
    given = told(hint, steps, slots)
    parts = template_parts(given)
    assert parts
    assert parts[0].template == f"responding/{hint}"
    return fill_templates(given, parts, []).text


@pytest.mark.parametrize("hint", AGENT.hints)
def test_each_hint_has_a_template_that_needs_nothing(hint: str) -> None:
    """Even without a result the reply says something, and does not list faults."""
    assert shipped().has(f"responding/{hint}")
    assert bool(shipped().get(f"responding/{hint}").words_of) == (template_parts(told(hint, [])) is None)
    if hint in ("collect_guest_info", "missing_info_for_link", "ask_for_dates"):
        assert reply(hint, {})


@pytest.mark.parametrize(
    ("hint", "results", "slots", "said"),
    [
        (
            "present_best_two_options",
            availability(*TWO, option("Twin")),
            {},
            [
                "Fri, 4 Dec 2026 to Sat, 5 Dec 2026",
                "2 adults, 1 child",
                "1. Classic Double, room only, not refundable: ₪396 in all",
                "2. Sea Suite, with breakfast, with free cancellation: ₪914 in all",
                "1 more",
            ],
        ),
        ("present_best_two_options", availability(sold_out=["Sea Suite"]), {}, ["no free room", "Sold out: Sea Suite"]),
        ("show_updated_options", availability(*TWO[:1], budget=BUDGET), {}, ["within ₪400", "there is one room"]),
        (
            "show_updated_options",
            availability(budget=BUDGET, over_budget=3),
            {},
            ["no more than ₪400", "costs more?"],
        ),
        (
            "explain_differences",
            {
                "pms.compare_options": {
                    **STAY,
                    "options": [
                        compared("Double", cancellable=False),
                        compared("Sea", price=540, amenities=["wifi", "sea_view"]),
                    ],
                }
            },
            {},
            ["The first costs less.", "Only the second can be cancelled", "Only the second has: sea view"],
        ),
        (
            "explain_differences",
            {"pms.compare_options": {**STAY, "options": [compared("Twin"), compared("Twin")]}},
            {},
            ["Both are the Twin.", "They cost the same."],
        ),
        (
            "send_link_with_summary",
            {"pms.generate_booking_link": {**STAY, **LINK, "option": TWO[0]}},
            {},
            [
                "Classic Double, room only",
                "at ₪396 in all",
                "until 12:42 (Jerusalem Time), and so long I keep the room",
            ],
        ),
        (
            "send_link_with_summary",
            {"pms.generate_booking_link": {**STAY, **LINK, "held": False, "option": TWO[0]}},
            {},
            ["at ₪396 in all", "until 12:42 (Jerusalem Time). The room is not kept"],
        ),
        (
            "send_link_with_summary",
            {"pms.generate_booking_link": {**STAY, **LINK, "expires_at": "2026-11-20T22:12:00Z", "option": TWO[0]}},
            {},
            ["at ₪396 in all", "It works until Sat, 21 Nov 2026, 00:12 (Jerusalem Time), and so long"],
        ),
        (
            "present_best_two_options",
            availability(*TWO, longer_stays=[{"room_name": "Loft", "nights": 3}, {"room_name": "Attic", "nights": 2}]),
            {},
            ["Let for longer stays only: Loft from 3 nights; Attic from 2 nights.\nShall I"],
        ),
        (
            "show_updated_options",
            availability(longer_stays=[{"room_name": "Loft", "nights": 3}]),
            {},
            ["no free room", "The Loft is let from 3 nights."],
        ),
        (
            "answer_amenity_question",
            {"faq.get_rooms_and_pricing": {"topics": ["bathtub"], "answers": [], "rooms": []}},
            {},
            ["None of our rooms"],
        ),
        ("missing_info_for_link", {}, {"check_in": "2026-12-04"}, ["the room"]),
        ("collect_guest_info", {}, {"name": "Ada"}, ["Ada", "phone number"]),
        ("collect_guest_info", {}, {"name": "Ada", "phone": "050 1234567"}, ["I have your name and your number"]),
        ("ask_for_dates", {"dates.resolve_hint": WEEKEND}, {}, ["Sat, 5 Dec 2026, or Sat, 5 Dec 2026"]),
    ],
)
def test_a_template_says_what_matters(
    hint: str, results: dict[str, Any], slots: dict[str, Any], said: list[str]
) -> None:
    """It gives the dates, the guests, the choices, and any problem."""
    text = reply(hint, results, slots)

    assert [words for words in said if words not in text] == []


@pytest.mark.parametrize("minutes", [19, 21])
def test_a_link_that_is_told_again_says_whether_it_still_works(minutes: int) -> None:
    """Once it has run out the reply holds neither the link nor its price, in the text or beside it."""
    booked = {**STAY, **LINK, "option": TWO[0]}
    link = RecalledResult(
        tool="pms.generate_booking_link", args={}, result=booked, turn="t", step="link", age_s=600, holds=False
    )
    given = told("send_link_with_summary", [], now=NOW + timedelta(minutes=minutes))
    again = replace(given, material=replace(given.material, memory=[link]))

    reply = compose(again, Script()).reply

    works = minutes < 20
    assert ("until 12:42 (Jerusalem Time) and has run out. Shall I make a new one?" in reply.text) != works
    assert [LINK["url"] in reply.text, "396" in reply.text, bool(reply.artifacts)] == [works] * 3


@pytest.mark.parametrize("hint", ["present_best_two_options", "show_updated_options"])
def test_the_text_does_not_repeat_the_table(hint: str) -> None:
    """Rooms beyond the first two are only in the table."""
    text = reply(hint, availability(*TWO, option("Twin", 1020)))

    assert [words for words in ("396", "914", "1020", "Twin") if words in text] == ["396", "914"]


def test_a_phone_number_is_not_said_back() -> None:
    """The number is stored and not repeated."""
    text = reply("collect_guest_info", {}, {"name": "Ada", "phone": "050 1234567"})

    assert "1234567" not in text


def test_a_room_that_is_gone_is_said_to_be() -> None:
    """This comes before the other options, with the step that failed."""
    error = {"code": "CONFLICT"}
    gone = StepResult(id="link", tool="pms.generate_booking_link", args={}, status="failed", error=error)
    found = StepResult(
        id="instead",
        tool="pms.get_availability",
        args={},
        status="succeeded",
        result=availability(*TWO)["pms.get_availability"],
    )
    hint = "show_updated_options"

    given = told(hint, [gone, found])
    text = fill_templates(given, [Part(f"responding/{hint}", [found])], []).text

    assert text.startswith("That room is not free any more.\nFrom Fri, 4 Dec 2026")
    assert "The booking link: that has been done or taken already." in text


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        ({"kind": "day_over", "day": "2026-11-01"}, "The rooms: Sun, 1 Nov 2026 is over already."),
        ({"kind": "nights_at_most", "nights": 30}, "The rooms: at most 30 nights can be booked at once."),
        ({"kind": "of a plug-in"}, "The rooms: something about the request is not possible, such as a day that is"),
        (None, "The rooms: something about the request is not possible, such as a day that is over."),
    ],
)
def test_what_was_wrong_is_said_exactly(cause: dict[str, Any] | None, said: str) -> None:
    """Its figures have their source. A cause without words is said as its code is."""
    error = {"code": "VALIDATION_ERROR", "message": "for operators"} | ({"cause": cause} if cause else {})
    step = StepResult(id="rooms", tool="pms.get_availability", args={}, status="failed", error=error)

    reply = compose(told("present_best_two_options", [step]), Script()).reply

    assert said in reply.text
    assert reply.grounded


def test_an_ambiguous_weekend_is_asked_as_a_choice() -> None:
    """The reply shows rooms for the first reading and asks which one is meant, but only if a step has built on it."""
    dates = StepResult(id="dates", tool="dates.resolve_hint", args={}, status="succeeded", result=WEEKEND)
    found = availability(*TWO)["pms.get_availability"]
    rooms = StepResult(
        id="rooms", tool="pms.get_availability", args={}, status="succeeded", result=found, needs=("dates",)
    )
    asked = compose(told("present_best_two_options", [dates, rooms]), Script())
    alone = compose(told("ask_for_dates", [dates]), Script())

    halves = ["Fri 4 Dec 2026 to Sat 5 Dec 2026", "Sat 5 Dec 2026 to Sun 6 Dec 2026"]
    assert asked.reply.question == Question(fields=["dates"], choices={"dates": halves})
    assert asked.reply.text.endswith(
        "Which dates do you mean: Fri, 4 Dec 2026 to Sat, 5 Dec 2026 or Sat, 5 Dec 2026 to Sun, 6 Dec 2026?"
    )
    assert alone.reply.question is None
