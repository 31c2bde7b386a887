"""Turns of a conversation run in their sender's order. The messages of a burst become one turn."""

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import (
    claim_turn,
    finish_turn,
    heard,
    make_tenant,
    open_turn,
    queue_length,
    released,
    running_turn,
    step,
    work,
)
from tests.models.ledger.stopping import close, end, view
from tests.models.ledger.test_explanation import beat, why
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.explanation import Explanation
from turnloom.models.ledger.turns import OpenedTurn
from turnloom.workers.upkeep.admission import release

pytestmark = pytest.mark.usefixtures("database")

MINUTE = 60_000


def say(tenant: UUID, sequence: int, **request: Any) -> OpenedTurn:
    """Post a message with its sender's number. It is held for a minute if earlier ones are missing."""
    held = {"sequence": sequence, "order_ms": MINUTE}
    return open_turn(tenant, str(sequence), held=held, **{"on_busy": "enqueue", **request})


def burst(tenant: UUID, message: str, burst_ms: int = MINUTE, **request: Any) -> OpenedTurn:
    return open_turn(tenant, message, held={"burst_ms": burst_ms}, **request)


def pass_time() -> None:
    """Let the time pass for which turns are held."""
    times = ("created_at", "due_at", "awaits_until", "settles_at")
    with transaction() as db:
        db.execute(text("UPDATE turns SET " + ", ".join(f"{time} = {time} - interval '5 minutes'" for time in times)))


def cause(opened: OpenedTurn) -> Explanation:
    return why(opened.turn_id)


def test_contiguous_messages_do_not_wait() -> None:
    """A sender counts from 1. The first message, and each successor of the last answered one, goes on at once."""
    tenant = make_tenant()
    first, second = say(tenant, 1), say(tenant, 2)

    assert (first.is_sent, second.is_sent) == (True, False)
    assert work(first.turn_id) == [second.turn_id]
    assert work(second.turn_id) == []
    assert say(tenant, 3).is_sent


def test_after_a_gap_a_message_is_held_until_its_window_has_passed() -> None:
    """Nobody can plan it before. Then the messages that are there go on, and the late one follows."""
    tenant = make_tenant()
    work(say(tenant, 1).turn_id)
    third = say(tenant, 3)

    assert (third.is_sent, claim_turn(third.turn_id), released()) == (False, None, [])
    found = cause(third)
    assert (found.cause, found.until) == ("order_window", view(third.turn_id).due_at)

    pass_time()

    assert released() == [third.turn_id]
    assert work(third.turn_id) == []
    second = say(tenant, 2)
    assert second.is_sent
    work(second.turn_id)
    assert say(tenant, 4).is_sent


def test_the_missing_message_ends_the_wait() -> None:
    """It goes first. The messages that were held for it follow without waiting, in the sender's order."""
    tenant = make_tenant()
    held = {number: say(tenant, number) for number in (4, 2, 3)}

    first = say(tenant, 1)

    assert first.is_sent
    assert work(first.turn_id) == [held[2].turn_id]
    assert work(held[2].turn_id) == [held[3].turn_id]
    assert work(held[3].turn_id) == [held[4].turn_id]


def test_a_message_that_nobody_plans_yet_steps_aside() -> None:
    """Even if planners were notified of it, no planner gets it until its time comes again."""
    tenant = make_tenant()
    third = say(tenant, 3)
    pass_time()
    assert released() == [third.turn_id]

    second = say(tenant, 2)

    assert not second.is_sent
    assert claim_turn(third.turn_id) is None
    assert cause(third).turn == str(second.turn_id)
    pass_time()
    assert released() == [second.turn_id]
    assert work(second.turn_id) == [third.turn_id]


def test_a_message_whose_planning_has_begun_stays() -> None:
    """An earlier message that came too late follows it."""
    tenant = make_tenant()
    first = say(tenant, 1)
    claimed = claim_turn(first.turn_id)
    third, second = say(tenant, 3), say(tenant, 2)
    assert claimed is not None
    finished = finish_turn(claimed)

    assert finished is not None
    assert finished.released == [second.turn_id]
    assert claim_turn(third.turn_id) is None


def test_numbers_with_gaps_only_order_what_is_queued() -> None:
    """If no number is awaited, no message is held."""
    tenant = make_tenant()
    first, last, late = (open_turn(tenant, on_busy="enqueue", held={"sequence": number}) for number in (70, 200, 90))

    assert first.is_sent
    assert work(first.turn_id) == [late.turn_id]
    assert work(late.turn_id) == [last.turn_id]


def test_messages_without_a_number_come_first() -> None:
    """They wait for none, and keep the order in which they came."""
    tenant = make_tenant()
    first, numbered = say(tenant, 1), say(tenant, 2)
    plain, other = (open_turn(tenant, on_busy="enqueue") for _ in range(2))

    assert work(first.turn_id) == [plain.turn_id]
    assert work(plain.turn_id) == [other.turn_id]
    assert work(other.turn_id) == [numbered.turn_id]


def test_merged_messages_stand_in_their_senders_order() -> None:
    """A message is appended only to the one before it. Any other waits in its place, and a merged turn follows it."""
    tenant = make_tenant()
    third, fourth = say(tenant, 3, on_busy="auto"), say(tenant, 4, on_busy="auto")
    sixth = say(tenant, 6, on_busy="auto")

    first, second = say(tenant, 1, on_busy="auto"), say(tenant, 2, on_busy="enqueue")

    assert (fourth.outcome, fourth.turn_id) == ("merged", third.turn_id)
    assert view(third.turn_id).message == "3\n4"
    assert (sixth.outcome, first.outcome) == ("opened", "opened")
    assert work(first.turn_id) == [second.turn_id]
    assert work(second.turn_id) == [third.turn_id]
    assert work(third.turn_id) == []
    assert cause(sixth).cause == "order_window"
    assert say(tenant, 5, on_busy="auto").is_sent


def test_an_earlier_message_that_comes_late_interrupts_nothing() -> None:
    """`auto` stops a turn for a message that its user wrote later, not for one that came late."""
    turn = running_turn(step("r"), held={"sequence": 5})

    late = say(turn.tenant_id, 4, on_busy="auto")
    later = say(turn.tenant_id, 6, on_busy="interrupt")

    assert (late.outcome, late.closed) == ("opened", None)
    assert later.closed is not None
    assert end(turn.id, later.closed.respond or 0, "superseded").released == [late.turn_id]  # type: ignore[union-attr]


def test_a_planner_is_shown_what_was_answered_before() -> None:
    """It gets the answers in order, even to messages that came after its own, but no later turn that was stopped."""
    tenant = make_tenant()
    first, third, fourth, second = (say(tenant, number) for number in (1, 3, 4, 2))
    work(first.turn_id)
    closed = close(fourth.turn_id)
    assert closed is not None
    end(closed.id, closed.respond or 0)
    work(second.turn_id)
    turn = claim_turn(third.turn_id)
    assert turn is not None

    assert [message for message, _ in heard(turn)] == ["1", "2"]


def test_a_burst_becomes_one_turn() -> None:
    """A turn is held until no message has come for one window. Each message prolongs it, up to four windows."""
    tenant = make_tenant()
    first = burst(tenant, "hi")
    due = [view(first.turn_id).due_at]
    for message in ("I need a room", "for two"):
        assert burst(tenant, message).turn_id == first.turn_id
        due.append(view(first.turn_id).due_at)

    row = view(first.turn_id)
    assert not first.is_sent
    assert claim_turn(first.turn_id) is None
    assert due == sorted(set(due))
    assert row.message == "hi\nI need a room\nfor two"
    assert (cause(first).cause, cause(first).until) == ("burst_window", row.due_at)


def test_a_burst_ends_after_four_windows() -> None:
    """A user who never stops writing still gets an answer."""
    tenant = make_tenant()
    first = burst(tenant, "hi")
    pass_time()

    burst(tenant, "and")

    row = view(first.turn_id)
    assert row.due_at is not None
    assert (row.due_at - row.created_at).total_seconds() == 240
    assert released() == [first.turn_id]


def test_a_burst_goes_on_when_it_has_ended(redis_url: str) -> None:
    """The release sends it once. Once a planner has it, later messages become separate turns."""
    tenant = make_tenant()
    first = burst(tenant, "hi")
    release()
    before = queue_length("plan")
    pass_time()

    release()
    release()

    assert (before, queue_length("plan")) == (0, 1)
    assert claim_turn(first.turn_id) is not None
    assert burst(tenant, "thanks").outcome == "opened"


def test_a_burst_that_waited_behind_another_turn_still_settles() -> None:
    """If its conversation reaches it before its window has passed, it is held for the rest."""
    tenant = make_tenant()
    first = open_turn(tenant)
    claimed = claim_turn(first.turn_id)
    waiting = burst(tenant, "and", on_busy="enqueue")
    assert claimed is not None
    finished = finish_turn(claimed)

    assert finished is not None
    assert finished.released == []
    assert cause(waiting).cause == "burst_window"
    pass_time()
    assert released() == [waiting.turn_id]


def test_a_held_turn_can_be_stopped() -> None:
    """Cancelling it ends it, and the conversation goes on."""
    tenant = make_tenant()
    held, waiting = burst(tenant, "hi"), open_turn(tenant, on_busy="enqueue")

    closed = close(held.turn_id)

    assert closed is not None
    assert released() == []
    assert end(closed.id, closed.respond or 0).released == [waiting.turn_id]  # type: ignore[union-attr]


def test_a_turn_that_nobody_releases_waits_for_a_worker() -> None:
    """A turn that is due and still held waits for the worker whose thread releases turns."""
    held = burst(make_tenant(), "hi")
    pass_time()

    found = [cause(held)]
    beat("maintenance")
    found.append(cause(held))

    assert [(one.cause, one.queue) for one in found] == [
        ("no_worker", "maintenance"),
        ("waiting_for_worker", "maintenance"),
    ]
