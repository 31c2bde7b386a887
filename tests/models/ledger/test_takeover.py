"""A person takes a conversation over: turns are recorded and not answered, and what the person writes stands in it."""

from typing import Any
from uuid import uuid4

import pytest

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
from tests.models.ledger.remembering import begun_turn
from tests.models.ledger.stopping import WRITE, end, lose_turn, view
from tests.models.ledger.stopping import claim as claim_step
from tests.models.ledger.stopping import record as record_step
from tests.models.ledger.stopping import statuses as step_statuses
from tests.models.ledger.taking_over import kinds, pause, resume, write
from tests.turn_events import recorded_events
from turnloom.models.connections.database import statement, transaction
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger import audit, conversations, memory

pytestmark = pytest.mark.usefixtures("database")


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
    opened = open_turn(tenant, "there?")
    assert opened.turn_id is not None
    end(opened.turn_id, 1)
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
