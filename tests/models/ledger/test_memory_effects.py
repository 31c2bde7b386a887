"""Later turns learn what a call with an effect did. Its result never replaces a call."""

import pytest

from tests.factories import make_tenant, open_turn, recall
from tests.models.ledger.remembering import CALL, answered, begun_turn, found, known, planned
from tests.models.ledger.stopping import end
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import cancellation, conversations, memory, replies, steps
from turnloom.models.ledger.steps import Capacity, FinishedStep, Handover, Holder

pytestmark = pytest.mark.usefixtures("database")


def test_after_a_write_nothing_found_before_it_holds() -> None:
    """The write may have changed the data, so the next call is made. The reply may still use the earlier result."""
    tenant = make_tenant()
    first = begun_turn(tenant)
    planned(first)
    found(first)
    found(first, "b", call=None)
    answered(first)
    second = begun_turn(tenant)
    planned(second, effect="write")
    before = known(second)
    found(second, call=None)

    with statement() as db:
        material = replies.gather(db, second.id)
    assert material is not None
    assert (before, known(second), [entry.holds for entry in recall(second).memory]) == ("sunny", None, [False])
    assert [entry.result for entry in material.memory] == ["sunny"]


def test_what_a_write_did_is_told_and_is_no_result_to_build_on() -> None:
    """The next turn learns of it. The same call does not get it as its result."""
    tenant = make_tenant()
    first = begun_turn(tenant)
    planned(first, effect="write")
    found(first, result={"url": "https://book.example/1"})
    found(first, "b", call=None)
    answered(first)
    second = begun_turn(tenant)

    (entry,) = recall(second).memory
    with statement() as db:
        material = replies.gather(db, second.id)
    assert material is not None
    assert (entry.result, entry.holds) == ({"url": "https://book.example/1"}, False)
    assert known(second) is None
    assert [each.result for each in material.memory] == [entry.result]


@pytest.mark.parametrize("before", ["erased", "rolled_back"])
def test_a_write_that_ends_late_leaves_nothing_where_its_turn_is_forgotten(before: str) -> None:
    """Its call ends after the conversation was erased, or after the turn was rolled back."""
    tenant = make_tenant()
    turn = begun_turn(tenant)
    planned(turn, effect="write")
    holder = Holder("w", 60_000)
    with statement() as db:
        assert steps.claim(db, turn.id, [["a"]], turn.generation, holder).lanes[0].step is not None
    if before == "rolled_back":
        closed = open_turn(tenant, on_busy="rollback").closed
        assert closed is not None
        end(turn.id, closed.respond or 0, "superseded")
    else:
        with statement() as db:
            closed = cancellation.close(db, turn.id, "cancelled")
        assert closed is not None
        end(turn.id, closed.respond or 0, "cancelled")
        with transaction() as db:
            conversations.erase(db, tenant, "c1")
    late = FinishedStep("a", 1, "succeeded", "booked", input_hash="h", remember=CALL)
    with statement() as db:
        advance = steps.advance(db, turn.id, turn.generation, Handover([late]), Capacity("tools.io", 0), holder)

    with transaction() as db:
        assert memory.of_conversation(db, tenant, "c1") == []
    assert advance.fenced == []


def test_a_read_beside_a_write_is_not_remembered() -> None:
    """The order of the two is unknown."""
    turn = begun_turn(make_tenant())
    planned(turn, effect="write")
    with statement() as db:
        db.execute("UPDATE steps SET effect = 'read' WHERE id = 'b'")
        steps.claim(db, turn.id, [["a"]], turn.generation, Holder("w", 60_000))
    found(turn, "b")

    assert known(turn) is None
