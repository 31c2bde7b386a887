"""Placement `dense`: how many commits a turn is, beside the one that accepts it."""

import httpx2
import psycopg
import pytest

from tests.journeys.following import finished, kinds, post
from tests.journeys.speaking import Speaker, says, written
from workers.embedded import Stack

pytestmark = pytest.mark.usefixtures("model")


def commits_of(stack: Stack, turn_id: str) -> int:
    """Return how many commits have told of a turn: each appends events."""
    with psycopg.connect(stack.database_url) as db:
        row = db.execute("SELECT count(DISTINCT xmin::text) FROM events WHERE turn_id = %s", [turn_id]).fetchone()
    assert row is not None
    return int(row[0])


def test_a_direct_reply_is_one_commit_after_its_claim(
    asking_dense: httpx2.Client, dense: Stack, model: Speaker
) -> None:
    """Plan and reply are recorded together."""
    turn_id = post(asking_dense, says(written(reply="Hello.")), agent="generic")["turn_id"]

    turn = finished(asking_dense, turn_id)

    assert (turn["status"], turn["reply"]["text"]) == ("succeeded", "Hello.")
    assert commits_of(dense, turn_id) == 3
    expected = ["turn.queued", "plan.started", "plan.ready", "reply.done", "turn.succeeded"]
    assert kinds(asking_dense, turn_id) == expected
