"""Opening and ending a turn read few others, whatever Postgres knows of the table: nothing, or that all had ended."""

from uuid import UUID

import psycopg
import pytest

from tests.factories import make_tenant
from turnloom.models.connections.database import close_connections, statement
from turnloom.models.contracts.turn import TurnRequest, User
from turnloom.models.ledger import limits, turns
from turnloom.models.ledger.turns import NewTurn
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import settings

pytestmark = [pytest.mark.usefixtures("statistics"), pytest.mark.new_database]

_WINDOW = 64
"""The turns that a tenant may have out: so many are counted."""
_ENDED = 400
"""So many that the index of all turns in work looks as good for a plan as the right one."""
_READ = "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'turns'"


def _open(db: psycopg.Connection, tenant_id: UUID, count: int, many_users: bool, *, named: bool = False) -> None:
    """Open turns. `named`: their messages have ids, as those of channels."""
    news = [
        NewTurn(
            id=new_id(),
            tenant_id=tenant_id,
            conversation_id=str(new_id()),
            channel="api",
            body_hash=b"body",
            default_agent="generic",
            deadline_ms=60_000,
            request=TurnRequest(
                message="hello",
                user=User(id=f"u{new_id()}" if many_users else "u1"),
                message_id=str(new_id()) if named else None,
            ),
        )
        for _ in range(count)
    ]
    assert {each.outcome for each in turns.open_turns(db, news)} == {"opened"}


@pytest.fixture(params=[False, True], ids=["no statistics", "all had ended"])
def statistics(database: str, request: pytest.FixtureRequest) -> None:
    """Let Postgres have no statistics of the turns, or those of a table in which no turn was in work."""
    if not request.param:
        return
    tenant_id = make_tenant()
    with statement() as db:
        for _ in range(_ENDED // 100):
            _open(db, tenant_id, 100, many_users=True, named=True)
    with psycopg.connect(str(settings().owner_database_url), autocommit=True) as db:
        db.execute("UPDATE conversations SET active_turn_id = NULL")
        db.execute("UPDATE turns SET status = 'succeeded', finished_at = now()")
        db.execute("VACUUM ANALYZE turns")
    close_connections()


@pytest.mark.parametrize("role", ["turnloom", "turnloom_tenant"])
@pytest.mark.parametrize("many_users", [True, False], ids=["of many users", "of one user"])
@pytest.mark.parametrize("before", [30, 64])
def test_a_new_connection_does_not_read_all_turns_of_the_tenant(role: str, many_users: bool, before: int) -> None:
    """Its plan is right from the start, for either role: it would be kept until autovacuum has looked at the table."""
    tenant_id = make_tenant()
    with statement() as db:
        for _ in range(before):
            _open(db, tenant_id, 16, many_users)
    close_connections()
    with statement() as db, db.transaction():
        db.execute(f"SET LOCAL ROLE {role}; SET LOCAL turnloom.tenants = '{{{tenant_id}}}'".encode())
        _open(db, tenant_id, 1, many_users)
        (read,) = db.execute(_READ).fetchone() or (0,)

    assert read <= _WINDOW


@pytest.mark.parametrize("role", ["turnloom", "turnloom_tenant"])
@pytest.mark.parametrize("is_new", [True, False], ids=["a new connection", "one that saw it empty"])
def test_a_messages_id_is_found_without_reading_the_tenants_turns(role: str, is_new: bool) -> None:
    """A connection keeps a plan that it has made for an empty table, so this one is right even there."""
    tenant_id = make_tenant()
    whose = f"SET LOCAL ROLE {role}; SET LOCAL turnloom.tenants = '{{{tenant_id}}}'".encode()
    with statement() as db:
        for _ in range(12):
            with db.transaction():
                db.execute(whose)
                _open(db, tenant_id, 16, many_users=True, named=True)
    if is_new:
        close_connections()
    with statement() as db, db.transaction():
        db.execute(whose)
        # It counts what the connection has not reported yet, too.
        (before,) = db.execute(_READ).fetchone() or (0,)
        _open(db, tenant_id, 1, many_users=True, named=True)
        (after,) = db.execute(_READ).fetchone() or (0,)

    assert after - before <= _WINDOW


@pytest.mark.parametrize("statistics", [True], ids=["all had ended"], indirect=True)
def test_the_end_of_a_turn_does_not_read_all_that_wait(statistics: None) -> None:
    """Who is next is asked of the line of its user and of that of its tenant.

    A window is counted for each class, and once more for what batch turns may have. Until a new table has statistics,
    for some seconds, the tenant's turns are read to hand none of them out.
    """
    tenant_id = make_tenant()
    with statement() as db:
        for _ in range(64):
            _open(db, tenant_id, 16, many_users=True)
    close_connections()
    with statement() as db, db.transaction():
        (line,) = db.execute("SELECT line FROM turns WHERE sent_at IS NOT NULL LIMIT 1").fetchone() or (0,)
        (before,) = db.execute(_READ).fetchone() or (0,)
        db.execute("SELECT hot.release(%s, %s, ARRAY[%s])", (tenant_id, limits.windows(), line))
        (after,) = db.execute(_READ).fetchone() or (0,)

    assert after - before <= 3 * _WINDOW + 1
