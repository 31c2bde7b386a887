"""Hand live events of turns to those that wait for them, from one Redis subscription per process.

An announcement may be lost at any time. It says when to look; the ledger says what happened. So the hub also looks into
the ledger itself, every few seconds and once for all readers. A reader needs no connection while nothing happens to its
turn.
"""

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from queue import Empty, SimpleQueue
from uuid import UUID

from turnloom.models.connections import redis
from turnloom.models.connections.database import statement
from turnloom.models.connections.redis import DELTA, DELTAS_TTL_S, Item, read_announcement
from turnloom.models.contracts.event import FINAL_EVENTS
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import events
from turnloom.models.ledger.events import Stand
from turnloom.models.runtime.counters import counts
from turnloom.models.runtime.daemon import Daemon
from turnloom.models.runtime.logging import log

_RECONNECT_S = 1.0
_CLOSING_S = 5.0
_KEPT_PER_READER = 1_000
_POLL_HEARING_S, _POLL_DEAF_S = 5.0, 1.0


class Reader:
    """The inbox of one request that waits for a turn."""

    def __init__(self, seen: float) -> None:
        self.seen = seen
        """The last event in the ledger that the reader knows. Infinite if it waits for the turn's end only."""
        self._items: SimpleQueue[list[Item] | None] = SimpleQueue()

    def put(self, items: list[Item]) -> None:
        """Hand over events. A slow reader has no room for all; it finds those that are dropped in the ledger."""
        if self._items.qsize() < _KEPT_PER_READER:
            self._items.put(items)
        else:
            log.warning("news.dropped", kept=_KEPT_PER_READER)

    def note(self, stand: Stand) -> None:
        """Send the reader to the ledger if the ledger has more, unless the reader still has events to read."""
        if (stand.is_final or stand.last_event > self.seen) and self._items.empty():
            self._items.put(None)

    def send_to_record(self) -> None:
        """Send a reader that follows the turn to the record: no later event tells that a delta was missed before it."""
        if self.seen < math.inf:
            self._items.put(None)

    def wait(self, at_most_s: float) -> list[Item] | None:
        """Return the next events; an empty list if none comes in time; None if the reader must look into the ledger."""
        try:
            return self._items.get(timeout=max(0.0, at_most_s))
        except Empty:
            return []

    def wait_for_end(self, deadline: float) -> bool:
        """Wait until the turn seems to be final; return whether that came before the deadline (monotonic clock)."""
        while (left_s := deadline - time.monotonic()) > 0:
            heard = self.wait(left_s)
            if heard is None or any(kind in FINAL_EVENTS for _, kind, _ in heard):
                return True
        return False


class Hub:
    """The listener to announcements and the look into the ledger for all readers of a process.

    They run from the first reader on, in two threads (greenlets under gunicorn's gevent workers).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: dict[str, set[Reader]] = {}
        self._looks: Daemon | None = None
        self._hears = False
        self._hears_since = math.inf
        """No announcement after this time was missed."""
        self._spoken: dict[str, float] = {}
        """When deltas of a turn were last heard, the oldest first; kept while Redis may still hold them."""
        self._stopping = threading.Event()
        self._may_look = threading.Event()
        """Set when there is a reason to look before the next regular look."""

    @contextmanager
    def follow(self, turn_id: str, seen: float = 0) -> Iterator[Reader]:
        """Read a turn's events while the block runs; `seen` is as in `Reader`."""
        reader = Reader(seen)
        with self._lock:
            self._readers.setdefault(turn_id, set()).add(reader)
            if self._looks is None:
                Daemon("live events", self._listen, stopping=self._stopping).start()
                self._looks = Daemon("live looks", self._look, stopping=self._stopping).start()
        try:
            yield reader
        finally:
            with self._lock:
                self._readers[turn_id].discard(reader)
                if not self._readers[turn_id]:
                    del self._readers[turn_id]

    def may_have_spoken(self, turn_id: str) -> bool:
        """Return whether Redis may hold deltas of a turn that its present readers have not heard."""
        hears_all = time.monotonic() - self._hears_since > DELTAS_TTL_S
        return not hears_all or turn_id in self._spoken

    def close(self) -> None:
        """Stop handing on events. When this returns, no look is under way; the listener ends within seconds."""
        self._stopping.set()
        self._may_look.set()
        if self._looks:
            self._looks.stop(_CLOSING_S)

    def _listen(self) -> None:
        """Hand on announcements until the connection is lost."""
        try:
            for message in redis.listen():
                if self._stopping.is_set():
                    return
                if not self._hears:
                    self._begin_to_hear()
                if message is not None:
                    self._hand_on(message)
        except Unavailable:
            self._hears, self._hears_since = False, math.inf
            self._stopping.wait(_RECONNECT_S)
            raise
        finally:
            self._hears, self._hears_since = False, math.inf

    def _begin_to_hear(self) -> None:
        """Note that earlier announcements were not heard: who follows a turn reads what it missed before any other."""
        self._hears, self._hears_since = True, time.monotonic()
        self._may_look.set()
        with self._lock:
            readers = [reader for readers in self._readers.values() for reader in readers]
        for reader in readers:
            reader.send_to_record()

    def _hand_on(self, message: bytes) -> None:
        try:
            announced = read_announcement(message)
        except ValueError as error:
            log.warning("news.malformed", bytes=len(message), error=type(error).__name__)
            counts().add("turnloom_news_malformed_total")
            return
        for turn_id, items in announced:
            if any(kind == DELTA for _, kind, _ in items):
                self._note_spoken(turn_id)
            for reader in self._readers_of(turn_id):
                reader.put(items)

    def _note_spoken(self, turn_id: str) -> None:
        now = time.monotonic()
        self._spoken.pop(turn_id, None)
        self._spoken[turn_id] = now
        while now - self._spoken[oldest := next(iter(self._spoken))] > DELTAS_TTL_S:
            del self._spoken[oldest]

    def _look(self) -> None:
        """Look once, and notify the readers whose turns have more events in the ledger."""
        self._may_look.wait(_POLL_HEARING_S if self._hears else _POLL_DEAF_S)
        self._may_look.clear()
        with self._lock:
            turn_ids = [] if self._stopping.is_set() else list(self._readers)
        for turn_id, stand in _stands(turn_ids).items():
            for reader in self._readers_of(str(turn_id)):
                reader.note(stand)

    def _readers_of(self, turn_id: str) -> tuple[Reader, ...]:
        with self._lock:
            return tuple(self._readers.get(turn_id, ()))


def _stands(turn_ids: list[str]) -> Mapping[UUID, Stand]:
    if not turn_ids:
        return {}
    with statement() as db:
        return events.stands(db, [UUID(turn_id) for turn_id in turn_ids])


@lru_cache
def hub() -> Hub:
    """Return this process's hub."""
    return Hub()
