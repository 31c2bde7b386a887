"""The language model is down for seconds, and turns with minutes to go all succeed."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.facts import wait_for
from tests.journeys.following import events_of, finished, post, wait_step
from tests.journeys.speaking import Speaker, says, written
from tests.journeys.stacks import client_of_stack
from tests.planner.llm.scripted import Script, fails, scripted_server

pytestmark = [pytest.mark.drill, pytest.mark.timeout(180)]

OUT_S = 8.0
MODES = ("auto", "react", "adaptive")
ANSWERS = says(written(wait_step("a")), written(wait_step("b", "a")), written(reply="Done."))


class Endpoint:
    """A language model that may be down, and counts how often it is asked."""

    def __init__(self, script: Script) -> None:
        Speaker(script).gate.set()
        self.url = script.url
        self.is_out = threading.Event()
        self.asked = 0
        self._speak = script.otherwise
        script.otherwise = self._behave

    def _behave(self, body: dict[str, Any]) -> Any:
        self.asked += 1
        return (fails(500, Retry_After="0") if self.is_out.is_set() else self._speak)(body)


@pytest.fixture(scope="module")
def endpoint(clean_environment: None) -> Iterator[Endpoint]:
    with scripted_server() as script:
        yield Endpoint(script)


def test_all_turns_succeed_despite_an_outage_of_the_model(endpoint: Endpoint) -> None:
    """The model is down during planning or answering, in any mode. Each turn reports that at most once."""
    with client_of_stack(OPENAI_BASE_URL=endpoint.url) as api:
        begun = [post(api, ANSWERS, agent="generic", mode=mode)["turn_id"] for mode in MODES]
        endpoint.is_out.set()
        asked, end = endpoint.asked, time.monotonic() + OUT_S
        posted = [post(api, ANSWERS, agent="generic", mode=mode)["turn_id"] for mode in MODES * 5]
        wait_for(lambda: time.monotonic() > end, 2 * OUT_S)
        endpoint.is_out.clear()
        turns = [finished(api, turn_id, 60) for turn_id in (*begun, *posted)]
        told = [[kind for kind, _ in events_of(api, turn["turn_id"])].count("turn.queued") for turn in turns]

    assert endpoint.asked > asked
    assert [turn["error"] for turn in turns] == [None] * len(turns)
    assert {turn["status"] for turn in turns} == {"succeeded"}
    assert set(told) <= {1, 2}
    assert told[-1] == 2
