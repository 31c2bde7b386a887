"""Live news of turns: one subscription per process, handed on to whoever waits for a turn.

What is heard here may be lost at any time. It says when to look, and the ledger says what happened.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from queue import Empty, Full, Queue
from typing import Any
from uuid import UUID

from models import redis
from models.contracts.turn import FINAL_TURN_STATUSES
from models.database import transaction
from models.errors import Unavailable
from models.ledger import turns
from models.logging import log

Item = tuple[str, str, dict[str, Any]]
"""An event or a delta: (event id, type, data)."""

FINAL_EVENTS = frozenset(f"turn.{status}" for status in FINAL_TURN_STATUSES)
"""After one of these a turn has no further event."""

_RECONNECT_S = 1.0
_KEPT_PER_READER = 1_000
_POLL_HEARING_S, _POLL_DEAF_S = 5.0, 1.0


class Reader:
    """The end of the line of one who waits for a turn."""

    def __init__(self, hub: "Hub") -> None:
        self._hub = hub
        self._news: Queue[list[Item]] = Queue(_KEPT_PER_READER)

    def put(self, items: list[Item]) -> None:
        """Hand over news. What a slow reader has no room for is dropped: it finds it in the ledger."""
        try:
            self._news.put_nowait(items)
        except Full:
            log.warning("news.dropped", kept=_KEPT_PER_READER)

    def wait(self, at_most_s: float) -> list[Item] | None:
        """Return the next news; None when it is time to look into the ledger without any."""
        try:
            return self._news.get(timeout=max(0.0, min(at_most_s, self._hub.poll_s)))
        except Empty:
            return None


    def wait_for_end(self, at_most_s: float) -> None:
        """Return when the turn's final event is heard, or the time is over."""
        deadline = time.monotonic() + at_most_s
        while (left_s := deadline - time.monotonic()) > 0:
            if any(kind in FINAL_EVENTS for _, kind, _ in self.wait(left_s) or ()):
                return


class Hub:
    """Listens, from the first reader on, in a thread of its own (a greenlet under gunicorn's gevent workers)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: dict[str, set[Reader]] = {}
        self._thread: threading.Thread | None = None
        self._hears = False

    @property
    def poll_s(self) -> float:
        """How long a reader may rely on this hub alone."""
        return _POLL_HEARING_S if self._hears else _POLL_DEAF_S

    @contextmanager
    def follow(self, turn_id: str) -> Iterator[Reader]:
        """Read a turn's news from now on."""
        reader = Reader(self)
        with self._lock:
            self._readers.setdefault(turn_id, set()).add(reader)
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="live news", daemon=True)
                self._thread.start()
        try:
            yield reader
        finally:
            with self._lock:
                self._readers[turn_id].discard(reader)
                if not self._readers[turn_id]:
                    del self._readers[turn_id]

    def _listen(self) -> None:
        pause = threading.Event()
        while True:
            try:
                for turn_id, items in redis.listen():
                    self._hears = True
                    with self._lock:
                        readers = tuple(self._readers.get(turn_id, ()))
                    for reader in readers:
                        reader.put(items)
            except Unavailable as error:
                log.warning("news.interrupted", error=str(error))
            self._hears = False
            pause.wait(_RECONNECT_S)


@lru_cache
def hub() -> Hub:
    """Return this process's hub."""
    return Hub()


def wait_until_final(turn_id: UUID, at_most_s: float) -> bool:
    """Wait for the end of a turn; tell whether it came in time."""
    deadline = time.monotonic() + at_most_s
    with hub().follow(str(turn_id)) as reader:
        while not _is_final(turn_id):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            reader.wait_for_end(min(left_s, hub().poll_s))
    return True


def _is_final(turn_id: UUID) -> bool:
    with transaction() as db:
        turn = turns.get(db, turn_id)
        return turn is not None and turn.status in FINAL_TURN_STATUSES
