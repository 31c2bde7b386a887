"""Transactions and statements that serve tenants see the rows of these tenants only."""

from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DataError

from tests.factories import make_tenant, open_turn
from tests.round_trips import counting_round_trips
from turnloom.models.connections import row_security
from turnloom.models.connections.database import (
    Statement,
    Transaction,
    close_connections,
    snapshot,
    statement,
    transaction,
)
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import settings

_TENANTS = "SELECT DISTINCT tenant_id FROM turns"


@pytest.fixture
def tenants(database: str, monkeypatch: pytest.MonkeyPatch) -> tuple[UUID, UUID]:
    """Two tenants with a turn each. All work is done on one connection."""
    monkeypatch.setenv("TURNLOOM_DATABASE_POOL_SIZE", "4")
    settings.cache_clear()
    found = make_tenant("a"), make_tenant("b")
    for tenant_id in found:
        open_turn(tenant_id)
    return found


def _seen(db: Transaction | Statement) -> set[UUID]:
    if isinstance(db, psycopg.Connection):
        return {tenant_id for (tenant_id,) in db.execute(_TENANTS, prepare=True)}
    return set(db.scalars(text(_TENANTS)))


def test_transactions_see_their_tenant(tenants: tuple[UUID, UUID]) -> None:
    """A transaction that names no tenant sees all, also on the connection that has just served one."""
    a, b = tenants
    seen = []

    for tenant_id in (a, None, b, None):
        with transaction(tenant_id) as db:
            seen.append(_seen(db))

    assert seen == [{a}, {a, b}, {b}, {a, b}]


def test_a_transaction_that_fails_leaves_the_connection_to_all(tenants: tuple[UUID, UUID]) -> None:
    """What a transaction has set ends with its rollback, too."""
    with pytest.raises(DataError), transaction(tenants[0]) as db:
        db.execute(text("SELECT 1 / 0"))

    with transaction() as db:
        assert _seen(db) == set(tenants)


def test_statements_see_their_tenants(tenants: tuple[UUID, UUID]) -> None:
    """A prepared statement sees one tenant, both, or, where no tenant is left, nothing; without a list, all."""
    a, b = tenants
    seen = []

    for _ in range(3):
        for named in ([a], None, [b], {a, b}, []):
            with statement(named) as db:
                seen.append(_seen(db))

    assert seen == [{a}, {a, b}, {b}, {a, b}, set()] * 3


def test_a_snapshot_of_a_tenant_only_reads(tenants: tuple[UUID, UUID]) -> None:
    """It sees one moment of one tenant."""
    with snapshot(tenants[0]) as db:
        before = _seen(db), db.scalar(text("SELECT count(*) FROM turns"))
        mode = db.scalar(text("SELECT current_setting('transaction_read_only')"))
        with psycopg.connect(settings().database_url) as other:
            other.execute("INSERT INTO merged_messages SELECT tenant_id, 'api', 'm', id FROM turns")
        after = db.scalar(text("SELECT count(*) FROM merged_messages"))

    assert (before, mode, after) == (({tenants[0]}, 1), "on", 0)


def test_a_tenant_costs_no_round_trip(tenants: tuple[UUID, UUID], tmp_path: Path) -> None:
    """The role and the tenant travel with the transaction's BEGIN, or with the statement."""
    counts = {}
    with counting_round_trips(tmp_path) as trips:
        close_connections()
        for name, named in (("all", None), ("one", tenants[0])):
            for _ in range(2):
                before = trips()
                with transaction(named) as db:
                    db.execute(text("SELECT 1"))
                between = trips()
                with statement(named and [named]) as connection:
                    connection.execute("SELECT 1", prepare=True)
                counts[name] = (between - before, trips() - between)
    close_connections()

    assert counts["one"] == counts["all"] == (3, 1)


def test_a_wrong_statement_of_a_tenant_raises_its_own_error(tenants: tuple[UUID, UUID]) -> None:
    """The connection serves the next statement."""
    with statement([tenants[0]]) as db:
        with pytest.raises(psycopg.errors.DivisionByZero):
            db.execute("SELECT 1 / 0", prepare=True)
        assert _seen(db) == {tenants[0]}


def test_writing_for_another_tenant_is_refused(tenants: tuple[UUID, UUID]) -> None:
    """Postgres refuses the row, whatever the program meant."""
    a, b = tenants
    with statement([a]) as db, pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        db.execute(
            "INSERT INTO merged_messages (tenant_id, channel, message_id, turn_id) VALUES (%s, 'api', 'm', %s)", (b, b)
        )


def test_a_role_that_cannot_be_taken_is_named(tenants: tuple[UUID, UUID], monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to run."""
    monkeypatch.setattr(row_security, "TENANT_ROLE", "turnloom_absent")

    with pytest.raises(Unavailable, match="turnloom migrate") as refused, transaction(tenants[0]):
        pass

    assert refused.value.code == "row_security_missing"


def test_without_row_security_the_queries_alone_decide(
    tenants: tuple[UUID, UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the setting off, no role is taken."""
    monkeypatch.setenv("TURNLOOM_ROW_SECURITY", "0")
    settings.cache_clear()

    with transaction(tenants[0]) as db:
        in_transaction = _seen(db)
    with statement([tenants[0]]) as connection:
        by_statement = _seen(connection)

    assert in_transaction == by_statement == set(tenants)
