"""Post the turns of many conversations at once and out of order, and read from the ledger in which order they ran."""

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import httpx2
import psycopg

from tests.facts import wait_for
from tests.journeys.following import post, wait_step
from turnloom.workers.embedded.stack import Stack

CLIENTS = 16
BURST_MS = 600
WINDOWS = {"TURNLOOM_ORDER_WINDOW_MS": "30000", "TURNLOOM_BURST_WINDOW_MS": str(BURST_MS)}
"""Settings of a stack that waits for missing messages so long that even a slow machine sends them in time."""
_PLAN = {"steps": [wait_step("a")]}
_LEFT = "SELECT 1 FROM turns WHERE conversation_id LIKE 'order-%' AND finished_at IS NULL LIMIT 1"
_RAN = (
    "SELECT conversation_id, array_agg(sequence ORDER BY planning_at), array_agg(planning_at ORDER BY planning_at),"
    " array_agg(finished_at ORDER BY planning_at), bool_and(status = 'succeeded')"
    " FROM turns WHERE conversation_id LIKE 'order-%' GROUP BY conversation_id"
)


def post_shuffled(stack: Stack, conversations: Sequence[int], turns: int, seed: int) -> None:
    """Post turns 1, 2, 3, … of each conversation in random order, with sixteen clients."""
    posts = [(conversation, number) for conversation in conversations for number in range(1, turns + 1)]
    random.Random(seed).shuffle(posts)

    def send(client: int) -> None:
        headers = {"Authorization": f"Bearer {stack.dev_key}"}
        with httpx2.Client(base_url=stack.url, headers=headers, timeout=40) as api:
            for conversation, number in posts[client::CLIENTS]:
                place = {"conversation_id": f"order-{conversation}", "metadata": {"sequence": number}}
                post(api, plan=_PLAN, agent="generic", on_busy="enqueue", **place)

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(send, range(CLIENTS)))


def assert_ran_in_order(stack: Stack, conversations: int, turns: int, within_s: float) -> None:
    """Assert that every turn succeeded, and those of a conversation one at a time in the order of their numbers."""
    with psycopg.connect(stack.database_url, autocommit=True) as ledger:
        wait_for(lambda: ledger.execute(_LEFT).fetchone() is None, within_s)
        ran = ledger.execute(_RAN).fetchall()
    assert len(ran) == conversations
    for conversation, numbers, starts, ends, all_succeeded in ran:
        assert numbers == list(range(1, turns + 1)), conversation
        assert all_succeeded, conversation
        assert all(end <= start for end, (_, start) in zip(ends, pairwise(starts), strict=False)), conversation
