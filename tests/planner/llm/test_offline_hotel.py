"""The offline model understands hotel rooms: it combines the message, the slots and the memory."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest

from turnloom.models.contracts.memory import Exchange, RecalledResult
from turnloom.models.contracts.plan import Plan
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft, planning_messages
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.planner.llm.schema import plan_schema

Context = Callable[..., PlanningContext]

ASKED = "A room next weekend for 2 adults and a child of 5"
SETTLED = {
    "date_hint": "next weekend",
    "check_in": "2026-11-27",
    "check_out": "2026-11-28",
    "adults": 2,
    "children_ages": [5],
}
LIMIT = {"amount": 900, "currency": "ILS", "operator": "<="}
RESOLVED = {"$from": "dates.check_in"}
OPTIONS = [
    {"room_type_code": "STD", "board_code": "RO", "rate_code": "ILS-NR"},
    {"room_type_code": "SEA", "board_code": "BB", "rate_code": "ILS"},
]


def quoted(*options: dict[str, str]) -> RecalledResult:
    """Return an availability that was found a minute ago."""
    return RecalledResult(
        tool="pms.get_availability", args={}, result={"options": list(options)}, turn="t", step="a", age_s=60
    )


@pytest.fixture
def plan_for(context: Context, offline: OpenAIModel) -> Callable[..., Plan]:
    def plan(message: str, *memory: RecalledResult, first: bool = False) -> Plan:
        past = {} if first else {"history": (Exchange(ASKED, "Here you are."),), "slots": SETTLED}
        drafted = draft(context(message, agent="hotel", memory=memory, **past), offline)
        assert drafted.plan is not None, drafted.faults
        assert not drafted.repaired
        return drafted.plan

    return plan


def args_of(plan: Plan, tool: str) -> dict[str, Any]:
    (args,) = (step.args for step in plan.steps if step.tool == tool)
    return args


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("make it 3 nights", "3 nights from 2026-11-27"),
        ("for two nights, with breakfast", "2 nights from 2026-11-27"),
        ("Two nights from Friday instead", "Two nights from Friday"),
    ],
)
def test_a_number_of_nights_keeps_the_arrival(plan_for: Callable[..., Plan], message: str, hint: str) -> None:
    """Another length of the stay begins on the day that holds, unless the message names another day."""
    plan = plan_for(message)

    assert args_of(plan, "dates.resolve_hint")["hint"] == hint
    assert args_of(plan, "pms.get_availability")["check_out"] == {"$from": "dates.check_out"}


def test_what_the_last_of_merged_messages_says_counts(plan_for: Callable[..., Plan]) -> None:
    """What only an earlier one says stays."""
    first, then = "A room tomorrow for 2 adults, with breakfast", "no wait, next weekend with half board, a sea view"
    plan = plan_for(f"{first}\n{then}", first=True)
    args = args_of(plan, "pms.get_availability")

    assert args_of(plan, "dates.resolve_hint")["hint"] == "next weekend"
    assert (args["adults"], args["board_filter"], args["room_type_filter"]) == (2, "HB", "sea view")


def test_a_first_wish_is_dates_then_rooms(plan_for: Callable[..., Plan]) -> None:
    """Words about time are resolved first. The search needs them by reference."""
    plan = plan_for(ASKED, first=True)

    assert [step.tool for step in plan.steps] == ["dates.resolve_hint", "pms.get_availability"]
    assert args_of(plan, "pms.get_availability") == {
        "check_in": {"$from": "dates.check_in"},
        "check_out": {"$from": "dates.check_out"},
        "adults": 2,
        "children": 1,
        "babies": 0,
    }
    assert plan.slots == {"date_hint": "next weekend", "adults": 2, "children_ages": [5]}
    assert plan.synthesis_hint == "present_best_two_options"


@pytest.mark.parametrize(
    ("message", "slots", "args"),
    [
        (
            "make it 3 adults, under 900 ILS",
            {"adults": 3, "budget": LIMIT},
            {"adults": 3, "children": 1, "check_in": "2026-11-27", "budget": LIMIT},
        ),
        (
            "about $250 please",
            {"budget": {"amount": 250, "currency": "USD", "operator": "~"}},
            {"adults": 2, "budget": {"amount": 250, "currency": "USD", "operator": "~"}},
        ),
        ("with kids aged 1, 4 and 12", {"children_ages": [1, 4, 12]}, {"children": 2, "babies": 1}),
        ("a 5-year-old and a 1-year-old", {"children_ages": [5, 1]}, {"children": 1, "babies": 1}),
        (
            "with breakfast, and a sea view",
            {"board_pref": "BB", "bed_pref": "sea view"},
            {"board_filter": "BB", "room_type_filter": "sea view"},
        ),
        ("what about 12-14 January?", {"date_hint": "12-14 January"}, {"check_in": RESOLVED, "adults": 2}),
        ("2 nights from 2027-05-03", {"date_hint": "2 nights from 2027-05-03"}, {"check_in": RESOLVED}),
        ("Fri 27 Nov 2026 to Sat 28 Nov 2026", {"date_hint": "Fri 27 Nov 2026 to Sat 28 Nov 2026"}, {"adults": 2}),
    ],
)
def test_a_later_word_changes_one_thing(
    plan_for: Callable[..., Plan], message: str, slots: dict[str, Any], args: dict[str, Any]
) -> None:
    """It records that change, and the search goes on with everything else as it was."""
    plan = plan_for(message)

    search = args_of(plan, "pms.get_availability")
    assert plan.slots == slots
    assert search | args == search


@pytest.mark.parametrize(("which", "code"), [("first", "STD"), ("second", "SEA"), ("cheapest", "STD")])
def test_an_option_is_taken_from_memory(plan_for: Callable[..., Plan], which: str, code: str) -> None:
    """Options that were shown need no second search. The codes are those of the chosen option."""
    plan = plan_for(f"send me the link for the {which} one", quoted(*OPTIONS))

    link = args_of(plan, "pms.generate_booking_link")
    assert len(plan.steps) == 1
    assert (link["room_type_code"], link["check_in"], link["children"]) == (code, "2026-11-27", 1)
    assert plan.synthesis_hint == "send_link_with_summary"


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("send me the link for the first one", "send_link_with_summary"),
        ("what is the difference between those two?", "explain_differences"),
    ],
)
def test_what_is_forgotten_is_searched_again(plan_for: Callable[..., Plan], message: str, hint: str) -> None:
    """Without remembered options the plan searches, and refers to the results."""
    plan = plan_for(message)

    assert plan.steps[0].tool == "pms.get_availability"
    assert "availability.options[0]" in json.dumps(plan.steps[1].args)
    assert plan.synthesis_hint == hint


@pytest.mark.parametrize(
    ("message", "hint", "calls"),
    [
        ("Do you have a sea view?", "answer_amenity_question", ["faq.get_rooms_and_pricing"]),
        ("what is the difference between those two?", "explain_differences", ["pms.compare_options"]),
        ("send me the link for the third one", "missing_info_for_link", []),
        ("my name is Dana Levi", "collect_guest_info", []),
        ("What rooms do you have?", "conversational", ["pms.get_room_types"]),
        ("make it 4 adults", "show_updated_options", ["pms.get_availability"]),
    ],
)
def test_each_wish_has_its_reply(plan_for: Callable[..., Plan], message: str, hint: str, calls: list[str]) -> None:
    """The hint names the template. Questions about the hotel change no slot."""
    plan = plan_for(message, quoted(*OPTIONS))

    assert (plan.synthesis_hint, [step.tool for step in plan.steps]) == (hint, calls)
    assert "bed_pref" not in (plan.slots or {})


def test_its_plans_obey_the_schema_to_the_letter(context: Context, offline: OpenAIModel) -> None:
    """Plans that use the memory are valid in strict mode too."""
    asked = context(
        "what is the difference between those two?",
        agent="hotel",
        memory=(quoted(*OPTIONS),),
        history=(Exchange(ASKED, "Here you are."),),
        slots=SETTLED,
    )
    schema = plan_schema(asked.tools, agent=asked.agent)

    answer = offline.generate(planning_messages(asked)[0], purpose="plan", schema=schema)

    jsonschema_rs.validator_for(schema).validate(json.loads(answer.text))


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("Send me the link again", "send_link_with_summary"),
        ("I lost the link", "send_link_with_summary"),
        ("what was the second one again?", "present_best_two_options"),
    ],
)
def test_what_was_done_is_told_again(plan_for: Callable[..., Plan], message: str, hint: str) -> None:
    """It is not done twice. The template of its result words it."""
    link = RecalledResult(
        tool="pms.generate_booking_link", args={}, result={"url": "u"}, turn="t", step="l", age_s=60, holds=False
    )

    plan = plan_for(message, link, replace(quoted(*OPTIONS), holds=False))

    assert (plan.steps, plan.reply, plan.synthesis_hint) == ([], None, hint)


def test_a_question_about_the_house_beside_a_wish(plan_for: Callable[..., Plan]) -> None:
    """Two wishes in one sentence are both planned."""
    plan = plan_for("Do you have parking, and is there a room next weekend for 2 adults?", first=True)

    assert {step.tool for step in plan.steps} >= {"faq.get_rooms_and_pricing", "pms.get_availability"}
