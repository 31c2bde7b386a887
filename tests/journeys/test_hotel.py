"""Whole conversations with the hotel agent on the embedded stack: dates, prices, changes, comparisons, links."""

import hashlib
import hmac
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import httpx2
import pytest

from tests.journeys.following import finished, post
from turnloom.workers.embedded.stack import Stack

FRIDAY = 4


def talk(api: httpx2.Client, *messages: str) -> list[dict[str, Any]]:
    """Hold a conversation; return its turns. All of them succeed, and every figure has a source."""
    conversation = f"hotel-{uuid4()}"
    turns = [say(api, message, conversation) for message in messages]
    assert [turn["status"] for turn in turns] == ["succeeded"] * len(turns), [turn["reply"] for turn in turns]
    assert [turn["reply"]["grounded"] for turn in turns] == [True] * len(turns)
    return turns


def say(api: httpx2.Client, message: str, conversation: str) -> dict[str, Any]:
    return finished(api, post(api, message, agent="hotel", conversation_id=conversation)["turn_id"])


def results(turn: dict[str, Any]) -> dict[str, Any]:
    return {step["tool"]: step["result"] for step in turn["steps"]}


def kinds(turn: dict[str, Any]) -> list[str]:
    return [artifact["kind"] for artifact in turn["reply"]["artifacts"]]


def next_weekend() -> tuple[str, str]:
    """Return Friday and Saturday of the next week, in the hotel's time zone."""
    today = datetime.now(ZoneInfo("Asia/Jerusalem")).date()
    friday = today + timedelta(days=7 - today.weekday() + FRIDAY)
    return friday.isoformat(), (friday + timedelta(days=1)).isoformat()


def _in_reply(choice: str) -> str:
    """Return a choice of days as a reply writes it in English."""
    return re.sub("(Mon|Tue|Wed|Thu|Fri|Sat|Sun) ", r"\1, ", choice)


def test_a_room_is_found_changed_and_booked(stack: Stack, api: httpx2.Client) -> None:
    """Each message changes one thing and keeps the rest. The link is for the option that was shown first."""
    first, second, third = talk(
        api,
        "A room next weekend for 2 adults and a child of 5",
        "make it 3 adults, under 900 ILS",
        "send me the link for the first one",
    )

    check_in, check_out = next_weekend()
    shown, changed = results(first)["pms.get_availability"], results(second)["pms.get_availability"]
    link = results(third)["pms.generate_booking_link"]
    assert (shown["check_in"], shown["check_out"]) == (check_in, check_out)
    assert (shown["adults"], shown["children"], shown["babies"]) == (2, 1, 0)
    assert [turn["synthesis_hint"] for turn in (first, second, third)] == [
        "present_best_two_options",
        "show_updated_options",
        "send_link_with_summary",
    ]
    assert (changed["check_in"], changed["adults"], changed["children"]) == (check_in, 3, 1)
    assert changed["options"]
    assert max(option["price_total"] for option in changed["options"]) <= 900
    assert changed["over_budget"] > 0
    assert link["option"] == changed["options"][0]
    assert [kinds(turn) for turn in (first, second)] == [["table"]] * 2
    assert "link" in kinds(third)
    assert all(turn["usage"]["llm_calls"] == 1 for turn in (first, second, third))
    signed, _, signature = link["url"].partition("?")[2].rpartition("&signature=")
    secret = stack.environment["TURNLOOM_LINK_SECRET"]
    assert signature == hmac.new(secret.encode(), signed.encode(), hashlib.sha256).hexdigest()
    assert datetime.fromisoformat(link["expires_at"]) > datetime.now(UTC)


def test_a_held_room_is_not_sold_to_another(api: httpx2.Client) -> None:
    """A link holds the only suite, and asking again renews it. Another user is told so and offered other rooms."""
    days = f"{datetime.now(UTC).year + 1}-05-20 to {datetime.now(UTC).year + 1}-05-22"
    ask = f"The link for room SUI, {days}, with breakfast please"
    first, again = talk(api, ask, "the link for room SUI once more")
    (other,) = talk(api, ask)
    erased = api.delete(f"/v1/conversations/{first['conversation_id']}")
    (freed,) = talk(api, ask)

    links = [results(turn)["pms.generate_booking_link"] for turn in (first, again, freed)]
    assert [(link["held"], link["option"]["room_type_code"]) for link in links] == [(True, "SUI")] * 3
    assert links[1]["expires_at"] > links[0]["expires_at"]
    errors = {step["tool"]: step["error"]["code"] for step in other["steps"] if step["error"]}
    assert errors == {"pms.generate_booking_link": "CONFLICT"}
    offered = results(other)["pms.get_availability"]
    assert "Sea Suite" in offered["sold_out"]
    assert other["reply"]["text"].startswith("That room is not free any more.")
    assert offered["options"][0]["room_name"] in other["reply"]["text"]
    assert kinds(other) == ["table"]
    assert erased.status_code == 204


def test_the_table_has_all_prices_and_the_text_the_best_two(api: httpx2.Client) -> None:
    """The two best options come first. The reply names them with their prices, and every figure has a source."""
    (turn,) = talk(api, "A room next weekend for 2 adults and a child of 5")

    table = turn["reply"]["artifacts"][0]["data"]
    text = turn["reply"]["text"]
    prices = [row[table["columns"].index("Price")] for row in table["rows"]]
    assert table["preview"] == 2
    assert prices == sorted(prices)
    assert all(row[0] in text for row in table["rows"][:2])
    assert all(f"₪{price:,g} in all" in text for price in prices[:2])
    assert not any(f"₪{price:,g}" in text for price in set(prices) - set(prices[:2]))
    choices = map(_in_reply, turn["reply"]["question"]["choices"]["dates"])
    assert text.endswith(f"Which dates do you mean: {' or '.join(choices)}?")
    assert turn["reply"]["grounded"] is True
    assert {source["path"] for source in turn["reply"]["sources"]} >= {"check_in", "check_out"}


def test_without_dates_one_question_offers_two_weekends(api: httpx2.Client) -> None:
    """The answer to the question is enough: guests and wishes are not asked again."""
    conversation = f"hotel-{uuid4()}"
    asked = say(api, "I need a room with breakfast for 3 adults", conversation)
    answered = say(api, asked["reply"]["question"]["choices"]["dates"][1], conversation)

    (question,) = asked["reply"]["question"]["choices"].values()
    assert len(question) == 2
    assert all(_in_reply(choice) in asked["reply"]["text"] for choice in question)
    assert asked["reply"]["text"].count("?") == 1
    found = results(answered)["pms.get_availability"]
    assert (found["adults"], found["nights"]) == (3, 1)
    assert {option["board_code"] for option in found["options"]} == {"BB"}


def test_two_options_are_compared(api: httpx2.Client) -> None:
    """The options stand side by side, with data from the hotel's system and the wishes settled before."""
    first, second = talk(
        api, "A room next weekend for 2 adults and a child of 5", "what is the difference between those two?"
    )

    shown = results(first)["pms.get_availability"]["options"]
    compared = results(second)["pms.compare_options"]["options"]
    assert [option["price_total"] for option in compared] == [option["price_total"] for option in shown[:2]]
    assert "comparison" in kinds(second)
    assert second["reply"]["text"]


@pytest.mark.parametrize(
    ("question", "words"),
    [("Do you have a sea view?", ["Sea View Double", "Sea Suite"]), ("can we bring a dog?", ["assistance dogs"])],
)
def test_questions_about_the_hotel_are_answered(api: httpx2.Client, question: str, words: list[str]) -> None:
    """A template writes the reply from the hotel's own answers and rooms."""
    (turn,) = talk(api, question)

    assert turn["synthesis_hint"] == "answer_amenity_question"
    assert all(word in turn["reply"]["text"] for word in words)


def test_a_link_to_an_unknown_option_asks_which(api: httpx2.Client) -> None:
    """The agent does not guess an option beyond the list."""
    first, second = talk(
        api,
        "A room on 31 December, room only, for 3 adults and children aged 4 and 7, under 850 ILS",
        "send me the link for the second one",
    )

    assert len(results(first)["pms.get_availability"]["options"]) == 1
    assert second["steps"] == []
    assert second["reply"]["artifacts"] == []
    assert second["reply"]["text"].count("?") == 1


def test_a_hotel_plan_can_be_posted(api: httpx2.Client) -> None:
    """The posted plan uses dates that are sold out except for families."""
    steps = [
        {"id": "dates", "tool": "dates.resolve_hint", "args": {"hint": "31 December"}},
        {"id": "rooms", "tool": "pms.get_room_types", "args": {"hotel_id": "demo"}},
        {
            "id": "avail",
            "tool": "pms.get_availability",
            "args": {
                "hotel_id": "demo",
                "check_in": {"$from": "dates.check_in"},
                "check_out": {"$from": "dates.check_out"},
                "adults": 2,
            },
        },
    ]

    turn = finished(api, post(api, plan={"steps": steps}, agent="hotel")["turn_id"])

    found = results(turn)["pms.get_availability"]
    assert turn["status"] == "succeeded", json.dumps(turn["steps"])
    assert {option["room_type_code"] for option in found["options"]} == {"FAM"}
    assert set(found["sold_out"]) == {
        "Accessible Double",
        "Classic Double",
        "Classic Twin",
        "Sea Suite",
        "Sea View Double",
    }
