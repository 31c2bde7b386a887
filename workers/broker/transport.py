"""Our transport is kombu's for Redis, with less work per message.

kombu 5.7 makes a client for each command, which with redis-py 8 is a third of the cost of publishing. It reads JSON
with a Python hook for every object, although a task's message holds only plain values. And neither treats an answer
such as READONLY as a lost connection, so a failover would end every worker.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from queue import Empty
from typing import Any

import orjson
from kombu.exceptions import DecodeError
from kombu.transport import redis, virtual

from turnloom.models.connections.redis_connections import breaking
from turnloom.models.runtime.logging import log


class _Unreadable(Exception):
    """A message that cannot be read."""


class _Message(virtual.Message):
    def __init__(self, payload: Any, channel: Any = None, **options: Any) -> None:
        try:
            super().__init__(payload, channel=channel, **options)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise _Unreadable from error

    def _decode(self) -> Any:
        if self.content_type != "application/json" or "task" not in self.headers:
            return super()._decode()
        try:
            return orjson.loads(self.body or b"")
        except ValueError as error:
            raise DecodeError(str(error)) from error


class _Channel(redis.Channel):
    Message = _Message
    connection_class = breaking(redis.Channel.connection_class)  # type: ignore[arg-type]  # None without redis-py
    connection_class_ssl = breaking(redis.Channel.connection_class_ssl)  # type: ignore[arg-type]  # the same

    @cached_property
    def _short_commands(self) -> Any:
        return self._create_client()  # type: ignore[attr-defined]

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        yield client or self._short_commands

    def _brpop_read(self, **_: Any) -> bool:
        """Read the answer to a BRPOP, and deliver its message."""
        try:
            queue, message = self._popped()
            self._queue_cycle.rotate(queue)  # type: ignore[attr-defined]
            try:
                self.connection._deliver(_loaded(message), queue)  # noqa: SLF001 - as kombu's own does
            except _Unreadable:  # another program's message must not end the worker
                log.exception("message.unreadable", queue=queue, length=len(message))
            return True
        finally:
            self._in_poll = None
            self._flush_brpop_reauth()  # type: ignore[attr-defined]

    def _popped(self) -> tuple[str, bytes]:
        connection = self.client.connection
        try:
            popped = connection.read_response()
        except self.connection_errors:  # type: ignore[attr-defined]
            connection.disconnect()  # so that the next command reconnects
            raise
        if not popped:
            raise Empty
        return popped[0].decode(), popped[1]


def _loaded(message: bytes) -> Any:
    try:
        return orjson.loads(message)
    except ValueError as error:
        raise _Unreadable from error


class Transport(redis.Transport):
    """The transport of brokers named `redis://`."""

    Channel = _Channel
