"""The loop runs with the offline model on real workers."""

import json

import httpx2
import pytest

from tests.journeys.following import finished, post

KYOTO = "Plan a 2-day Kyoto trip: main attractions, check the weather, hotels for 2 nights"


@pytest.mark.parametrize("mode", ["react", "adaptive"])
def test_the_offline_model_works_in_rounds(api: httpx2.Client, mode: str) -> None:
    """A trip that is planned step by step has the same steps as one that is planned at once."""
    turn = finished(api, post(api, KYOTO, agent="travel", mode=mode)["turn_id"])

    assert turn["status"] == "succeeded"
    assert [step["tool"].split(".")[1] for step in turn["steps"]][-1] == "format_itinerary"
    assert all(step["status"] == "succeeded" for step in turn["steps"])
    assert len(turn["plans"]) == (5 if mode == "react" else 2)
    assert json.dumps(turn["output"])


def test_the_offline_model_learns_about_a_trip(api: httpx2.Client) -> None:
    """A trip in mode adaptive adds sights, weather and hotels, each with its step, and no contradiction."""
    turn = finished(api, post(api, KYOTO, agent="travel", mode="adaptive")["turn_id"])

    page = api.get(f"/v1/conversations/{turn['conversation_id']}/knowledge").json()
    kinds = {item["type"] for item in page["items"]}
    castle = next(item for item in page["items"] if item["type"] == "attraction")
    assert turn["status"] == "succeeded"
    assert {"city", "weather", "attraction", "hotel"} <= kinds
    assert castle["source"]["step"] == "attractions"
    assert page["contradictions"] == []
    assert turn["usage"]["llm_calls"] >= 3
