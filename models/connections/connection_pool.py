"""A process's bounded pool of connections to Postgres. The connection that was used last is lent first.

That one is warm: each connection has its own prepared statements and compiled functions. SQLAlchemy takes its
connections from here too; the statements of the hot path use the driver's connection directly.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import ioctl
from termios import FIONREAD
from typing import Any

import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus
from sqlalchemy import event, exc
from sqlalchemy.pool import ConnectionPoolEntry, Pool

_REST_S = 1.0
"""A connection that has been free for longer than this is checked before it is lent."""


class ConnectionPool(Pool):
    """The connections of a process. A free one keeps the autocommit mode of its last borrower."""

    def __init__(self, creator: Any, pool_size: int, timeout: float, **options: Any) -> None:
        # Both ways to use a connection end their own transactions; another rollback would be wasted.
        super().__init__(creator, **{**options, "reset_on_return": None})
        self._timeout_s = timeout
        self._places = threading.Semaphore(pool_size)
        self._free: deque[tuple[ConnectionPoolEntry, float]] = deque()
        self._doubted_at = 0.0
        self._is_disposed = False
        event.listen(self, "invalidate", self._doubt)

    @contextmanager
    def driver(self) -> Iterator[psycopg.Connection]:
        """Lend the driver's connection in autocommit.

        Raises:
            exc.TimeoutError: all connections are lent.
        """
        entry = self._take(autocommit=True)
        try:
            yield _driver(entry)
        except psycopg.OperationalError as error:
            entry.invalidate(error)
            raise
        finally:
            self._do_return_conn(entry)

    def dispose(self) -> None:
        """Close the free connections now, and lent ones when they come back."""
        self._is_disposed = True
        while self._free:
            self._free.pop()[0].close()

    def _do_get(self) -> ConnectionPoolEntry:
        return self._take(autocommit=False)

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        # An interrupted borrower may return a connection on which a statement still runs.
        if record.dbapi_connection and _is_idle(_driver(record)):
            self._free.append((record, time.monotonic()))
        else:
            record.close()
        if self._is_disposed:
            self.dispose()
        self._places.release()

    def _take(self, *, autocommit: bool) -> ConnectionPoolEntry:
        if not self._places.acquire(timeout=self._timeout_s):
            raise exc.TimeoutError
        try:
            entry = self._free_one() or self._create_connection()
            if _driver(entry).autocommit != autocommit:
                _driver(entry).autocommit = autocommit
        except BaseException:
            self._places.release()
            raise
        return entry

    def _free_one(self) -> ConnectionPoolEntry | None:
        while True:
            try:
                entry, since = self._free.pop()
            except IndexError:
                return None
            trusted = since > self._doubted_at and time.monotonic() - since <= _REST_S
            if trusted or not _is_closed(_driver(entry)):
                return entry
            entry.close()

    def _doubt(self, *_: object) -> None:
        """Have all free connections checked: what broke one may have broken them all."""
        self._doubted_at = time.monotonic()


def _driver(entry: ConnectionPoolEntry) -> psycopg.Connection:
    connection = entry.driver_connection
    assert isinstance(connection, psycopg.Connection)
    return connection


def _is_idle(connection: psycopg.Connection) -> bool:
    info = connection.info
    return info.transaction_status == TransactionStatus.IDLE and info.pipeline_status == PipelineStatus.OFF


def _is_closed(connection: psycopg.Connection) -> bool:
    """Return whether the server has closed a free connection, without a round trip.

    On a free connection there is nothing to read except the server's last message or the end of the stream. (`poll`
    would find both, but under gevent it costs a turn of the event loop.)
    """
    words = ioctl(connection.fileno(), FIONREAD, bytes(4))
    try:
        connection.pgconn.consume_input()
    except psycopg.OperationalError:
        return True
    return any(words)
