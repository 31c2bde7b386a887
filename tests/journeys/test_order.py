"""Messages that come out of order or in bursts are answered in order, on the whole stack."""

from collections.abc import Iterator

import httpx2
import pytest

from tests.journeys.following import finished, post
from tests.journeys.ordering import assert_ran_in_order, post_shuffled
from turnloom.workers.embedded.stack import Stack, StackOptions

BURST_MS = 600
SETTINGS = {"TURNLOOM_ORDER_WINDOW_MS": "30000", "TURNLOOM_BURST_WINDOW_MS": str(BURST_MS)}


@pytest.fixture(scope="module")
def holding(clean_environment: None) -> Iterator[Stack]:
    """A stack that waits for missing messages so long that even a slow machine sends them in time."""
    with Stack(StackOptions(data_dir=None, port=0, settings=SETTINGS)) as stack:
        yield stack


def test_conversations_are_answered_in_their_senders_order(holding: Stack) -> None:
    """Sixteen clients post out of order, all at once. `tests/chaos/test_order_drill.py` does it with more turns."""
    post_shuffled(holding, range(10), turns=5, seed=1)

    assert_ran_in_order(holding, conversations=10, turns=5, within_s=20)


def test_a_burst_is_answered_once(holding: Stack) -> None:
    """The messages of a burst become one turn, planned soon after the window. A later message opens its own turn."""
    headers = {"Authorization": f"Bearer {holding.dev_key}"}
    with httpx2.Client(base_url=holding.url, headers=headers, timeout=40) as api:
        accepted = [post(api, message, conversation_id="burst") for message in ("hi", "I need a room", "for two")]
        turn = finished(api, accepted[0]["turn_id"])
        later = post(api, "thanks", conversation_id="burst")

    assert len({turn["turn_id"] for turn in accepted}) == 1
    assert turn["status"] == "succeeded"
    assert BURST_MS <= turn["timings"]["queued_ms"] < 10 * BURST_MS
    assert later["seq"] == 2
