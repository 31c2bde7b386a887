"""Messages that come out of order or in bursts are answered in order, on the whole stack."""

import httpx2

from tests.journeys.following import finished, post
from tests.journeys.ordering import BURST_MS, assert_ran_in_order, post_shuffled
from turnloom.workers.embedded.stack import Stack


def test_conversations_are_answered_in_their_senders_order(odd_stack: Stack) -> None:
    """Sixteen clients post out of order, all at once. `tests/chaos/test_order_drill.py` does it with more turns."""
    post_shuffled(odd_stack, range(10), turns=5, seed=1)

    assert_ran_in_order(odd_stack, conversations=10, turns=5, within_s=20)


def test_a_burst_is_answered_once(odd_stack: Stack) -> None:
    """The messages of a burst become one turn, planned soon after the window. A later message opens its own turn."""
    headers = {"Authorization": f"Bearer {odd_stack.dev_key}"}
    with httpx2.Client(base_url=odd_stack.url, headers=headers, timeout=40) as api:
        accepted = [post(api, message, conversation_id="burst") for message in ("hi", "I need a room", "for two")]
        turn = finished(api, accepted[0]["turn_id"])
        later = post(api, "thanks", conversation_id="burst")

    assert len({turn["turn_id"] for turn in accepted}) == 1
    assert turn["status"] == "succeeded"
    assert BURST_MS <= turn["timings"]["queued_ms"] < 10 * BURST_MS
    assert later["seq"] == 2
