"""The parts of a channel's replies are sent in order to each recipient, under a fence, and never blindly again."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import claim_turn, heard, make_tenant
from tests.models.ledger.channel_turns import (
    CHANNEL,
    answer,
    answered,
    claim,
    next_part,
    receipt,
    receive,
    record,
    sent,
    statuses,
)
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.turn import FinalTurnStatus, Reply
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger import audit, conversations, dead_letters, deliveries, turns
from turnloom.models.ledger.turns import Ending
from turnloom.models.runtime.operators import Operator

_ANN = Operator(name="ann")

pytestmark = pytest.mark.usefixtures("database")


def test_the_end_of_a_turn_puts_its_reply_into_the_outbox() -> None:
    """The commit that ends it does so; the reply is rendered later."""
    opened = receive(1)
    answer(opened.turn_id, "Good morning")
    assert opened.turn_id is not None

    with statement() as db:
        found = deliveries.next_of(db, opened.turn_id)

    assert found is not None
    assert (found.part, found.body, found.recipient, found.channel) == (1, None, "u1", CHANNEL)
    assert found.reply is not None
    assert found.reply.text == "Good morning"


def test_parts_follow_each_other() -> None:
    """A part can be claimed when those before it are sent, in its own turn and in earlier ones."""
    first, second = answered(1, "a", "b"), answered(2, "c")

    assert [claim(second), claim(first, 2)] == [None, None]
    for turn, part in ((first, 1), (first, 2), (second, 1)):
        assert next_part(second) == (turn, part)
        sent(turn, part)

    assert next_part(second) is None
    assert statuses(first) + statuses(second) == ["sent"] * 3


def test_recipients_do_not_wait_for_each_other() -> None:
    """Another person's part can be claimed meanwhile."""
    first, other = answered(1), answered(2, sender="u2")
    claim(first)

    assert claim(other) == 1


def test_of_many_workers_one_claims() -> None:
    """All others are refused."""
    turn = answered(1)

    with ThreadPoolExecutor(8) as threads:
        attempts = list(threads.map(lambda _: claim(turn), range(16)))

    assert sorted(attempt or 0 for attempt in attempts) == [0] * 15 + [1]


def test_a_stale_worker_cannot_record() -> None:
    """A claim whose lease has ended is not lost in silence: the next one knows that the part may have been sent."""
    turn = answered(1)
    old = claim(turn, lease_ms=0)

    with statement() as db:
        claimed = deliveries.claim(db, turn, 1, 60_000)

    assert claimed is not None
    assert claimed.unsure
    assert record(turn, old, status="sent", provider_id="m1") is None
    assert statuses(turn) == ["pending"]


def test_a_part_that_is_tried_again_waits() -> None:
    """It has no lease, and nobody takes it before its time; those after it wait, too."""
    turn = answered(1, "a", "b")

    assert (
        record(turn, claim(turn), status="pending", wait_ms=60_000, error={"code": "429", "message": "slow"})
        == "pending"
    )

    assert [next_part(turn), claim(turn), claim(turn, 2)] == [None, None, None]


def test_an_attempt_that_was_surely_not_taken_leaves_no_doubt() -> None:
    """The next attempt asks nobody."""
    turn = answered(1)
    record(turn, claim(turn), status="pending")

    with statement() as db:
        claimed = deliveries.claim(db, turn, 1, 60_000)

    assert claimed is not None
    assert not claimed.unsure


def test_after_a_failed_part_the_rest_is_withheld() -> None:
    """The next turn's reply goes out. A reply that was not seen is known as such to the next turn."""
    turn = answered(1, "a", "b")
    record(turn, claim(turn), status="failed", error={"code": "blocked", "message": "the recipient has blocked us"})
    after = receive(2, "are you there?")

    assert statuses(turn) == ["failed", "withheld"]
    claimed = claim_turn(after.turn_id)
    assert claimed is not None
    assert claimed.recalled is not None
    assert [exchange.seen for exchange in claimed.recalled.history] == [False]
    assert claimed.recalled.history[0].told.startswith("[This reply did not reach the user:]")


def test_a_reply_that_arrived_is_said() -> None:
    """Also while nobody knows it yet."""
    turn = answered(1)
    pending = receive(2)
    claimed = claim_turn(pending.turn_id)
    sent(turn)

    assert claimed is not None
    assert claimed.recalled is not None
    assert [exchange.seen for exchange in claimed.recalled.history] == [True]
    assert heard(claimed) == [("hello", "done")]


def test_a_superseded_reply_is_withheld() -> None:
    """Nobody sends it, and the next turn's reply need not wait for it."""
    first = receive(1)
    assert first.turn_id is not None
    running = claim_turn(first.turn_id)
    assert running is not None
    second = receive(2)
    assert second.closed is not None
    _finish_as(first.turn_id, second.closed.respond, "superseded")
    answer(second.turn_id)

    assert statuses(first.turn_id) == ["withheld"]
    assert next_part(first.turn_id) == (second.turn_id, 1)


def _finish_as(turn_id: UUID, attempt: int | None, status: FinalTurnStatus) -> None:
    assert attempt is not None
    with statement() as db:
        assert turns.finish(db, turn_id, attempt, Ending(status, Reply(text="stopped"), {})) is not None


def test_a_template_takes_the_place_of_a_reply() -> None:
    """The reply's parts are withheld; the template is a part of its own, and a receipt puts it there as well."""
    turn = answered(1, "a", "b")
    assert record(turn, claim(turn), status="withheld", body={"template": "hello"}) == "withheld"
    assert statuses(turn) == ["withheld", "withheld", "pending"]
    sent(turn, 3)
    other = answered(2)
    sent(other, provider_id="m2")

    assert receipt("m2", "failed", {"body": {"template": "hello"}}) == other
    assert statuses(other) == ["withheld", "pending"]


def test_a_part_that_nobody_sent_is_found() -> None:
    """It is handed out when it is due, and then after longer and longer pauses."""
    turn, other = answered(1), answered(2, sender="u2")
    claim(other, lease_ms=60_000)
    with transaction() as db:
        db.execute(text("UPDATE deliveries SET due_at = due_at - interval '3 seconds'"))

    with statement() as db:
        found = [deliveries.take_due(db, 10), deliveries.take_due(db, 10)]

    assert found == [[turn], []]


def test_an_operator_sends_a_part_again() -> None:
    """With those that were withheld because of it, after a look at the dead letters; and it is in the audit log."""
    turn = answered(1, "a", "b")
    record(turn, claim(turn), status="failed", error={"code": "blocked", "message": "…"})
    with transaction() as db:
        assert [(each.turn_id, each.part, each.code) for each in dead_letters.listed(db, None, 10)] == [
            (turn, 1, "blocked")
        ]

    with statement() as db:
        deliveries.redrive(db, turn, 1, _ANN)

    assert statuses(turn) == ["pending", "pending"]
    tenant_id = make_tenant()
    with transaction() as db:
        assert audit.verify(db, tenant_id, f"{CHANNEL}:u1") == []
        assert dead_letters.listed(db, None, 10) == []


def test_what_was_sent_is_not_sent_again() -> None:
    """Nor what does not exist."""
    turn = answered(1)
    sent(turn)

    with statement() as db, pytest.raises(Conflict):
        deliveries.redrive(db, turn, 1, _ANN)
    with statement() as db, pytest.raises(NotFound):
        deliveries.redrive(db, turn, 2, _ANN)


def test_erasing_a_conversation_erases_its_channel() -> None:
    """No body, recipient or webhook is left, and what was still to be sent is not."""
    turn, tenant_id = answered(1, "secret"), make_tenant()
    with transaction() as db:
        conversations.erase(db, tenant_id, f"{CHANNEL}:u1")

    assert statuses(turn) == ["withheld"]
    with transaction() as db:
        left = [db.scalar(text(f"SELECT count(*) FROM {table}")) for table in ("webhooks", "channel_items")]
        bodies = db.execute(text("SELECT body, recipient FROM deliveries")).all()
    assert left == [0, 0]
    assert bodies == [(None, "")]
