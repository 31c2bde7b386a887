"""A replay whose workers are killed, and whose messages are lost, goes on to the same report."""

from typing import Any

import httpx2
import pytest
from redis import Redis

from tests.facts import wait_for
from tests.journeys.stacks import client_of
from turnloom.workers.embedded.stack import Stack, StackOptions

WITHIN_S = 120.0
TURNS = [{"user": "A room next weekend for 2 adults"}, {"user": "which room types do you have?"}, {"user": "thanks!"}]
REQUEST = {
    "conversations": [
        {"conversation_id": f"c{number}", "agent": "hotel", "turns": TURNS, "started_at": "2026-03-01T09:00:00Z"}
        for number in range(60)
    ]
}


@pytest.mark.drill
@pytest.mark.timeout(3 * WITHIN_S)
def test_a_replay_survives_its_workers() -> None:
    """Killed twice, and once without its messages, it reports what an undisturbed one reports, byte for byte."""
    with Stack(StackOptions(data_dir=None, port=0, tool_workers=1)) as stack, client_of(stack) as api:
        undisturbed = _ended(api, _made(api))
        address = _made(api)
        for part in (10, 30):
            wait_for(lambda part=part: api.get(address).json()["done"] >= part, WITHIN_S)  # type: ignore[misc]
            with Redis.from_url(stack.redis_url) as broker:
                broker.delete("replay")
            stack.processes["worker-replay"].kill()
        disturbed = _ended(api, address)

    assert disturbed["done"] == len(REQUEST["conversations"])
    assert disturbed["report"] == undisturbed["report"]


def _made(api: httpx2.Client) -> str:
    answer = api.post("/v1/replays", json=REQUEST)
    assert answer.status_code == 202, answer.text
    return str(answer.headers["Location"])


def _ended(api: httpx2.Client, address: str) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def has_report() -> bool:
        found.update(api.get(address).json())
        return found["report"] is not None

    wait_for(has_report, WITHIN_S)
    return found
