"""A person takes a conversation over: turns are recorded and not answered, and what the person writes stands in it."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from tests.factories import (
    claim_turn,
    finish_turn,
    heard,
    make_tenant,
    open_turn,
    recall,
    released,
    running_turn,
    step,
    work,
)
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
from tests.models.ledger.remembering import begun_turn
from tests.models.ledger.stopping import WRITE, end, lose_turn, view
from tests.models.ledger.stopping import claim as claim_step
from tests.models.ledger.stopping import record as record_step
from tests.models.ledger.stopping import statuses as step_statuses
from tests.turn_events import recorded_events
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.takeover import PersonMessage
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger import audit, conversations, deliveries, memory, takeover
from turnloom.models.ledger.takeover import Operator, PausedConversation, WrittenMessage
from turnloom.models.ledger.turns import OpenedTurn

pytestmark = pytest.mark.usefixtures("database")

DANA = Operator(name="Dana")
PERSON = f"{CHANNEL}:u1"


def pause(conversation: str = "c1", tenant: UUID | None = None) -> PausedConversation:
    tenant = tenant or make_tenant()
    with statement() as db:
        return takeover.pause(db, tenant, conversation, DANA)


def resume(conversation: str = "c1") -> bool:
    tenant = make_tenant()
    with statement() as db:
        return takeover.resume(db, tenant, conversation, DANA)


def write(message: str = "Hello, Dana here", conversation: str = "c1", **fields: Any) -> WrittenMessage:
    tenant = make_tenant()
    with statement() as db:
        return takeover.write(db, tenant, conversation, PersonMessage(message=message, **fields), DANA)


def paused_turn(message: str = "hello", **request: Any) -> OpenedTurn:
    """Open a turn in a paused conversation and end it, as a responder does."""
    opened = open_turn(make_tenant(), message, **request)
    assert opened.turn_id is not None
    end(opened.turn_id, 1)
    return opened


def kinds(conversation: str = "c1") -> list[str]:
    tenant = make_tenant()
    with transaction() as db:
        assert audit.verify(db, tenant, conversation) == []
        return [row.kind for row in audit.page(db, tenant, conversation, 0, 100)]


def test_a_turn_is_recorded_and_not_planned() -> None:
    """It is closed in the commit that records it, and waits for nothing but its own end."""
    tenant = make_tenant()
    work(open_turn(tenant).turn_id)
    pause()

    opened = open_turn(tenant, "anybody?")

    assert (opened.outcome, opened.is_sent, opened.seq) == ("opened", False, 2)
    assert opened.closed is not None
    assert (opened.closed.id, opened.closed.respond) == (opened.turn_id, 1)
    assert claim_turn(opened.turn_id) is None
    assert released() == []
    end(opened.closed.id, 1)
    row = view(opened.turn_id)
    assert (row.status, row.ending, row.message) == ("cancelled", "paused", "anybody?")
    assert [event.type for event in recorded_events(row.id)] == ["turn.queued", "turn.cancelled"]


@pytest.mark.parametrize("on_busy", ["auto", "enqueue", "reject", "interrupt", "rollback", "merge"])
def test_each_message_is_a_turn_whatever_it_does_to_a_busy_one(on_busy: Any) -> None:
    """Nothing is refused, merged or kept waiting, even while a turn is still being ended."""
    tenant = make_tenant()
    open_turn(tenant)
    pause()

    opened = [open_turn(tenant, f"m{number}", on_busy=on_busy) for number in range(3)]

    assert [(each.outcome, each.seq) for each in opened] == [("opened", 2), ("opened", 3), ("opened", 4)]
    assert [view(each.turn_id).ending for each in opened] == ["paused"] * 3


def test_a_message_that_comes_again_is_the_same_turn() -> None:
    """As in a conversation that is not paused."""
    tenant = make_tenant()
    work(open_turn(tenant).turn_id)
    pause()

    first, again = (open_turn(tenant, "one", message_id="m1") for _ in range(2))
    other = open_turn(tenant, "two", message_id="m1", body=b"other")

    assert (again.outcome, again.turn_id, again.closed) == ("repeated", first.turn_id, None)
    assert other.outcome == "mismatched"


def test_pausing_ends_what_is_in_work_and_what_waits() -> None:
    """Reads stop and pending steps are cancelled. A write under way is recorded when it ends."""
    turn = running_turn(step("a"), WRITE, step("c", "a"))
    waiting = open_turn(turn.tenant_id, on_busy="enqueue", conversation_id=turn.conversation_id)
    claim_step(turn.id, "a")
    claim_step(turn.id, "w")

    paused = pause(turn.conversation_id)

    assert [closed.id for closed in paused.closed] == [turn.id, waiting.turn_id]
    assert step_statuses(turn.id) == {"a": "cancelled", "w": "running", "c": "cancelled"}
    for closed in paused.closed:
        assert closed.respond is not None
        assert end(closed.id, closed.respond) is not None
    record_step(turn.id, "w")
    assert step_statuses(turn.id)["w"] == "succeeded"
    with transaction() as db:
        assert conversations.get(db, turn.tenant_id, turn.conversation_id).active_turn_id is None


def test_a_reply_that_is_being_made_is_fenced() -> None:
    """Whoever had the turn can record neither a plan nor a reply."""
    turn = begun_turn(make_tenant())
    pause()

    assert finish_turn(turn) is None


def test_pausing_again_changes_nothing() -> None:
    """The first one counts, and is audited once. The same holds for resuming."""
    work(open_turn(make_tenant()).turn_id)

    paused = [pause().is_new for _ in range(3)]
    resumed = [resume() for _ in range(3)]

    assert (paused, resumed) == ([True, False, False], [True, False, False])
    assert kinds()[2:] == ["conversation.paused", "conversation.resumed"]


def test_who_has_paused_it_is_known() -> None:
    """It stands in the conversation while it is paused, and in the audit log for ever."""
    tenant = make_tenant()
    work(open_turn(tenant).turn_id)
    pause()
    with transaction() as db:
        row = conversations.get(db, tenant, "c1")
        assert (row.paused_at is not None, row.paused_by) == (True, "Dana")
        assert conversations.count_paused(db) == 1
        content = audit.page(db, tenant, "c1", 2, 1)[0].content
    resume()

    assert content == {"by": "Dana", "key_id": None, "closed": 0, "withheld": 0}
    with transaction() as db:
        row = conversations.get(db, tenant, "c1")
        assert (row.paused_at, row.paused_by, conversations.count_paused(db)) == (None, None, 0)


def test_a_resumed_conversation_is_answered_from_the_next_message_on() -> None:
    """What was recorded meanwhile is history, in the order in which it was said, and never answered."""
    tenant = make_tenant()
    work(open_turn(tenant, "hello").turn_id)
    pause()
    opened = [open_turn(tenant, message).turn_id for message in ("are you", "there?")]
    for turn_id in reversed(opened):  # by two workers, the later one first
        assert turn_id is not None
        end(turn_id, 1)
    write("Yes, I am Dana")
    resume()

    turn = claim_turn(open_turn(tenant, "thanks").turn_id)

    assert turn is not None
    assert heard(turn) == [("hello", "done"), ("are you", ""), ("there?", ""), ("", "Yes, I am Dana")]
    assert [exchange.author for exchange in recall(turn).history] == [None, None, None, "Dana"]


def test_a_summary_covers_what_a_person_wrote() -> None:
    """It knows who wrote it."""
    tenant = make_tenant()
    work(open_turn(tenant, "hello").turn_id)
    pause()
    paused_turn("there?")
    write("Yes")
    resume()
    opened = open_turn(tenant, "thanks")
    assert opened.turn_id is not None

    with statement() as db:
        found = memory.unsummarised(db, opened.turn_id, 40)

    assert found is not None
    said = [(each["message"], each["reply"], each["author"]) for each in found.history]
    assert said == [("hello", "done", None), ("there?", "", None), ("", "Yes", "Dana")]


def test_numbers_that_came_while_paused_are_not_missed() -> None:
    """The next message by its sender's count does not wait for messages that a person has answered."""
    tenant = make_tenant()
    held = {"sequence": 1, "order_ms": 60_000}
    work(open_turn(tenant, "m1", held=held).turn_id)
    waiting = open_turn(tenant, "m2", held={**held, "sequence": 2})
    assert waiting.turn_id is not None
    for closed in pause().closed:
        end(closed.id, closed.respond or 0)
    open_turn(tenant, "m3", held={**held, "sequence": 3})
    resume()

    assert open_turn(tenant, "m4", held={**held, "sequence": 4}).is_sent


def test_a_lost_responder_is_replaced() -> None:
    """A turn that was recorded while paused, and whose message was lost, is found by recovery."""
    tenant = make_tenant()
    work(open_turn(tenant).turn_id)
    pause()
    opened = open_turn(tenant, "there?")
    assert opened.turn_id is not None
    lose_turn(opened.turn_id)

    with statement() as db:
        found = db.execute("SELECT turn_id, kind FROM hot.find_lost(0, '{}', 10)").fetchall()

    assert found == [(opened.turn_id, "respond")]


def test_what_a_person_writes_is_a_final_turn() -> None:
    """Its reply is the message, its author the person. Nobody plans it, and it does not make others wait."""
    work(open_turn(make_tenant()).turn_id)

    written = write("Hello", author="Noa")

    row = view(written.turn_id)
    assert (row.seq, row.status, row.message, row.author, written.deliver) == (2, "succeeded", "", "Noa", False)
    told = recorded_events(row.id)
    assert [event.type for event in told] == ["turn.queued", "reply.done", "turn.succeeded"]
    assert told[1].data["text"] == "Hello"
    assert claim_turn(row.id) is None
    assert open_turn(make_tenant()).is_sent
    assert kinds()[2] == "message.written"


def test_a_person_may_write_while_the_agent_works() -> None:
    """The turn in work is not disturbed, and ends as it would have."""
    turn = begun_turn(make_tenant())
    write("I look at it too")

    assert finish_turn(turn) is not None
    assert open_turn(make_tenant()).is_sent


def test_a_persons_message_is_recorded_once() -> None:
    """The same id again is the same turn; with another text it is refused. Ids of users' messages are others."""
    work(open_turn(make_tenant(), message_id="m1").turn_id)

    first = write("Hello", message_id="m1")
    again = write("Hello", message_id="m1")
    with pytest.raises(Conflict, match="m1") as refused:
        write("Good bye", message_id="m1")

    assert (first.outcome, again.outcome) == ("written", "repeated")
    assert (again.turn_id, again.seq) == (first.turn_id, first.seq)
    assert refused.value.code == "message_id_reused"
    assert kinds().count("message.written") == 1


def test_an_unknown_conversation_cannot_be_taken_over() -> None:
    """Another tenant's is unknown, too."""
    work(open_turn(make_tenant()).turn_id)

    for conversation, tenant in (("c9", make_tenant()), ("c1", uuid4())):
        with pytest.raises(NotFound):
            pause(conversation, tenant)
    with pytest.raises(NotFound):
        resume("c9")
    with pytest.raises(NotFound):
        write(conversation="c9")


def test_erasing_ends_the_takeover() -> None:
    """Nothing of what the person wrote is left. Nobody can take over what is blank, until somebody writes again."""
    tenant = make_tenant()
    work(open_turn(tenant).turn_id)
    pause()
    written = write("my secret", author="Dana")
    with transaction() as db:
        conversations.erase(db, tenant, "c1")

    refused = []
    for action in (pause, write):
        with pytest.raises(Conflict) as error:
            action()
        refused.append(error.value.code)

    assert refused == ["erased", "erased"]
    assert view(written.turn_id).author is None
    assert recorded_events(written.turn_id)[1].data.get("text") is None
    assert open_turn(tenant).is_sent
    assert pause().is_new
    assert kinds()[-1] == "conversation.paused"


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
