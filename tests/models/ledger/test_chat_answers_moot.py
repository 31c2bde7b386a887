"""An answer to what is no longer to be decided changes nothing, and the person is told why."""

import pytest

from tests.models.ledger.channel_turns import next_delivery, receive, statuses
from tests.models.ledger.chat_requests import asking, decision, outcome, send_next, show, tap, told, yes
from tests.models.ledger.parking import ask, change, decide, lapse, row
from tests.models.ledger.stopping import claim, close, view
from turnloom.models.connections.database import statement

pytestmark = pytest.mark.usefixtures("database")


@pytest.mark.parametrize(("by_key", "why"), [("approve", "approved"), ("reject", "rejected"), (None, "expired")])
def test_an_answer_to_what_was_decided_elsewhere_changes_nothing(by_key: str | None, why: str) -> None:
    """Whether it was typed or tapped. The person is told why, once."""
    turn_id = asking(1, "w", "other")
    key = show(turn_id)
    if by_key is None:
        change("UPDATE steps SET lapses_at = clock_timestamp() WHERE id = 'w'")
        lapse(turn_id)
    else:
        decide(turn_id, by_key)  # type: ignore[arg-type]
    before = decision(turn_id)
    change("UPDATE deliveries SET status = 'withheld' WHERE status = 'pending'")

    assert [outcome(yes(2)), outcome(tap(3, "approve", key))] == ["moot", "moot"]
    assert (told(turn_id), decision(turn_id)) == (why, before)
    assert statuses(turn_id).count("pending") == 1


def test_an_answer_that_comes_too_late_changes_nothing() -> None:
    """Though the sweep has not rejected the call yet."""
    turn_id = asking(1)
    show(turn_id)
    change("UPDATE steps SET lapses_at = clock_timestamp()")

    assert outcome(yes(2)) == "moot"
    assert (told(turn_id), decision(turn_id)) == ("expired", (None, None))


def test_a_button_of_a_stopped_turn_changes_nothing() -> None:
    """The person is told that it is no longer open."""
    turn_id = asking(1)
    key = show(turn_id)
    close(turn_id)

    assert outcome(tap(2, "approve", key)) == "moot"
    assert (told(turn_id), row(turn_id).status) == ("withdrawn", "cancelled")


def test_a_word_after_a_message_that_took_the_place_of_the_request_is_a_message() -> None:
    """It belongs to that message."""
    turn_id = asking(1)
    show(turn_id)
    second = receive(2, "two nights, please")
    assert view(turn_id).ending == "superseded"

    taken = yes(3)

    assert (outcome(taken), taken.turn_id) == ("merged", second.turn_id)
    assert view(second.turn_id).message == "two nights, please\nyes"


def test_an_answer_holds_only_for_the_arguments_that_were_shown() -> None:
    """Once others are asked about, the old button does nothing, and the new request is sent."""
    turn_id = asking(1)
    key = show(turn_id)
    decide(turn_id)
    claim(turn_id, "w")
    assert ask(turn_id, attempt=2, hash_="other").deliver

    assert outcome(tap(2, "approve", key)) == "moot"
    assert decision(turn_id) == (None, None)
    new = show(turn_id, "m2")
    assert told(turn_id) == "revised"
    assert outcome(tap(3, "approve", new)) == "decided"


def test_a_request_that_is_moot_before_it_is_sent_is_withheld() -> None:
    """The worker finds that out; the reply goes out without it, and counts as seen."""
    turn_id = asking(1)
    decide(turn_id, "reject")

    found = next_delivery(turn_id)

    assert found is not None
    assert (found.is_request, found.request) == (True, None)
    assert send_next(turn_id, status="withheld", provider_id=None) == "withheld"
    with statement() as db:
        seen = db.execute("SELECT hot.is_seen(%s)", (turn_id,)).fetchone()
    assert seen == (True,)
