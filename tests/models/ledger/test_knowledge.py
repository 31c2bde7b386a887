"""Knowledge is recorded under the turn's fence, read back complete, and removed when it must be."""

from collections.abc import Iterable
from uuid import UUID

import pytest

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn
from tests.planner.knowledge.graph_items import found, hypothesis, told
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.knowledge import Item, Lesson
from turnloom.models.ledger import conversations, knowledge
from turnloom.models.ledger.knowledge import Known, Learned
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.planner.knowledge.graph import key_of

KYOTO = told(found("city", "Kyoto", (("near", "city", "Nara"),), size=1.5, is_old=True))
GUESS = hypothesis("h1", 0.5, "city:kyoto")
LESSON = Lesson(steps=["a"], new_facts=2, contradicted={"x": "no"}, trace={"llm": "some"})

pytestmark = pytest.mark.usefixtures("database")


def _turn(conversation_id: str = "c1") -> ClaimedTurn:
    turn = claim_turn(open_turn(make_tenant(), conversation_id=conversation_id).turn_id)
    assert turn is not None
    return turn


def _record(turn: ClaimedTurn, *items: Item, revision: int = 1, forgotten: Iterable[Item] = ()) -> bool:
    put = {key_of(item): item for item in items}
    learned = Learned(revision, LESSON, put, [key_of(item) for item in forgotten])
    with transaction() as db:
        return knowledge.record(db, turn, learned)


def _load(tenant_id: UUID, conversation_id: str = "c1") -> Known:
    with transaction() as db:
        return knowledge.load(db, tenant_id, conversation_id)


def test_what_was_recorded_is_read_back() -> None:
    """Each kind of item, and the lesson, comes back unchanged."""
    turn = _turn()

    assert _record(turn, *KYOTO, GUESS)

    held = _load(turn.tenant_id)
    assert {key_of(item): item for item in held.items} == {key_of(item): item for item in [*KYOTO, GUESS]}
    assert held.lessons == {(str(turn.id), 1): LESSON}
    assert held.undone == frozenset()


def test_recording_again_changes_nothing() -> None:
    """The same items are the same rows. Newer items replace older ones."""
    turn = _turn()
    newer = told(found("city", "Kyoto", size=2.5), hours=-1)
    _record(turn, *KYOTO)

    _record(turn, *KYOTO)
    _record(turn, *newer)

    held = _load(turn.tenant_id)
    assert len(held.items) == len(KYOTO)
    assert 2.5 in [item.value for item in held.items if item in newer and hasattr(item, "value")]


def test_forgotten_items_are_removed_in_the_same_commit() -> None:
    """Only the named items are removed."""
    turn = _turn()
    _record(turn, *KYOTO, GUESS)

    _record(turn, forgotten=[GUESS, KYOTO[0]], revision=2)

    assert {key_of(item) for item in _load(turn.tenant_id).items} == {key_of(item) for item in KYOTO[1:]}


@pytest.mark.parametrize("stale", ["attempt", "final"])
def test_a_stale_planner_records_nothing(stale: str) -> None:
    """This holds if another planner has the turn now, and if the turn is final."""
    turn = _turn()
    if stale == "attempt":
        with transaction() as db:
            db.connection().exec_driver_sql("UPDATE turns SET attempt = attempt + 1")
    else:
        finish_turn(turn)

    assert not _record(turn, *KYOTO)

    held = _load(turn.tenant_id)
    assert (held.items, held.lessons) == ([], {})


def test_lessons_of_earlier_turns_go() -> None:
    """The knowledge that came with them stays. The limit on stored lessons holds over any number of turns."""
    first = _turn()
    _record(first, *KYOTO, revision=1)
    _record(first, revision=2)
    finish_turn(first)
    second = _turn()

    _record(second, GUESS)

    held = _load(second.tenant_id)
    assert list(held.lessons) == [(str(second.id), 1)]
    assert len(held.items) == len(KYOTO) + 1


def test_conversations_and_tenants_do_not_share() -> None:
    """The same id in another conversation, or of another tenant, finds no knowledge."""
    turn = _turn()
    _record(turn, *KYOTO)

    assert _load(turn.tenant_id, "c2").items == []
    assert _load(make_tenant("other")).items == []


def test_a_turn_that_was_rolled_back_is_marked() -> None:
    """Readers can leave out what the turn said."""
    turn = _turn()
    _record(turn, *KYOTO)
    open_turn(turn.tenant_id, on_busy="rollback", body=b"another")

    assert _load(turn.tenant_id).undone == {str(turn.id)}


def test_erasing_a_conversation_erases_what_it_knows() -> None:
    """Nothing of it is left. Other conversations keep their knowledge."""
    turn, other = _turn(), _turn("c2")
    _record(turn, *KYOTO)
    _record(other, *KYOTO)
    finish_turn(turn)

    with transaction() as db:
        conversations.erase(db, turn.tenant_id, "c1")

    assert _load(turn.tenant_id) == Known([], frozenset(), {})
    assert len(_load(turn.tenant_id, "c2").items) == len(KYOTO)
