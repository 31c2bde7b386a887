"""Postgres: transactions at the edges, and single statements on the driver's connection for the hot path.

Both may serve tenants: then Postgres shows them the rows of these tenants only (row-level security), beside what the
queries say. What serves all tenants, such as recovery, names none.

One pool per process serves both. Nothing here waits for ever, and a server that went away is `Unavailable`. A thread
holds one connection at a time: if eight threads each hold one of eight connections and ask for another, they deadlock.
"""

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import orjson
import psycopg
from psycopg.types.json import set_json_dumps, set_json_loads
from sqlalchemy import Engine, create_engine, exc
from sqlalchemy.orm import Session

from turnloom.models.connections import row_security
from turnloom.models.connections.connection_pool import ConnectionPool
from turnloom.models.connections.postgres_sessions import outdated, session_arguments, session_settings, unanswered
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import settings

CONNECT_TIMEOUT_S = 5


def dump_json(value: Any) -> str:
    """Write JSON as both drivers of the ledger do."""
    return orjson.dumps(value).decode()


set_json_dumps(dump_json)
set_json_loads(orjson.loads)


Transaction = Session
Statement = psycopg.Connection
"""The connection that the ledger's functions take, for modules that may not know SQLAlchemy or the driver."""


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The properties of a Postgres session, as this process finds them."""

    is_pooled: bool
    """Whether something between this process and Postgres hands out the server's connections."""
    differing: dict[str, str]
    """The settings of `session_settings` that have another value, and that value."""


_making = threading.Lock()
"""Held while the engine is made, so that threads that ask first at the same moment get the same one."""

_thread = threading.local()
"""Whether each thread (each greenlet in web processes) holds a connection."""


def engine() -> Engine:
    """Return this process's engine. After a fork call `forget_connections` first."""
    with _making:
        return _engine()


@lru_cache
def _engine() -> Engine:
    return create_engine(
        driver_url(settings().database_url),
        poolclass=ConnectionPool,
        pool_size=settings().database_pool_size,
        hide_parameters=True,
        pool_timeout=CONNECT_TIMEOUT_S,
        json_serializer=dump_json,
        json_deserializer=orjson.loads,
        use_native_hstore=False,  # no table has a column of this type, and to look for it is a query
        connect_args={"connect_timeout": CONNECT_TIMEOUT_S, **session_arguments()},
    )


@contextmanager
def transaction(tenant_id: UUID | None = None) -> Iterator[Session]:
    """Open a transaction for the ledger's functions; commits at the end, rolls back on an error.

    Rows that were read stay readable after the commit. `tenant_id`: the tenant whose rows alone are there; None: all.

    Raises:
        RuntimeError: this thread already holds a connection.
        Unavailable: Postgres is out of reach, or all connections are lent.
    """
    with _transaction(tenant_id) as session:
        yield session


@contextmanager
def snapshot(tenant_id: UUID | None = None) -> Iterator[Session]:
    """Open a read-only transaction whose statements all see the ledger at the same moment.

    `tenant_id` is as in `transaction`.

    Raises:
        Unavailable: Postgres is out of reach, or all connections are lent.
    """
    with _transaction(tenant_id, "ISOLATION LEVEL REPEATABLE READ, READ ONLY") as session:
        yield session


@contextmanager
def _transaction(tenant_id: UUID | None, mode: str = "") -> Iterator[Session]:
    try:
        with _only_connection(), Session(engine(), expire_on_commit=False) as session, session.begin():
            _begin(session, mode, _secured(None if tenant_id is None else [tenant_id]))
            yield session
    except exc.TimeoutError as error:
        raise _all_lent() from error
    except psycopg.OperationalError as error:
        raise unanswered(error) from error
    except (exc.OperationalError, exc.InterfaceError, exc.InternalError) as error:
        if isinstance(error, exc.InternalError) and not error.connection_invalidated:
            raise
        raise unanswered(error) from error
    except exc.ProgrammingError as error:
        if isinstance(error.orig, psycopg.errors.InvalidSchemaName):
            raise outdated() from error
        raise


def _begin(session: Session, mode: str, tenants: Collection[UUID] | None) -> None:
    if not mode and tenants is None:
        return  # the driver begins the transaction with its first statement
    lent = session.connection()
    try:
        row_security.begin(cast("psycopg.Connection", lent.connection.driver_connection), mode, tenants)
    except psycopg.OperationalError as error:
        lent.invalidate(error)
        raise


@contextmanager
def statement(tenants: Collection[UUID] | None = None) -> Iterator[psycopg.Connection]:
    """Lend the driver's connection in autocommit: each statement is its own transaction.

    It is for the few statements of the hot path, which are prepared on the connection. `tenants`: those whose rows
    alone are there; None: all.

    Raises:
        RuntimeError: this thread already holds a connection.
        Unavailable: Postgres is out of reach, or all connections are lent.
    """
    with _only_connection(), _statement() as connection, row_security.serving(connection, _secured(tenants)):
        yield connection


@contextmanager
def _statement() -> Iterator[psycopg.Connection]:
    try:
        pool = engine().pool
        assert isinstance(pool, ConnectionPool)
        with pool.driver() as connection:
            yield connection
    except exc.TimeoutError as error:
        raise _all_lent() from error
    except (psycopg.OperationalError, exc.OperationalError) as error:
        raise unanswered(error) from error
    except psycopg.errors.InvalidSchemaName as error:
        raise outdated() from error


def _secured(tenants: Collection[UUID] | None) -> Collection[UUID] | None:
    """Return the tenants that Postgres is to be told of; None without row-level security."""
    return tenants if settings().row_security else None


@contextmanager
def _only_connection() -> Iterator[None]:
    if getattr(_thread, "holds_connection", False):
        raise RuntimeError("this thread already holds a connection to Postgres: return it before asking for another")
    _thread.holds_connection = True
    try:
        yield
    finally:
        _thread.holds_connection = False


def forget_connections() -> None:
    """Drop the inherited pool without closing its sockets, which belong to the parent process."""
    _engine.cache_clear()


def close_connections() -> None:
    """Close the pool; the next use opens a new one with the settings of that moment."""
    with _making:
        if _engine.cache_info().currsize:
            _engine().pool.dispose()
        _engine.cache_clear()


def examine() -> SessionFacts:
    """Return the properties of a session of this process.

    Raises:
        Unavailable: Postgres is out of reach or out of connections.
    """
    wanted = session_settings()
    query = "SELECT pg_backend_pid(), name, setting FROM pg_settings WHERE name = ANY(%s)"
    with statement() as db:
        found = db.execute(query, (list(wanted),)).fetchall()
        named = db.info.backend_pid
    # A pooler invents the server process number that it gives a client.
    is_pooled = any(pid != named for pid, _, _ in found)
    return SessionFacts(is_pooled, {name: value for _, name, value in found if value != wanted[name]})


def ping(url: str) -> None:
    """Connect once and run a trivial query.

    Raises:
        Unavailable: the server does not answer, or refuses these credentials.
    """
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
            connection.execute("select 1")
    except psycopg.Error as error:
        raise unanswered(error) from error


def clock(url: str) -> datetime:
    """Return the time of the server's clock."""
    with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        row = connection.execute("select clock_timestamp()").fetchone()
        assert row is not None
        return cast("datetime", row[0])


def driver_url(url: str) -> str:
    """Name the driver in a customary URL: `postgres://` and `postgresql://` mean psycopg."""
    _, separator, rest = url.partition("://")
    return f"postgresql+psycopg{separator}{rest}"


def _all_lent() -> Unavailable:
    message = f"all {settings().database_pool_size} connections of this process to Postgres have been in use for"
    return Unavailable(f"{message} {CONNECT_TIMEOUT_S} s", code="overloaded")
