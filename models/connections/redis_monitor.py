"""Hear the commands that reach a Redis server, by MONITOR, and put messages on its lists.

It costs the server a good part of its speed: it is for stacks that go wrong on purpose.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from redis import Redis, RedisError

from turnloom.models.errors import Unavailable


class RedisMonitor:
    """A connection that hears all commands at a server, and another one that sends."""

    def __init__(self, client: "Redis", heard: "Redis") -> None:
        self._client = client
        self._connection = heard.connection

    def next_command(self, within_s: float) -> list[bytes]:
        """Return the words of the next command that comes within a time; no words if none comes."""
        if not self._connection.can_read(timeout=within_s):
            return []
        # redis-py's own reading would not give back the bytes of words with escapes.
        return _words(self._connection.read_response())

    def push(self, name: str, value: bytes) -> None:
        """Put a value on a list, where new messages are put."""
        self._client.lpush(name, value)


@contextmanager
def monitored(url: str) -> Iterator[RedisMonitor]:
    """Hear the commands at a server while the block runs.

    Raises:
        Unavailable: the server does not answer, also in the block.
    """
    try:
        with Redis.from_url(url) as client, client.monitor() as monitor:
            yield RedisMonitor(client, monitor)
    except RedisError as error:
        raise Unavailable(f"Redis does not answer: {error}", code="redis_unavailable") from error


def _words(line: bytes) -> list[bytes]:
    """Return the words of a command as MONITOR shows it: each in quotes, all but printable ASCII as escapes.

    A word that ends with a quote and a space is not told from two words; no message does.
    """
    _, _, words = line.partition(b'] "')
    return [word.decode("unicode_escape").encode("latin-1") for word in words.removesuffix(b'"').split(b'" "')]
