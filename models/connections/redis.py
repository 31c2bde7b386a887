"""Redis carries the live side of a turn's events, and nothing that the ledger could not rebuild.

State changes are announced on one channel, so that a web process needs one subscription for all its readers.
The text deltas of a reply are also kept for a minute, in a capped stream per turn, for readers that resume.
"""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, cast
from uuid import UUID

import orjson
from pydantic import StringConstraints, TypeAdapter
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.client import PubSub
from redis.commands.core import Script
from redis.retry import Retry

from turnloom.models.connections.redis_connections import breaking
from turnloom.models.contracts.event import EVENT_ID, Event
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.batching import Gatherer
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings

Failed = RedisError
"""The error of a failed command, for modules that may not know redis-py."""

Item = tuple[Annotated[str, StringConstraints(pattern=EVENT_ID)], str, dict[str, Any]]
"""An event or a delta: (event id, type, data)."""
_ANNOUNCEMENTS: TypeAdapter[list[tuple[str, list[Item]]]] = TypeAdapter(list[tuple[str, list[Item]]])

CHANNEL = "turnloom:events"
DELTA = "reply.delta"
_BEAT = "turnloom:beat"
_DELTAS_KEPT = 5_000
DELTAS_TTL_S = 60
"""Counted from the last delta, so that deltas expire even if nobody sees the turn end. The reply itself is in the
ledger."""
_TIMEOUT_S = 2.0
_QUIET_S = 2.0
_OUTAGE_S = 1.0
_SCRIPTS = Path(__file__).parent / "scripts"


@lru_cache
def redis() -> "Redis":
    """Return this process's client for short commands. It gives up after two seconds instead of blocking its caller."""
    made = Redis.from_url(
        settings().redis_url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S, retry=Retry(NoBackoff(), 1)
    )
    made.connection_pool.connection_class = breaking(made.connection_pool.connection_class)
    return made


def announce(turn_id: UUID | str, events: Sequence[Event]) -> None:
    """Announce committed events to live readers soon, and a turn's end at once. A lost announcement loses no event."""
    if events:
        items: list[Item] = [(str(event.seq), event.type, event.data) for event in events]
        is_urgent = events[-1].type.startswith("turn.")
        _announcer().put(_Announcement(str(turn_id), items), urgent_for=str(turn_id) if is_urgent else None)


def append_delta(turn_id: UUID | str, after: int, number: int, text: str) -> None:
    """Publish a piece of a reply's text: the `number`th (from 1) after the event `after`."""
    _announcer().put(_Announcement(str(turn_id), [(f"{after}.{number}", DELTA, {"text": text})], is_delta=True))


def settle_deltas(turn_id: UUID | str) -> None:
    """Wait until a turn's earlier deltas can be read, so that no reader sees what comes after them first."""
    _announcer().settle(_TIMEOUT_S, urgent_for=str(turn_id))


def deltas(turn_id: UUID | str) -> list[Item]:
    """Return a turn's kept deltas, oldest first: (event id, type, data). Empty if Redis does not answer."""
    try:
        entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", redis().xrange(_deltas_key(turn_id)))
    except RedisError:
        return []
    return [tuple(orjson.loads(fields[b"event"])) for _, fields in entries]


def listen() -> Iterator[bytes | None]:
    """Yield announcements for `read_announcement`, for ever. None means: the subscription stands from now on.

    Raises:
        Unavailable: the connection is lost, or the server is silent; listen again.
    """
    client = Redis.from_url(settings().redis_url, socket_connect_timeout=_TIMEOUT_S, retry=Retry(NoBackoff(), 0))
    try:
        with client.pubsub() as subscription:  # type: ignore[no-untyped-call]
            subscription.subscribe(CHANNEL)
            yield from _messages(subscription)
    except RedisError as error:
        raise Unavailable(f"Redis does not answer: {error}", code="redis_unavailable") from error
    finally:
        client.close()


def read_announcement(message: bytes) -> list[tuple[str, list[Item]]]:
    """Return the announcements of one message: each turn's id and its new events.

    Raises:
        ValueError: it is not one of our messages.
    """
    return _ANNOUNCEMENTS.validate_json(message)


def _messages(subscription: PubSub) -> Iterator[bytes | None]:
    is_asked = False
    while True:
        message = subscription.get_message(timeout=_QUIET_S)
        if message is not None:
            is_asked = False
            yield message["data"] if message["type"] == "message" else None
        elif is_asked:
            raise Unavailable(f"Redis was silent for {2 * _QUIET_S:.0f} s", code="redis_unavailable")
        else:
            # A quiet channel looks like a server that hangs or is cut off: a ping tells which.
            subscription.ping()
            is_asked = True


def queue_lengths(queues: Iterable[str]) -> dict[str, int] | None:
    """Return how many messages wait in each of these queues of the broker; None if Redis does not answer."""
    try:
        return {queue: redis().llen(queue) for queue in queues}
    except RedisError:
        return None


def note_beat(for_s: float) -> None:
    """Record that beat runs; the record expires after `for_s` seconds.

    Raises:
        Unavailable: Redis does not answer.
    """
    with _answering():
        redis().set(_BEAT, 1, px=int(for_s * 1000))


def beat_lives() -> bool:
    """Return whether the record of `note_beat` has not expired.

    Raises:
        Unavailable: Redis does not answer.
    """
    with _answering():
        return bool(redis().exists(_BEAT))


def note_once(name: str, for_s: float) -> bool:
    """Record that something was done, for `for_s` seconds. False: it is recorded already.

    Raises:
        Unavailable: Redis does not answer.
    """
    with _answering():
        return bool(redis().set(f"turnloom:once:{name}", 1, nx=True, px=int(for_s * 1000)))


def push(queue: str, messages: Sequence[bytes]) -> None:
    """Put messages into a queue of the broker; workers take them out in this order.

    Raises:
        Failed: Redis does not answer; it may have taken the messages.
    """
    redis().lpush(queue, *messages)


def run_script(name: str, keys: Sequence[str], args: Sequence[str | int | float | bytes], *, spare: bool = True) -> Any:
    """Run a script of scripts/ and return its result. A script runs atomically.

    `spare`: do not ask a server that did not answer a moment ago.

    Raises:
        Unavailable: Redis does not answer, or did not a moment ago.
    """
    if spare and _outage.lasts(redis()):
        raise Unavailable("Redis did not answer a moment ago", code="redis_unavailable")
    try:
        return _script(name)(keys, args, client=redis())
    except RedisError as error:
        _outage.begin(redis())
        log.warning("redis.silent", script=name, error=type(error).__name__)
        raise Unavailable(f"Redis does not answer: {error}", code="redis_unavailable") from error


def ping(url: str) -> dict[str, Any]:
    """Connect once and return the server's `INFO server` and its eviction policy under `maxmemory_policy`.

    Raises:
        Unavailable: the server does not answer, or refuses these credentials.
    """
    try:
        with Redis.from_url(url, socket_timeout=_TIMEOUT_S, retry=Retry(NoBackoff(), 0)) as client:
            info = cast("dict[str, Any]", client.info("server"))
            policy = cast("dict[str, str]", client.config_get("maxmemory-policy"))
            return {**info, "maxmemory_policy": policy.get("maxmemory-policy")}
    except RedisError as error:
        raise Unavailable(f"Redis does not answer: {error}", code="redis_unavailable") from error


@contextmanager
def _answering() -> Iterator[None]:
    """Turn every failure of a command into `Unavailable`."""
    try:
        yield
    except RedisError as error:
        raise Unavailable(f"Redis does not answer: {error}", code="redis_unavailable") from error


@lru_cache
def _script(name: str) -> Script:
    return redis().register_script((_SCRIPTS / f"{name}.lua").read_text("utf-8"))


class _Outage:
    """A pause of a second after a failed script, so that not every call waits for Redis and logs it."""

    def __init__(self) -> None:
        self._client: object = None
        self._until = 0.0

    def begin(self, client: object) -> None:
        self._client, self._until = client, time.monotonic() + _OUTAGE_S

    def lasts(self, client: object) -> bool:
        return self._client is client and time.monotonic() < self._until


_outage = _Outage()


@dataclass(frozen=True, slots=True)
class _Announcement:
    """Events of a turn for its live readers."""

    turn_id: str
    items: list[Item]
    is_delta: bool = False
    """Whether it is kept for readers that resume: the ledger does not hold deltas."""


@lru_cache
def _announcer() -> Gatherer[_Announcement]:
    """Return this process's announcer, a thread, so that no step waits for a round trip to Redis."""
    return Gatherer("announcer", _announce)


os.register_at_fork(after_in_child=_announcer.cache_clear)


def _announce(announced: Sequence[_Announcement]) -> None:
    try:
        _publish(announced)
    except RedisError as error:
        log.warning("events.unannounced", turns=len({each.turn_id for each in announced}), error=type(error).__name__)


def _publish(announced: Sequence[_Announcement]) -> None:
    message = orjson.dumps([(each.turn_id, each.items) for each in announced])
    deltas = [each for each in announced if each.is_delta]
    if not deltas:
        redis().publish(CHANNEL, message)
        return
    with redis().pipeline(transaction=False) as pipe:
        for each in deltas:
            key = _deltas_key(each.turn_id)
            pipe.xadd(key, {"event": orjson.dumps(each.items[0])}, maxlen=_DELTAS_KEPT)
            pipe.expire(key, DELTAS_TTL_S)
        pipe.publish(CHANNEL, message)
        pipe.execute()


def _deltas_key(turn_id: UUID | str) -> str:
    return f"turnloom:turn:{turn_id}:deltas"
