"""The audit chain reveals records that were changed, removed or moved. Erased content is not a fault."""

from collections.abc import Callable

import psycopg
import pytest
from psycopg import Connection

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn
from turnloom.models.connections.database import transaction
from turnloom.models.errors import Conflict
from turnloom.models.ledger import audit, conversations
from turnloom.models.runtime.settings import settings


@pytest.fixture
def owner(database: str) -> str:
    """Make three turns (six records) in a conversation. Yield the URL of a role that may tamper with them."""
    for _ in range(3):
        turn = claim_turn(open_turn(make_tenant()).turn_id)
        assert turn is not None
        finish_turn(turn)
    url = settings().owner_database_url
    assert url is not None
    return url


def faults() -> list[int]:
    tenant_id = make_tenant()
    with transaction() as db:
        return [fault.seq for fault in audit.verify(db, tenant_id, "c1")]


def test_an_untouched_chain_verifies(owner: str) -> None:
    """Each record follows from the one before it."""
    assert faults() == []


@pytest.mark.parametrize(
    ("tamper", "found"),
    [
        (lambda db: db.execute("UPDATE audit SET content = content || '{\"x\": 1}' WHERE seq = 2"), [2]),
        (lambda db: db.execute("UPDATE audit SET kind = 'other' WHERE seq = 3"), [3]),
        (lambda db: db.execute("UPDATE audit SET at = at + interval '1 s' WHERE seq = 1"), [1]),
        (lambda db: db.execute("DELETE FROM audit WHERE seq = 4"), [4, 5]),
        (lambda db: db.execute("DELETE FROM audit WHERE seq = 6"), [6]),
        (
            lambda db: db.execute(
                "UPDATE audit SET seq = 13 - seq WHERE seq IN (1, 6); UPDATE audit SET seq = seq - 6 WHERE seq > 6"
            ),
            [1, 2, 6, 7],
        ),
    ],
    ids=["content", "field", "time", "missing", "missing at the end", "reordered"],
)
def test_tampering_is_found(owner: str, tamper: Callable[[Connection], object], found: list[int]) -> None:
    """A role that can write to the table cannot change it unseen."""
    with psycopg.connect(owner) as db:
        tamper(db)

    assert faults() == found


def test_an_erased_conversation_still_verifies(owner: str) -> None:
    """Erasure removes the content and keeps the chain."""
    tenant_id = make_tenant()
    with transaction() as db:
        conversations.erase(db, tenant_id, "c1")

    with transaction() as db:
        rows = [row for row in conversations.page(db, tenant_id, None, 10) if row.erased_at]
    assert faults() == []
    assert len(rows) == 1
    with psycopg.connect(owner) as db:
        words = db.execute("SELECT (SELECT count(*) FROM replies) + (SELECT count(*) FROM turns WHERE message <> '')")
        assert words.fetchone() == (0,)


def test_a_conversation_in_work_is_not_erased(owner: str) -> None:
    """A conversation can be erased only when its active turn is final."""
    tenant_id = make_tenant()
    open_turn(tenant_id)

    with transaction() as db, pytest.raises(Conflict):
        conversations.erase(db, tenant_id, "c1")
