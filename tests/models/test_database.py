"""Connections that the server has closed."""

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from pydantic import ValidationError
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from models.database import close_connections, snapshot, statement, transaction
from models.errors import Unavailable
from models.settings import Settings
from tests.facts import wait_for


@pytest.mark.parametrize("how", ["statement", "transaction"])
def test_a_connection_that_the_server_closed_is_replaced(database: str, how: str) -> None:
    """Whoever takes it from the pool gets a new one and hears of nothing."""
    with statement() as db:
        old = db.info.backend_pid
    with psycopg.connect(database, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", (old,))
        wait_for(lambda: not other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (old,)).fetchone())

    if how == "statement":
        with statement() as db:
            new = db.info.backend_pid
    else:
        with transaction() as session:
            new = session.scalar(text("SELECT pg_backend_pid()"))

    assert new != old


def test_a_failed_transaction_leaves_nothing_open(database: str) -> None:
    """The connection comes back to the pool without a transaction, and what was done in it is undone."""
    insert = text("INSERT INTO tenants (id, name) VALUES ('018f0000-0000-7000-8000-000000000000', 'nobody')")

    with pytest.raises(IntegrityError), transaction() as session:
        _ = [session.execute(insert) for _ in range(2)]

    with statement() as db:
        assert db.info.transaction_status == TransactionStatus.IDLE
        assert db.execute("SELECT count(*) FROM tenants WHERE name = 'nobody'").fetchone() == (0,)


def test_who_stopped_in_the_middle_of_a_transaction_holds_nothing_for_ever(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends it, so that others get what it had locked."""
    monkeypatch.setattr("models.sessions._IDLE_TIMEOUT_MS", 200)
    close_connections()
    lock = "SELECT pg_advisory_xact_lock(1)"

    def hold() -> None:
        with transaction() as session:
            session.execute(text(lock))
            with psycopg.connect(database, options="-c lock_timeout=5000") as other:
                other.execute(lock)
            session.execute(text(lock))

    with pytest.raises(Unavailable):
        hold()
    close_connections()


_WAYS = {"transaction": transaction, "statement": statement, "snapshot": snapshot}


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("inner", _WAYS)
@pytest.mark.parametrize("outer", _WAYS)
def test_nobody_asks_for_a_connection_while_holding_one(outer: str, inner: str) -> None:
    """Eight threads that did so would each hold one of eight, and wait. Afterwards the thread may ask again."""

    def nest() -> None:
        with _WAYS[outer](), _WAYS[inner]():
            """Not reached."""

    with pytest.raises(RuntimeError, match="already holds a connection"):
        nest()

    with _WAYS[inner]():
        """It is free again."""


def test_a_pool_that_cannot_work_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the setting and the least value."""
    monkeypatch.setenv("TURNLOOM_DATABASE_POOL_SIZE", "3")

    with pytest.raises(ValidationError, match="TURNLOOM_DATABASE_POOL_SIZE is 3; write 4 or more"):
        Settings()
