"""A turn in `dense` needs few commits after the one that accepts it."""

from typing import Any

import httpx2
import psycopg
import pytest

from tests.journeys.following import finished, kinds, post, wait_step
from tests.journeys.speaking import Speaker, says, written
from turnloom.workers.embedded.stack import Stack

pytestmark = pytest.mark.usefixtures("model")

FAN = [*(wait_step(name, ms=0) for name in "abcd"), wait_step("join", *"abcd", ms=0)]


def commits_of(stack: Stack, turn_id: str) -> int:
    """Return how many commits have appended events to a turn."""
    with psycopg.connect(stack.database_url) as db:
        query = "SELECT count(DISTINCT xmin::text) FROM turn_events WHERE turn_id = %s"
        row = db.execute(query, [turn_id]).fetchone()
    assert row is not None
    return int(row[0])


def asked(api: httpx2.Client, *steps: dict[str, Any], reply: str | None = None) -> dict[str, Any]:
    """Return the turn whose plan the language model has written."""
    return finished(api, post(api, says(written(*steps, reply=reply)), agent="generic")["turn_id"])


def test_a_direct_reply_is_one_commit_after_its_claim(
    asking_dense: httpx2.Client, dense: Stack, model: Speaker
) -> None:
    """The plan and the reply are recorded together."""
    turn = asked(asking_dense, reply="Hello.")

    assert (turn["status"], turn["reply"]["text"]) == ("succeeded", "Hello.")
    assert commits_of(dense, turn["turn_id"]) == 3
    expected = ["turn.queued", "plan.started", "plan.ready", "reply.done", "turn.succeeded"]
    assert kinds(asking_dense, turn["turn_id"]) == expected


def test_a_plan_of_short_reads_is_three_commits(asking_dense: httpx2.Client, dense: Stack, model: Speaker) -> None:
    """The commits are claim, record with results, and end. A busy machine may need more, so the best counts."""
    turns = [asked(asking_dense, *FAN) for _ in range(6)]

    assert {turn["status"] for turn in turns} == {"succeeded"}
    assert [len(turn["steps"]) for turn in turns] == [5] * 6
    assert min(commits_of(dense, turn["turn_id"]) for turn in turns) == 4
