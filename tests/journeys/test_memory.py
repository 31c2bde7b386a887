"""A conversation keeps slots and valid results from turn to turn, on the embedded stack."""

from typing import Any

import httpx2

from tests.journeys.following import finished, post

KYOTO = "Plan a 2-day Kyoto trip: main attractions, check the weather, hotels for 2 nights"


def _said(api: httpx2.Client, conversation: str, message: str) -> dict[str, Any]:
    accepted = post(api, message, agent="travel", conversation_id=conversation)
    return finished(api, accepted["turn_id"])


def _memory(api: httpx2.Client, conversation: str) -> dict[str, Any]:
    answer = api.get(f"/v1/conversations/{conversation}/memory")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def _cached(turn: dict[str, Any]) -> dict[str, str | None]:
    return {step["tool"]: step["cache"] for step in turn["steps"]}


def test_a_remembered_result_is_not_fetched_again(api: httpx2.Client) -> None:
    """A call that the conversation has made before gets its result at once; a different call is made."""
    first = _said(api, "remembering", KYOTO)
    second = _said(api, "remembering", "Make it 3 days")
    elsewhere = _said(api, "remembering-2", KYOTO)

    assert set(_cached(first).values()) == {None}
    assert _cached(second) == {
        "travel.search_attractions": "memory",
        "travel.lookup_weather": None,
        "travel.search_hotels": None,
        "travel.format_itinerary": None,
    }
    assert second["status"] == "succeeded"
    assert second["steps"][0]["result"] == first["steps"][0]["result"]
    assert set(_cached(elsewhere).values()) == {None}


def test_a_message_changes_one_slot_and_keeps_the_rest(api: httpx2.Client) -> None:
    """Slots keep their values until a message changes them. Dates that a tool resolved become slots as well."""
    _said(api, "settling", "Hotels in Rome next weekend for 2 nights")
    before = _memory(api, "settling")["slots"]
    _said(api, "settling", "make it 3 nights")
    after = _memory(api, "settling")["slots"]

    assert before["city"] == "Rome"
    assert before["start"]
    assert after == {**before, "nights": 3}


def test_erasure_removes_the_memory(api: httpx2.Client) -> None:
    """An erased conversation keeps no slots, no results and no summary."""
    _said(api, "erasing", "Weather in Berlin for 2 days")
    remembered = _memory(api, "erasing")["results"]
    api.delete("/v1/conversations/erasing").raise_for_status()

    assert remembered
    left = _memory(api, "erasing")
    assert (left["slots"], left["results"], left["summary"]) == ({"travellers": 2}, [], None)


def test_what_was_done_is_told_again_and_not_done_again(api: httpx2.Client) -> None:
    """The link of an earlier turn is given again by a turn without steps, and so are the options that were shown."""

    def said(message: str) -> dict[str, Any]:
        return finished(api, post(api, message, agent="hotel", conversation_id="again")["turn_id"])

    said("A room tomorrow for 2 adults")
    made = said("Send me the link for the second one")
    again, options = said("Send me the link again"), said("What was the second one again?")

    (link,) = made["reply"]["artifacts"]
    assert (again["steps"], options["steps"]) == ([], [])
    assert again["reply"]["artifacts"][0]["data"] == link["data"]
    assert link["data"]["url"] in again["reply"]["text"]
    assert again["reply"]["grounded"]
    assert made["steps"][0]["result"]["option"]["room_name"] in options["reply"]["text"]
    assert [entry["holds"] for entry in _memory(api, "again")["results"] if "link" in entry["tool"]] == [False]
