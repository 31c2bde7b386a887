"""Turns are opened once, run in order, one at a time per conversation, and finish under their fence."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import text

from tests.factories import claim_turn, finish_turn, heard, make_tenant, open_turn, record_plan, step
from tests.models.ledger.stopping import lose_turn
from tests.turn_events import recorded_events
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import audit, conversations, events, recovery, turns
from turnloom.models.ledger.free_llm_slots import Crowded, LlmRoom
from turnloom.models.ledger.turns import ClaimedTurn

pytestmark = pytest.mark.usefixtures("database")


def test_a_first_turn_is_active_at_once() -> None:
    """It has the number 1 and the time at which it was handed on."""
    opened = open_turn(make_tenant())

    assert (opened.outcome, opened.seq, opened.is_sent) == ("opened", 1, True)


_SAID = ({"message": "travel, please", "agent": "travel"}, {"message": "whoever"})


def test_many_first_messages_at_once() -> None:
    """One of them makes the conversation and sets its agent. All are numbered, and the audit chain is whole."""
    tenant = make_tenant()

    with ThreadPoolExecutor(8) as threads:
        opened = list(threads.map(lambda n: open_turn(tenant, on_busy="enqueue", **_SAID[n % 2]), range(40)))

    assert sorted(turn.seq or 0 for turn in opened) == list(range(1, 41))
    assert [turn.seq for turn in opened if turn.is_sent] == [1]
    with transaction() as db:
        assert audit.verify(db, tenant, "c1") == []
        own = conversations.agent_of(db, tenant, "c1")
        recorded = [turn for turn, _ in conversations.turns_of(db, tenant, "c1", 0, 40)]
        agents = {turn.agent for turn in recorded if turn.message == "whoever"}
    assert agents == {own}


@pytest.mark.new_database
def test_a_young_database_finds_a_conversation_by_its_key() -> None:
    """Even without statistics Postgres uses the primary key, not the index of a tenant's conversations."""
    query = "EXPLAIN SELECT * FROM conversations WHERE tenant_id = gen_random_uuid() AND id = 'c1' FOR NO KEY UPDATE"

    with statement() as db:
        plan = "\n".join(line for (line,) in db.execute(query))

    assert "conversations_pkey" in plan


def test_the_same_message_gives_the_same_turn() -> None:
    """A repeated message id gets the first turn. With another body it is a conflict."""
    tenant = make_tenant()
    first = open_turn(tenant, message_id="m1")

    again = open_turn(tenant, message_id="m1", conversation_id="another")
    other = open_turn(tenant, message_id="m1", body=b"other")

    assert (again.outcome, again.turn_id, again.conversation_id) == ("repeated", first.turn_id, "c1")
    assert (other.outcome, other.turn_id) == ("mismatched", first.turn_id)


def test_message_ids_are_the_tenants_own() -> None:
    """Two tenants may use the same message id."""
    outcomes = {open_turn(make_tenant(name), message_id="m1").outcome for name in ("acme", "other")}

    assert outcomes == {"opened"}


def test_fifty_copies_at_once_make_one_turn() -> None:
    """Whatever conversation the copies name, one of them opens the turn."""
    tenant = make_tenant()
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(lambda n: open_turn(tenant, message_id="m", conversation_id=f"c{n % 5}"), range(50)))

    assert [turn.outcome for turn in opened].count("opened") == 1
    assert len({turn.turn_id for turn in opened}) == 1


def test_numbers_have_no_gaps_under_concurrency() -> None:
    """Turns of one conversation are numbered 1, 2, 3 …, however many come at once."""
    tenant = make_tenant()
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(lambda _: open_turn(tenant, on_busy="enqueue"), range(40)))

    assert sorted(turn.seq or 0 for turn in opened) == list(range(1, 41))
    assert [turn.is_sent for turn in opened].count(True) == 1


def test_turns_of_a_conversation_run_one_at_a_time_in_order() -> None:
    """The second cannot be claimed before the first has ended. Then it is the next."""
    tenant = make_tenant()
    first, second, third = (open_turn(tenant, on_busy="enqueue") for _ in range(3))
    claimed = claim_turn(first.turn_id)
    assert claimed is not None
    too_early = claim_turn(second.turn_id)

    finished = finish_turn(claimed)

    assert too_early is None
    assert finished is not None
    assert finished.released == [second.turn_id]
    assert claim_turn(third.turn_id) is None
    assert claim_turn(second.turn_id) is not None


def test_a_busy_conversation_can_refuse() -> None:
    """With `on_busy=reject` nothing is recorded while a turn is active."""
    tenant = make_tenant()
    open_turn(tenant)

    refused = open_turn(tenant, on_busy="reject")

    assert (refused.outcome, refused.turn_id) == ("busy", None)
    assert open_turn(tenant, on_busy="enqueue").seq == 2


def test_a_turn_is_claimed_once_while_the_lease_lasts() -> None:
    """A second planner gets nothing until the first one's lease has run out. Then the fence is higher."""
    opened = open_turn(make_tenant())
    first = claim_turn(opened.turn_id, lease_ms=60_000)
    second = claim_turn(opened.turn_id)

    assert first is not None
    lose_turn(first.id)
    third = claim_turn(opened.turn_id)

    assert second is None
    assert third is not None
    assert third.attempt == first.attempt + 1


def test_an_old_fence_cannot_finish() -> None:
    """A planner that has lost its claim records neither a plan nor a reply."""
    opened = open_turn(make_tenant())
    turn = claim_turn(opened.turn_id)
    assert turn is not None

    assert finish_turn(turn, attempt=turn.attempt + 1) is None
    assert finish_turn(turn) is not None
    assert finish_turn(turn) is None


def test_events_are_numbered_without_gaps() -> None:
    """The events of a turn are numbered 1, 2, 3 and so on."""
    opened = open_turn(make_tenant())
    turn = claim_turn(opened.turn_id)
    assert turn is not None
    record_plan(turn)
    with statement() as db:
        events.note(db, turn.id, "step.retry", {"step": "a"})
    finish_turn(turn)

    listed, rest = recorded_events(turn.id), recorded_events(turn.id, after=4)
    assert [event.seq for event in listed] == list(range(1, 7))
    assert [event.type for event in rest] == ["reply.done", "turn.succeeded"]
    assert all(event.data["turn_id"] == str(turn.id) and event.data["at"].endswith("Z") for event in listed)


def test_unsent_turns_are_taken_after_a_grace_that_doubles() -> None:
    """A turn that no planner took is sent again, with growing pauses. A waiting or claimed turn is not."""
    tenant = make_tenant()
    opened = open_turn(tenant)
    open_turn(tenant, on_busy="enqueue")
    claim_turn(open_turn(tenant, conversation_id="c2").turn_id)

    with transaction() as db:
        none = recovery.take_unsent(db, timedelta(minutes=1), 10)
        first = recovery.take_unsent(db, timedelta(0), 10)
        db.execute(text("UPDATE turns SET sent_at = sent_at - interval '15 s' WHERE sent_at IS NOT NULL"))
        soon = recovery.take_unsent(db, timedelta(seconds=10), 10)
        later = recovery.take_unsent(db, timedelta(seconds=7), 10)

    assert (none, first, soon, later) == ([], [opened.turn_id], [], [opened.turn_id])


def test_history_holds_what_was_answered_before() -> None:
    """A planner sees earlier messages with their replies, oldest first, and nothing of other conversations."""
    tenant = make_tenant()
    for message in ("one", "two"):
        turn = claim_turn(open_turn(tenant, message).turn_id)
        assert turn is not None
        finish_turn(turn, text=f"re: {message}")
    open_turn(tenant, "elsewhere", conversation_id="c2")
    third = claim_turn(open_turn(tenant, "three").turn_id)
    assert third is not None

    assert heard(third) == [("one", "re: one"), ("two", "re: two")]
    assert heard(third, 1) == [("two", "re: two")]


def test_a_plan_without_steps_leaves_the_turn_to_respond() -> None:
    """A direct reply needs no canvas. The planner that recorded the plan goes on under its fence."""
    turn = claim_turn(open_turn(make_tenant()).turn_id)
    assert turn is not None
    record_plan(turn)

    with transaction() as db:
        row = turns.get(db, turn.id)
        assert row is not None
        assert row.status == "responding"
    assert finish_turn(turn) is not None


def test_a_second_plan_under_the_same_fence_is_refused() -> None:
    """Once a plan is recorded, the turn is no longer in planning."""
    turn = claim_turn(open_turn(make_tenant()).turn_id)
    assert turn is not None
    record_plan(turn, step("a"))

    with pytest.raises(AssertionError):
        record_plan(turn, step("a"))


def test_a_turn_whose_tenant_has_all_its_slots_is_not_claimed() -> None:
    """The planner learns which tenant it is. A turn whose caller posted the plan needs no slot."""
    tenant = make_tenant()
    drafted = open_turn(tenant)
    posted = open_turn(tenant, conversation_id="c2", plan={"steps": [step("a")]})
    assert drafted.turn_id is not None
    assert posted.turn_id is not None
    with statement() as db:
        rooms = [LlmRoom(may_draft=False), LlmRoom(crowded=(tenant,))]
        refused = [turns.claim(db, drafted.turn_id, 60_000, room) for room in rooms]
        own = turns.claim(db, posted.turn_id, 60_000, LlmRoom(may_draft=False, crowded=(tenant,)))
        claimed = turns.claim(db, drafted.turn_id, 60_000)
        taken = turns.claim(db, drafted.turn_id, 60_000, LlmRoom(crowded=(tenant,)))

    assert refused == [Crowded(tenant), Crowded(tenant)]
    assert isinstance(own, ClaimedTurn)
    assert isinstance(claimed, ClaimedTurn)
    assert (own.recalled, claimed.attempt, taken) == (None, 1, None)
