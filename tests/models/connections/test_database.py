"""A process lends a connection to one thread at a time, and replaces those that the server has closed."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier
from unittest.mock import Mock

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from pydantic import ValidationError
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from tests.facts import wait_for
from turnloom.models.connections.database import close_connections, engine, snapshot, statement, transaction
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import Settings, settings

_WAYS = {"transaction": transaction, "statement": statement, "snapshot": snapshot}


@pytest.mark.parametrize("how", ["statement", "transaction"])
def test_a_connection_that_the_server_closed_is_replaced(
    database: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A borrower that takes it from the pool after a rest gets a new one, and no error."""
    monkeypatch.setattr("turnloom.models.connections.connection_pool._REST_S", 0.0)
    old = _ask(how)
    _end(database, [old])

    assert _ask(how) != old


@pytest.mark.parametrize("how", ["statement", "transaction"])
def test_one_closed_connection_has_the_others_looked_at(
    database: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restart of Postgres, one borrower in a busy process gets an error. No later one does."""
    monkeypatch.setattr("turnloom.models.connections.connection_pool._REST_S", 3_600.0)
    old = _ask_at_once(how, 4)
    _end(database, old)

    with pytest.raises(Unavailable):
        _ask(how)
    new = _ask_at_once(how, 4)

    assert len(set(old)) == len(set(new)) == 4
    assert not set(old) & set(new)


@pytest.mark.usefixtures("database")
def test_a_statement_of_the_hot_path_bypasses_sqlalchemy() -> None:
    """The pool lends a warm connection as it is. A transaction takes the same one."""
    with transaction() as session:
        warm = session.scalar(text("SELECT pg_backend_pid()"))
    lent = Mock()
    event.listen(engine(), "checkout", lent)

    asked = [_ask("statement") for _ in range(3)]
    lent_to_statements = lent.call_count

    assert (asked, lent_to_statements) == ([warm] * 3, 0)
    assert (_ask("transaction"), lent.call_count) == (warm, 1)


def test_a_connection_that_still_works_is_not_lent_again(database: str) -> None:
    """If a borrower is interrupted in the middle of a statement, the next borrower does not see its results."""

    def interrupted() -> None:
        with statement() as db:
            db.pgconn.send_query(b"SELECT pg_sleep(60)")
            raise KeyError

    old = _ask("statement")

    with pytest.raises(KeyError):
        interrupted()

    assert _ask("statement") != old
    _end(database, [old])  # or a later test that makes an index waits for the sleeper's snapshot


def _engines_of_eight_threads() -> int:
    """Let eight threads ask for the engine at once, before it exists. Return how many they got."""
    close_connections()
    together = Barrier(8)

    def ask() -> Engine:
        together.wait()
        return engine()

    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(ask) for _ in range(8)]
    return len({id(each.result()) for each in asked})


@pytest.mark.usefixtures("database")
def test_threads_that_come_first_together_share_the_pool() -> None:
    """A process has one pool, however many threads ask for it before it exists."""
    found = [_engines_of_eight_threads() for _ in range(20)]

    assert set(found) == {1}


@pytest.mark.usefixtures("database")
def test_no_more_connections_are_lent_than_the_pool_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements and transactions share the pool. After too long a wait, the error names what is short."""
    monkeypatch.setenv("TURNLOOM_DATABASE_POOL_SIZE", "4")
    monkeypatch.setattr("turnloom.models.connections.database.CONNECT_TIMEOUT_S", 0.1)
    settings.cache_clear()
    close_connections()
    taken, done = Barrier(5), Barrier(5)

    with ThreadPoolExecutor(4) as pool:
        holding = [pool.submit(_ask, how, taken, done) for how in ("statement", "transaction") * 2]
        taken.wait(10)
        refusals = [_refusal(how) for how in ("statement", "transaction")]
        done.wait(10)
        held = {each.result() for each in holding}

    assert (len(held), refusals) == (4, ["overloaded"] * 2)
    assert {_ask(how) for how in ("statement", "transaction")} < held
    close_connections()


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("how", _WAYS)
def test_a_connection_that_comes_back_to_a_closed_pool_is_closed(how: str) -> None:
    """A thread may still hold a connection while another thread closes the pool."""
    with _WAYS[how]() as lent:
        driver = lent.connection().connection.driver_connection if isinstance(lent, Session) else lent
        close_connections()

    assert driver.closed


def test_a_failed_transaction_leaves_nothing_open(database: str) -> None:
    """The connection goes back to the pool without a transaction, and the work is undone."""
    insert = text("INSERT INTO tenants (id, name) VALUES ('018f0000-0000-7000-8000-000000000000', 'nobody')")

    with pytest.raises(IntegrityError), transaction() as session:
        _ = [session.execute(insert) for _ in range(2)]

    with statement() as db:
        assert db.info.transaction_status == TransactionStatus.IDLE
        assert db.execute("SELECT count(*) FROM tenants WHERE name = 'nobody'").fetchone() == (0,)


def test_an_idle_transaction_does_not_keep_its_locks(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server ends a transaction that is idle for too long, so that others get its locks."""
    monkeypatch.setattr("turnloom.models.connections.postgres_sessions._IDLE_TIMEOUT_MS", 200)
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


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("inner", _WAYS)
@pytest.mark.parametrize("outer", _WAYS)
def test_nobody_asks_for_a_connection_while_holding_one(outer: str, inner: str) -> None:
    """Eight threads that did so could wait for each other for ever. Afterwards a thread may ask again."""

    def nest() -> None:
        with _WAYS[outer](), _WAYS[inner]():
            """Not reached."""

    with pytest.raises(RuntimeError, match="already holds a connection"):
        nest()

    with _WAYS[inner]():
        """It is free again."""


def test_a_pool_that_cannot_work_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the setting and its least value."""
    monkeypatch.setenv("TURNLOOM_DATABASE_POOL_SIZE", "3")

    with pytest.raises(ValidationError, match="TURNLOOM_DATABASE_POOL_SIZE is 3; write 4 or more"):
        Settings()


def _ask(how: str, *meetings: Barrier) -> int:
    """Return the id of the server process that answers. Hold the connection until others have reached the barriers."""
    query = "SELECT pg_backend_pid()"
    with ExitStack() as stack:
        if how == "statement":
            row = stack.enter_context(statement()).execute(query).fetchone()
            found = row[0] if row else 0
        else:
            found = stack.enter_context(transaction()).scalars(text(query)).one()
        for meeting in meetings:
            meeting.wait(10)
    return int(found)


def _ask_at_once(how: str, threads: int) -> list[int]:
    together = Barrier(threads)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(_ask, [how] * threads, [together] * threads))


def _end(database: str, pids: Sequence[int]) -> None:
    with psycopg.connect(database, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", (list(pids),))
        query = "SELECT 1 FROM pg_stat_activity WHERE pid = ANY(%s)"
        wait_for(lambda: not other.execute(query, (list(pids),)).fetchone())


def _refusal(how: str) -> str | None:
    with pytest.raises(Unavailable) as refused:
        _ask(how)
    return refused.value.code
