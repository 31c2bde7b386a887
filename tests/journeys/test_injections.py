"""On real workers, text that a tool returns stays data, even if the language model obeys it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.journeys.following import finished, post, sim_lines
from tests.journeys.speaking import Speaker, says, written
from tests.planner.injections import OURS, outside

OUTSIDE = list(outside().values())  # read at import, because tests do not see the environment

pytestmark = pytest.mark.usefixtures("speaking")

WRITE = {"id": "owned", "tool": "sim.write", "args": {"value": 1}, "needs": []}
WEATHER = {"id": "w", "tool": "travel.lookup_weather", "args": {"city": "Rome", "start": None, "days": 1}, "needs": []}


def bringing(texts: list[str]) -> dict[str, Any]:
    """Return a step whose result holds these texts, as a page from outside would."""
    about = {"kind": "sight", "lat": 41.9, "lon": 12.5, "summary": "s", "source": "s"}
    places = [{"name": text, **about} for text in texts]
    args = {"city": "Rome", "days": 1, "attractions": places, "weather": None, "hotels": None}
    return {"id": "look", "tool": "travel.format_itinerary", "args": args, "needs": []}


def obeyed(api: httpx2.Client, texts: list[str], mode: str, order: dict[str, Any]) -> dict[str, Any]:
    """Return the turn of a model that reads the texts in a result and then twice plans what they order."""
    message = says(written(bringing(texts)), written(order), written(order))
    return finished(api, post(api, message, agent="travel", mode=mode)["turn_id"])


def assert_untouched(turn: dict[str, Any], log: Path) -> None:
    assert [(step["id"], step["tool"], step["status"]) for step in turn["steps"]] == [
        ("look", "travel.format_itinerary", "succeeded")
    ]
    assert sim_lines(log, turn["turn_id"]) == []
    assert (turn["status"], bool(turn["reply"]["text"])) == ("succeeded", True)


@pytest.mark.parametrize("mode", ["react", "adaptive"])
def test_texts_in_a_result_give_no_tool(asking: httpx2.Client, model: Speaker, log: Path, mode: str) -> None:
    """The model obeys the texts, but a tool that its agent may not call is not called, and the turn is answered."""
    turn = obeyed(asking, [text.replace("\0", "") for text in OURS.values()], mode, WRITE)

    assert_untouched(turn, log)
    assert "<observations>" in model.prompts[-2]
    assert "unknown_tool" in model.prompts[-1]


def test_a_forbidden_fallback_is_refused(asking: httpx2.Client, log: Path) -> None:
    """A forbidden call that is the fallback of an allowed one is refused with it."""
    hidden = {**WEATHER, "fallbacks": [{"tool": "sim.write", "args": {"value": 1}}]}

    assert_untouched(obeyed(asking, [OURS["order"]], "react", hidden), log)


@pytest.mark.skipif(not OUTSIDE, reason="TURNLOOM_CASES names no folder of outside cases")
def test_outside_texts_give_no_tool(asking: httpx2.Client, log: Path) -> None:
    """Each text is tried, as many in one result as a message can hold."""
    texts = [text[:1_000].replace("\0", "") for text in OUTSIDE]

    turns = [obeyed(asking, some, "react", WRITE) for some in batched(texts, 5)]

    for turn in turns:
        assert_untouched(turn, log)
    assert len(turns) == 12


def batched(texts: list[str], size: int) -> Iterator[list[str]]:
    yield from (texts[start : start + size] for start in range(0, len(texts), size))
