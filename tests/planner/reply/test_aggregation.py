"""Test when an aggregated answer is made, and from which results."""

from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

import pytest

from tests.planner.reply.test_responder_grounding import HOTELS
from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.reply.aggregation import Aggregation, aggregated, aggregation
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.reply.responder import compose
from turnloom.tools.packs.travel.itinerary import ItineraryRequest, format_itinerary

PLACES = [{"name": "Colosseum", "kind": "ruin", "lat": 41.9, "lon": 12.5, "summary": "Old.", "source": "demo"}]
SIGHTS = StepResult(
    id="a",
    tool="travel.search_attractions",
    args={},
    status="succeeded",
    result={"city": "Rome", "results": PLACES},
)
FAILED = StepResult(
    id="w", tool="travel.lookup_weather", args={}, status="failed", error={"code": "TOOL_TIMEOUT", "message": "late"}
)
TRIP = StepResult(id="t", tool="travel.format_itinerary", args={}, status="skipped")


def test_a_trip_whose_formatter_did_not_run_is_joined_from_its_results(
    reply_input: Callable[..., ReplyInput], llm: Any
) -> None:
    """The agent's formatter is called with the results. The reply is its itinerary, and names the failure."""
    known = reply_input(SIGHTS, FAILED, HOTELS, TRIP, slots={"days": 2})
    call = aggregation(known)

    assert isinstance(call, Aggregation)
    assert call.args == {"city": "Rome", "days": 2, "attractions": SIGHTS.result, "hotels": HOTELS.result}
    trip = format_itinerary(ItineraryRequest.model_validate(call.args), MagicMock()).model_dump(mode="json")
    composed = compose(reply_input(SIGHTS, FAILED, HOTELS, TRIP, aggregated(call, trip)), llm)
    assert composed.output == trip
    assert composed.reply.artifacts[0].kind == "itinerary"
    assert "Colosseum" in composed.reply.text
    assert "The weather: that took too long." in composed.reply.text


@pytest.mark.parametrize(
    ("steps", "more"),
    [
        ([SIGHTS], {}),
        ([FAILED, TRIP], {}),
        ([SIGHTS, TRIP], {"submitted": True}),
        ([SIGHTS, TRIP], {"ending": "cancelled"}),
        ([SIGHTS, TRIP], {"agent": "generic"}),
        ([SIGHTS, StepResult(id="t", tool="travel.format_itinerary", args={}, status="succeeded", result={})], {}),
    ],
    ids=["not_asked_for", "nothing_found", "submitted", "cancelled", "no_formatter", "formatted"],
)
def test_when_nothing_is_joined(reply_input: Callable[..., ReplyInput], steps: list[StepResult], more: Any) -> None:
    """The plan does not ask for it, no result was found, or it has already been done."""
    assert aggregation(reply_input(*steps, **more)) is None


def test_a_hint_asks_for_it(reply_input: Callable[..., ReplyInput]) -> None:
    """A plan that hints at an itinerary and has no formatter gets one, for the default number of days."""
    call = aggregation(reply_input(SIGHTS, synthesis_hint="itinerary"))

    assert call is not None
    assert call.args["days"] == 3
