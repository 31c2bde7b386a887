"""On a channel a person's message goes through the outbox, and nothing of the agent is sent while the person writes."""

from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import claim_turn, recall
from tests.models.ledger.channel_turns import (
    CHANNEL,
    answer,
    answered,
    claim,
    next_part,
    receive,
    record,
    rendered,
    sent,
    statuses,
)
from tests.models.ledger.stopping import end
from tests.models.ledger.taking_over import kinds, pause, resume, write
from tests.turn_events import recorded_events
from turnloom.models.connections.database import statement, transaction
from turnloom.models.errors import Conflict
from turnloom.models.ledger import deliveries

pytestmark = pytest.mark.usefixtures("database")

PERSON = f"{CHANNEL}:u1"


def test_a_reply_that_nobody_sends_yet_is_withheld() -> None:
    """One that was never taken stays unsent. The next turn knows that the person has not seen it."""
    turn_id = answered(1, "a", "b")
    record(turn_id, claim(turn_id), status="pending", wait_ms=60_000, error={"code": "busy", "message": "later"})

    pause(PERSON)

    assert statuses(turn_id) == ["withheld", "withheld"]
    assert next_part(turn_id) is None
    resume(PERSON)
    turn = claim_turn(receive(2).turn_id)
    assert turn is not None
    assert [exchange.seen for exchange in recall(turn).history] == [False]


def test_a_part_that_is_being_sent_is_recorded() -> None:
    """It cannot be called back; those after it are withheld."""
    turn_id = answered(1, "a", "b")
    attempt = claim(turn_id)

    pause(PERSON)

    assert record(turn_id, attempt, status="sent", provider_id="m1") == "sent"
    assert statuses(turn_id) == ["sent", "withheld"]


def test_nothing_of_the_agent_is_sent_while_a_person_writes() -> None:
    """Neither the word of a turn that the pause has ended, nor of one that was being ended before, nor of a new one."""
    turn = claim_turn(receive(1).turn_id)
    assert turn is not None
    with statement() as db:
        closed = db.execute("SELECT hot.close_turn(%s, 'late', null, 60000)", (turn.id,)).fetchone()
    assert closed is not None
    pause(PERSON)
    end(turn.id, closed[0]["respond"], "failed")
    new = receive(2)
    assert new.turn_id is not None
    end(new.turn_id, 1)

    assert statuses(turn.id) + statuses(new.turn_id) == ["withheld", "withheld"]
    assert [event.type for event in recorded_events(turn.id)][-1:] == ["turn.failed"]


def test_a_persons_message_goes_to_whoever_wrote_last() -> None:
    """It is one part in the outbox, behind what is still to be sent, and pausing does not withhold it."""
    turn_id = answered(1, "a")
    attempt = claim(turn_id)
    written = write("Hello", PERSON)
    pause(PERSON)

    assert written.deliver
    assert next_part(turn_id) is None
    record(turn_id, attempt, status="sent", provider_id="m1")
    with statement() as db:
        found = deliveries.next_of(db, written.turn_id)
    assert found is not None
    assert (found.turn_id, found.recipient, found.channel) == (written.turn_id, "u1", CHANNEL)
    assert found.reply is not None
    assert found.reply.text == "Hello"
    assert found.silent_s is not None


def test_a_persons_message_that_was_not_sent_is_known_as_not_seen() -> None:
    """The next turn does not build on it."""
    answer(receive(1).turn_id)
    sent(rendered(view_id(1), "done"))
    written = write("Hello", PERSON)
    rendered(written.turn_id, "Hello")
    failed = {"code": "window_closed", "message": "too long ago"}
    record(written.turn_id, claim(written.turn_id), status="failed", error=failed)

    turn = claim_turn(receive(2).turn_id)

    assert turn is not None
    assert [(exchange.reply, exchange.seen) for exchange in recall(turn).history] == [("done", True), ("Hello", False)]


def test_nobody_can_be_written_to_on_a_channel_without_a_recipient() -> None:
    """The refusal says so, and nothing is recorded."""
    answer(receive(1).turn_id)
    with transaction() as db:
        db.execute(text("DELETE FROM channel_items"))

    with pytest.raises(Conflict) as refused:
        write("Hello", PERSON)

    assert refused.value.code == "no_recipient"
    assert "message.written" not in kinds(PERSON)


def view_id(seq: int) -> UUID:
    with transaction() as db:
        row: UUID = db.execute(text("SELECT id FROM turns WHERE seq = :seq"), {"seq": seq}).scalar_one()
        return row
