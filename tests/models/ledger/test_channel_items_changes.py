"""A message that its sender edits or deletes is changed where it waits; later, an edit is a message of its own."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import claim_turn, heard, make_tenant
from tests.models.ledger.channel_turns import CHANNEL, answer, change, receive, statuses
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.turn import Reply
from turnloom.models.ledger import channel_items, turns
from turnloom.models.ledger.channel_items import ChangedMessage
from turnloom.models.ledger.turns import ClaimedTurn, Ending, OpenedTurn

pytestmark = pytest.mark.usefixtures("database")

HELD = {"burst_ms": 60_000}


def message(turn_id: UUID | None) -> str:
    with transaction() as db:
        found = db.scalar(text("SELECT message FROM turns WHERE id = :id"), {"id": turn_id})
    assert isinstance(found, str)
    return found


def begin(turn_id: UUID | None) -> ClaimedTurn:
    """Let a planner claim a turn."""
    turn = claim_turn(turn_id)
    assert turn is not None
    return turn


def end_cancelled(changed: ChangedMessage) -> UUID:
    """Answer a turn that was closed, as the responder does."""
    assert changed.closed is not None
    assert changed.closed.respond is not None
    with statement() as db:
        assert turns.finish(db, changed.closed.id, changed.closed.respond, Ending("cancelled", Reply(text="-"), {}))
    return changed.closed.id


def correct(changed: ChangedMessage, order: int) -> OpenedTurn:
    """Open a turn with a correction, as the webhook does."""
    assert changed.correction is not None
    said = {"order": order, "text": "third", "before": changed.correction.before}
    return receive(1_000 + order, changed.correction.message, fields={"reference": "r1", "detail": said})


def kept() -> list[str]:
    tenant_id = make_tenant()
    with transaction() as db:
        return [row.kind + row.provider_id for row, _ in channel_items.kept(db, tenant_id, None, 10)]


def test_an_edit_of_a_waiting_message_replaces_its_text() -> None:
    """The planner gets the new text alone."""
    opened = receive(1, "two nights")

    assert change(1, "three nights", order=2).outcome == "changed"
    assert begin(opened.turn_id).message == "three nights"


def test_an_edit_of_one_of_several_messages_leaves_the_others() -> None:
    """Each can be edited, and a late one still finds its place among them."""
    opened = receive(10, "a", **HELD)
    for number, said in ((20, "b"), (30, "c")):
        assert receive(number, said, **HELD).outcome == "merged"

    assert [change(number, f"{number}!", order=number).outcome for number in (20, 10)] == ["changed", "changed"]
    receive(25, "late", **HELD)
    assert message(opened.turn_id) == "10!\n20!\nlate\nc"


def test_an_edit_that_comes_twice_is_applied_once() -> None:
    """Also if the message was edited again since, or its turn has begun."""
    opened = receive(1, "first")
    change(1, "second", order=2)
    change(1, "third", order=3)

    assert change(1, "second", order=2).outcome == "repeated"
    begin(opened.turn_id)
    assert change(1, "third", order=3).outcome == "repeated"
    assert message(opened.turn_id) == "third"


def test_edits_may_come_in_any_order() -> None:
    """The last one by the sender counts."""
    opened = receive(1, "first")

    assert [change(1, "third", order=3).outcome, change(1, "second", order=2).outcome] == ["changed", "outdated"]
    assert message(opened.turn_id) == "third"


def test_an_edit_that_changes_nothing_does_nothing() -> None:
    """Providers report one, such as for a preview of a link. It does not become a message either."""
    opened = receive(1, "first")

    assert change(1, "first", order=2).outcome == "same"
    begin(opened.turn_id)
    assert change(1, "first", order=3).outcome == "same"


def test_an_edit_of_a_message_whose_turn_has_begun_is_a_message() -> None:
    """It says what it corrects. Nothing is recorded until it is opened; then it cannot come again."""
    opened = receive(1, "first")
    begin(opened.turn_id)

    changed = change(1, "second", order=2)
    assert changed.outcome == "begun"
    assert changed.correction is not None
    assert (changed.correction.message, changed.correction.recipient) == ("[edited] second\n[before] first", "u1")
    assert message(opened.turn_id) == "first"
    assert change(1, "second", order=2) == changed


def test_a_correction_can_be_edited_as_well() -> None:
    """While it waits, in place; later, by a correction of what it said last."""
    answer(receive(1, "first").turn_id)
    corrected = correct(change(1, "third", order=2), 2)

    assert change(1, "fourth", order=3).outcome == "changed"
    assert message(corrected.turn_id) == "[edited] fourth\n[before] first"
    begin(corrected.turn_id)
    again = change(1, "fifth", order=4).correction
    assert again is not None
    assert again.message.endswith("[edited] fifth\n[before] fourth")


def test_a_message_that_was_deleted_before_its_turn_has_begun_is_not_answered() -> None:
    """Its turn ends cancelled, nobody is sent a reply, and the next message is answered."""
    opened, other = receive(1, "never mind"), receive(2, "hello", sender="u2")
    changed = change(1, None, order=2)

    assert (changed.outcome, end_cancelled(changed)) == ("removed", opened.turn_id)
    assert opened.turn_id is not None
    assert statuses(opened.turn_id) == ["withheld"]
    assert begin(receive(3, "now this").turn_id).message == "now this"
    answer(other.turn_id)


def test_a_deleted_message_among_others_is_taken_out() -> None:
    """The turn has the others; if they are deleted too, it ends."""
    opened = receive(10, "a", **HELD)
    receive(20, "b", **HELD)

    assert change(10, None, order=30).outcome == "removed"
    assert message(opened.turn_id) == "b"
    changed = change(20, None, order=31)
    assert end_cancelled(changed) == opened.turn_id
    assert opened.turn_id is not None
    assert statuses(opened.turn_id) == ["withheld"]


def test_a_message_that_is_deleted_later_is_answered_and_not_shown_again() -> None:
    """The reply goes out as it would have; later planners get the messages without it."""
    opened = receive(1, "my secret", **HELD)
    receive(2, "and a question", **HELD)
    with transaction() as db:
        db.execute(text("UPDATE turns SET due_at = NULL, sent_at = clock_timestamp()"))
    turn = begin(opened.turn_id)
    assert change(1, None, order=3).outcome == "noted"
    assert message(opened.turn_id) == "my secret\nand a question"
    with statement() as db:
        turns.finish(db, turn.id, turn.attempt, Ending("succeeded", Reply(text="done"), {}))

    assert opened.turn_id is not None
    assert statuses(opened.turn_id) == ["pending"]
    after = begin(receive(4, "next").turn_id)
    assert heard(after) == [("[deleted]\nand a question", "done")]


def test_nothing_changes_a_deleted_message() -> None:
    """An edit that comes after it is only recorded."""
    answer(receive(1, "first").turn_id)
    change(1, None, order=3)

    assert change(1, "second", order=2).outcome == "outdated"
    assert change(1, "fourth", order=4).outcome == "outdated"


def test_a_deletion_takes_its_corrections_out_as_well() -> None:
    """What corrects a message says what the message said."""
    answer(receive(1, "first").turn_id)
    corrected = correct(change(1, "third", order=2), 2)

    assert end_cancelled(change(1, None, order=3)) == corrected.turn_id
    assert heard(begin(receive(4, "next").turn_id)) == [("[deleted]", "done"), ("[deleted]", "-")]


def test_an_edit_that_overtakes_its_message_waits_for_it() -> None:
    """It is visible meanwhile. The message is opened with its text, once, and the last of several edits counts."""
    assert [change(1, said, order=order).outcome for order, said in ((3, "third"), (2, "second"))] == ["waiting"] * 2
    assert kept() == ["kepte2", "kepte3"]

    opened = receive(1, "first")
    assert message(opened.turn_id) == "third"
    assert kept() == []
    assert receive(1, "first").outcome == "repeated"
    assert change(1, "third", order=3).outcome == "repeated"


def test_a_deletion_that_overtakes_its_message_keeps_it_from_being_answered() -> None:
    """The message is kept and visible, however often it comes."""
    change(1, None, order=2)

    assert [receive(1, "first").outcome for _ in range(2)] == ["deleted", "deleted"]
    assert sorted(kept()) == ["kept1", "kepte2"]
    with transaction() as db:
        assert db.scalar(text("SELECT count(*) FROM turns")) == 0


def test_an_edit_that_makes_a_turn_too_long_is_a_message() -> None:
    """A turn has 8,000 characters. The correction follows it."""
    opened = receive(1, "a" * 4_000, **HELD)
    receive(2, "b" * 3_000, **HELD)

    assert change(1, "c" * 7_900, order=3).outcome == "begun"
    assert len(message(opened.turn_id)) == 7_001


def test_a_turn_of_the_release_before_is_not_changed() -> None:
    """Its messages have no ids, so nobody knows which one was edited."""
    opened = receive(1, "a", **HELD)
    receive(2, "b", **HELD)
    with transaction() as db:
        db.execute(text('UPDATE turns SET pieces = \'[{"length": 1, "sequence": 1}, {"length": 1, "sequence": 2}]\''))

    assert change(2, "c", order=3).outcome == "begun"
    assert change(2, None, order=4).outcome == "noted"
    assert message(opened.turn_id) == "a\nb"


def test_a_message_and_its_edit_may_come_at_once() -> None:
    """Whoever is first, the text is the edit's: neither is lost, and neither waits for ever."""
    with ThreadPoolExecutor(2) as threads:
        for number in range(1, 13):
            opened = threads.submit(receive, number, "old", sender=f"u{number}")
            changed = threads.submit(change, number, "new", order=number, sender=f"u{number}")
            assert changed.result().outcome in ("waiting", "changed")
            assert message(opened.result().turn_id) == "new"

    assert kept() == []


def test_an_edit_is_erased_with_its_conversation() -> None:
    """Also one that was applied, and the bodies of its webhooks."""
    change(1, "second", order=2)
    answer(receive(1, "first").turn_id)
    whose = {"tenant": make_tenant(), "id": f"{CHANNEL}:u1"}
    with transaction() as db:
        db.execute(text("SELECT hot.erase_channel(:tenant, :id)"), whose)

        left = text("SELECT (SELECT count(*) FROM channel_items), (SELECT count(*) FROM webhooks)")
        assert db.execute(left).one() == (0, 0)
