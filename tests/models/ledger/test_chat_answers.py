"""A person is asked in chat about a call that waits for approval, and decides it with an answer to what was shown."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import running_turn
from tests.models.ledger import channel_turns
from tests.models.ledger.channel_turns import answered, next_delivery, receive, statuses
from tests.models.ledger.chat_requests import answer, asking, decision, outcome, send_next, show, tap, told, yes
from tests.models.ledger.parking import APPROVED, ask, change
from tests.models.ledger.stopping import claim, close, end, view
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import conversations, deliveries
from turnloom.models.ledger.chat_answers import TakenAnswer
from turnloom.models.ledger.turns import OpenedTurn

pytestmark = pytest.mark.usefixtures("database")


def kept() -> list[tuple[str, str]]:
    with transaction() as db:
        query = "SELECT kind, coalesce(detail ->> 'kind', '') FROM channel_items WHERE kind <> 'message' ORDER BY id"
        return [(kind, detail) for kind, detail in db.execute(text(query))]


def message_of(turn_id: UUID | None) -> str:
    return view(turn_id).message


def test_a_call_that_waits_is_shown_in_chat() -> None:
    """With its arguments as events show them; the request is a part of its turn."""
    turn_id = asking(1)

    found = next_delivery(turn_id)

    assert found is not None
    assert (found.part, found.recipient, found.reply, found.is_request) == (1, "u1", None, True)
    assert found.request == {"tool": "sim.approve", "args": {"value": "***"}}
    assert found.spoken == {"person": {}, "messages": ["hello"]}


def test_a_turn_of_the_api_sends_no_request() -> None:
    """There is nobody to send it to."""
    turn = running_turn(APPROVED)
    claim(turn.id, "w")
    assert not ask(turn.id).deliver

    with transaction() as db:
        assert db.scalar(text("SELECT count(*) FROM deliveries")) == 0


@pytest.mark.parametrize(
    ("said", "given", "decided"),
    [
        ("yes", {"means": "approve"}, "approve"),
        ("no", {"means": "reject"}, "reject"),
        ("1", {"number": 1}, "approve"),
        ("2", {"number": 2}, "reject"),
        ("yes", {"means": "approve", "quoted": "m1"}, "approve"),
    ],
)
def test_a_typed_answer_decides_what_was_shown_last(said: str, given: dict[str, object], decided: str) -> None:
    """It is recorded as the person's, and opens no turn. The reply follows the request."""
    turn_id = asking(1)
    show(turn_id)

    taken = answer(2, said, **given)

    assert isinstance(taken, TakenAnswer)
    assert (taken.outcome, taken.turn_id, decision(turn_id)) == ("decided", turn_id, (decided, "person"))
    assert taken.decided is not None
    assert taken.decided.is_new
    assert kept() == [("answer", "")]


@pytest.mark.parametrize("decided", ["approve", "reject"])
def test_a_tapped_button_decides_what_it_was_shown_with(decided: str) -> None:
    """Also when other messages of ours came after it, and when the request took several messages."""
    turn_id = asking(1)
    key = show(turn_id, parts=2)
    change("UPDATE deliveries SET offers = NULL")

    assert outcome(tap(2, decided, key)) == "decided"
    assert decision(turn_id) == (decided, "person")


def test_an_answer_is_taken_once_however_often_it_comes() -> None:
    """Also at once. Who taps twice is told the second time that it was approved already."""
    turn_id = asking(1)
    key = show(turn_id)
    with ThreadPoolExecutor(4) as threads:
        taken = list(threads.map(lambda _: outcome(tap(2, "approve", key)), range(4)))

    assert sorted(taken) == ["decided", "repeated", "repeated", "repeated"]
    assert [outcome(tap(number, "reject", key)) for number in (3, 4)] == ["moot", "moot"]
    assert decision(turn_id) == ("approve", "person")
    assert told(turn_id) == "approved"
    assert statuses(turn_id) == ["sent", "pending"]


def test_a_message_that_opened_a_turn_never_becomes_an_answer() -> None:
    """When it comes again after something was asked, it has been dealt with."""
    first = receive(1, "yes")
    turn_id = asking(2)
    show(turn_id)

    taken = yes(1)

    assert isinstance(taken, OpenedTurn)
    assert (taken.outcome, taken.turn_id) == ("repeated", first.turn_id)
    assert decision(turn_id) == (None, None)


def test_nobody_answers_for_another_person() -> None:
    """A button that was shown in another conversation does nothing, and is kept. A typed word is a message."""
    turn_id = asking(1)
    key = show(turn_id)

    tapped, typed = tap(2, "approve", key, sender="u2"), yes(3, sender="u2", quoted="m1")

    assert (outcome(tapped), outcome(typed)) == ("strange", "opened")
    assert decision(turn_id) == (None, None)
    assert kept() == [("kept", "answer")]


def test_a_button_that_was_never_sent_decides_nothing() -> None:
    """Whoever guesses a payload has not been shown what it is about: before the request is sent, or if it never is."""
    turn_id = asking(1)
    early = tap(2, "approve", f"{turn_id.hex}-1")
    assert send_next(turn_id, status="withheld", provider_id=None) == "withheld"

    late = tap(3, "approve", f"{turn_id.hex}-1")

    assert [outcome(early), outcome(late)] == ["strange", "strange"]
    assert decision(turn_id) == (None, None)


def test_a_word_that_was_written_before_the_request_is_a_message() -> None:
    """It cannot be about what its writer had not seen."""
    turn_id = asking(1)
    show(turn_id)

    taken = yes(2, at=datetime.now(UTC) - timedelta(seconds=30))

    assert outcome(taken) == "opened"
    assert view(turn_id).ending == "superseded"


def test_a_word_is_no_answer_when_something_else_was_said_since() -> None:
    """By us, after the request: nobody knows what it means. The button still does."""
    turn_id = asking(1)
    key = show(turn_id)
    change("UPDATE steps SET effect = 'write', unsure = true")  # so that the next message waits for its turn
    later = receive(2)
    channel_turns.rendered(later.turn_id)
    change(
        "INSERT INTO deliveries (turn_id, part, tenant_id, conversation_id, channel, recipient, status, queued_at)"
        " SELECT id, 1, tenant_id, conversation_id, channel, 'u1', 'sent', clock_timestamp() FROM turns WHERE id = :id",
        id=later.turn_id,
    )

    assert outcome(yes(3)) in ("opened", "merged")
    assert decision(turn_id) == (None, None)
    assert outcome(tap(4, "approve", key)) == "decided"


def test_calls_are_asked_about_one_after_another() -> None:
    """So a word can only mean one. The second request follows the first decision."""
    turn_id = asking(1, "a", "b")
    show(turn_id)
    assert next_delivery(turn_id) is None

    first = yes(2)
    assert isinstance(first, TakenAnswer)
    assert first.decided is not None
    assert first.decided.deliver
    assert (decision(turn_id, "a")[0], decision(turn_id, "b")[0]) == ("approve", None)
    show(turn_id, "m2")
    assert outcome(answer(3, "no", means="reject")) == "decided"
    assert (decision(turn_id, "a")[0], decision(turn_id, "b")[0]) == ("approve", "reject")


def test_the_reply_follows_the_request() -> None:
    """It has the next number. A request that could not be sent does not withhold it."""
    turn_id = asking(1)
    found = next_delivery(turn_id)
    assert found is not None
    with statement() as db:
        deliveries.store_parts(db, turn_id, found.part, [{"text": "?"}, {"text": "?"}], ())
    closed = close(turn_id)
    assert closed is not None
    assert closed.respond is not None
    assert end(turn_id, closed.respond) is not None
    assert send_next(turn_id, status="failed", provider_id=None) == "failed"

    assert statuses(turn_id) == ["failed", "withheld", "pending"]
    reply = next_delivery(turn_id)
    assert reply is not None
    assert reply.reply is not None


def test_an_answer_reopens_the_window_of_the_channel() -> None:
    """It is something that the person wrote."""
    turn_id = asking(1)
    show(turn_id)
    change("UPDATE channel_items SET at = at - interval '2 days'")
    yes(2)
    close(turn_id)
    tap(3, "approve", f"{turn_id.hex}-1")

    found = next_delivery(turn_id)

    assert found is not None
    assert found.silent_s is not None
    assert found.silent_s < 3_600


def test_erasure_takes_what_was_offered() -> None:
    """And a request that is still to be sent never will be."""
    turn_id = asking(1)
    show(turn_id)
    tenant_id, conversation = view(turn_id).tenant_id, view(turn_id).conversation_id
    closed = close(turn_id)
    assert closed is not None
    assert closed.respond is not None
    end(turn_id, closed.respond)
    with transaction() as db:
        conversations.erase(db, tenant_id, conversation)

        rows = db.execute(text("SELECT body, offers, recipient FROM deliveries")).all()
    assert rows == [(None, None, "")] * 2


def test_a_reply_before_the_request_makes_no_difference() -> None:
    """The last that was shown counts."""
    before = answered(1, "done")
    send_next(before)
    turn_id = asking(2)
    show(turn_id)

    assert outcome(yes(3)) == "decided"
