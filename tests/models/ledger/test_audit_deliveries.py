"""What is sent to people, and what they take back, is in the audit chain of their conversation."""

from typing import Any

import pytest

from tests.factories import claim_turn, make_tenant
from tests.models.ledger.channel_turns import CHANNEL, answered, change, claim, receipt, receive, record, sent
from tests.models.ledger.stopping import end
from tests.workers.calling_back import final_turn
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import audit, callbacks
from turnloom.models.ledger.callbacks import CallbackOutcome

pytestmark = pytest.mark.usefixtures("database")


def contents(kind: str, conversation: str = f"{CHANNEL}:u1") -> list[dict[str, Any]]:
    """Return the contents of the records of a kind, in a chain that verifies."""
    tenant = make_tenant()
    with transaction() as db:
        assert audit.verify(db, tenant, conversation) == []
        rows = audit.page(db, tenant, conversation, 0, 100)
        return [row.content for row in rows if row.kind == kind and row.content is not None]


def test_a_receipt_is_recorded() -> None:
    """A receipt that says nothing new is not."""
    turn = answered(1)
    sent(turn)
    for status in ("delivered", "delivered", "read"):
        receipt("m1", status)

    assert contents("delivery.confirmed") == [
        {"part": 1, "status": "delivered", "provider_id": "m1"},
        {"part": 1, "status": "read", "provider_id": "m1"},
    ]


def test_a_failed_part_is_recorded_with_those_that_are_withheld_for_it() -> None:
    """One record says how many."""
    turn = answered(1, "a", "b", "c")
    record(turn, claim(turn), status="failed", error={"code": "blocked", "message": "the recipient has blocked us"})

    (ended,) = contents("delivery.ended")
    assert (ended["part"], ended["status"], ended["error"], ended["withheld"]) == (1, "failed", "blocked", 2)


def test_a_reply_that_is_never_sent_is_recorded() -> None:
    """A newer message took the place of its turn."""
    first = receive(1)
    assert first.turn_id is not None
    claim_turn(first.turn_id)
    second = receive(2)
    assert second.closed is not None
    assert second.closed.respond is not None
    end(first.turn_id, second.closed.respond, "superseded")

    assert contents("delivery.ended") == [{"part": 1, "status": "withheld"}]


def test_a_message_that_is_deleted_late_is_recorded() -> None:
    """Its turn had begun: the text is only kept from later prompts."""
    opened = receive(1, "my secret")
    claim_turn(opened.turn_id)
    change(1, None, order=1)

    (hidden,) = contents("message.hidden")
    (received,) = contents("turn.received")
    assert hidden["message_sha256"] == received["message_sha256"]


def test_a_callback_is_recorded_when_it_ends() -> None:
    """A try that failed and is repeated is not its end. The receiver is named, but not the whole address."""
    turn_id = final_turn("https://hooks.example.com/done?for=me")
    for outcome in (CallbackOutcome("pending", answer=503), CallbackOutcome("delivered", answer=204)):
        with statement() as db:
            claimed = callbacks.claim(db, (), 60_000)
            assert claimed is not None
            callbacks.record(db, turn_id, claimed.attempt, outcome)

    assert contents("callback.ended", "c1") == [{"status": "delivered", "receiver": "hooks.example.com", "answer": 204}]
