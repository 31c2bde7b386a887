"""Recorded conversations are found by the time of their turns."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import make_tenant, open_turn, work
from tests.planner.knowledge.graph_items import entity
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import recorded
from turnloom.models.tables.knowledge import KnowledgeRow
from turnloom.tools.erasure import erase_conversation

pytestmark = pytest.mark.usefixtures("database")

FOREVER = (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))


def talk(tenant_id: UUID, conversation_id: str, *, agent: str = "generic") -> None:
    work(open_turn(tenant_id, "hello", conversation_id=conversation_id, agent=agent).turn_id)


def found(
    tenant_id: UUID, since: datetime | None, until: datetime | None = None, agent: str | None = None
) -> list[str]:
    with transaction() as db:
        return recorded.find(db, tenant_id, since, until, agent)


def test_conversations_are_found_by_the_time_of_their_turns() -> None:
    """Those of another time, agent or tenant, those without a final turn and erased ones are left out."""
    tenant_id = make_tenant()
    talk(tenant_id, "b")
    talk(tenant_id, "a", agent="hotel")
    talk(tenant_id, "erased")
    talk(make_tenant("other"), "theirs")
    open_turn(tenant_id, "hello", conversation_id="open")
    with transaction() as db:
        erase_conversation(db, tenant_id, "erased")
    now = datetime.now(UTC)

    assert found(tenant_id, None) == ["a", "b"]
    assert found(tenant_id, *FOREVER) == ["a", "b"]
    assert found(tenant_id, now - timedelta(minutes=5), agent="hotel") == ["a"]
    assert found(tenant_id, now + timedelta(minutes=5)) == []
    assert found(tenant_id, None, now - timedelta(minutes=5)) == []


def test_the_last_conversations_are_those_with_the_latest_turns() -> None:
    """A conversation that was begun first and goes on is among the last."""
    tenant_id = make_tenant()
    for name in ("a", "b", "c", "a"):
        talk(tenant_id, name)
    with transaction() as db:
        last = recorded.find(db, tenant_id, None, None, None, last=2)

    assert last == ["a", "c"]


def test_a_conversation_is_read_with_its_final_turns() -> None:
    """One that is worked on is left out; a conversation that does not exist is None."""
    tenant_id = make_tenant()
    talk(tenant_id, "a")
    open_turn(tenant_id, "again", conversation_id="a")

    with transaction() as db:
        rows, nothing = recorded.read(db, tenant_id, "a"), recorded.read(db, tenant_id, "b")

    assert nothing is None
    assert rows is not None
    assert [(each.turn.message, each.shown_message, each.is_seen, each.is_rolled_back) for each in rows.turns] == [
        ("hello", "hello", True, False)
    ]
    assert [each.reply.text for each in rows.turns if each.reply] == ["done"]


def test_a_part_of_a_conversation_names_the_turns_that_its_knowledge_comes_from() -> None:
    """What was learned before that part is known in it, but for what was rolled back."""
    tenant_id = make_tenant()
    for _ in range(4):
        talk(tenant_id, "a")
    with transaction() as db:
        first, second, third, fourth = db.execute(text("SELECT id, seq FROM turns ORDER BY seq")).all()
        db.execute(text("UPDATE turns SET on_busy = 'rollback' WHERE id = :id"), {"id": fourth.id})
        undone = {"id": second.id, "by": fourth.id}
        db.execute(text("UPDATE turns SET superseded_by = :by WHERE id = :id"), undone)
        for turn in (first, second, third):
            item = entity(f"City {turn.seq}", turn=str(turn.id))
            of = {"tenant_id": tenant_id, "conversation_id": "a", "kind": "entity", "id": item.id}
            db.add(KnowledgeRow(**of, content=item.model_dump(mode="json")))

    with transaction() as db:
        whole, part = recorded.read(db, tenant_id, "a"), recorded.read(db, tenant_id, "a", range(3, 5))

    assert whole is not None
    assert part is not None
    assert ([each.turn.seq for each in part.turns], len(part.knowledge)) == ([3, 4], 3)
    assert (whole.older, part.older) == ([], [first.id])
