"""Refuse new messages while too many turns are in work, so that no accepted turn ever has to be dropped.

Counting the backlog with each message would cost more than recording the message. So a process counts once a second. To
that count it adds the turns that it has opened since, and the messages that it is still opening. It counts sooner only
before it would refuse a message. Several processes together may therefore exceed a limit by what they accept between
two counts. A batch message is refused when half of a limit is reached, so that the others find room.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import cast
from uuid import UUID

from flask import current_app

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.turn import Priority
from turnloom.models.ledger import backlog
from turnloom.models.runtime.settings import settings
from turnloom.web.auth import caller
from turnloom.web.limits import limits_of

RETRY_AFTER_S = 5.0
_BELIEVED_S = 1.0
_BELIEVED_WHEN_FULL_S = 0.1
_TIMES_AS_LONG = 10
"""A count that leads to a refusal is trusted for this many times its own duration, within the two bounds above."""
_EXTENSION = "turnloom.backlog"


@dataclass
class Asked:
    """A message that is about to be opened as a turn."""

    full: str | None = None
    """The limit that leaves no room for it; None: there is room."""
    is_opened: bool = False

    @property
    def may_open(self) -> bool:
        """Whether there is room for it."""
        return self.full is None


class Backlog:
    """The turns in work: the last count, those opened since, and the messages that are being opened."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._may_count_at = float("-inf")
        self._must_count_at = float("-inf")
        self._turns: Counter[UUID] = Counter()
        self._asked: Counter[UUID] = Counter()

    def ask(self, tenant_id: UUID, priority: Priority) -> Asked:
        """Ask whether another turn of this tenant may be opened. If so, the caller must call `settle` later."""
        now, at_most = time.monotonic(), limits_of(tenant_id).backlog
        if now >= self._must_count_at or (now >= self._may_count_at and self._full(tenant_id, at_most, priority)):
            self._count()
        with self._lock:
            full = self._full(tenant_id, at_most, priority)
            if full is None:
                self._asked[tenant_id] += 1
            return Asked(full)

    def settle(self, tenant_id: UUID, *, is_opened: bool) -> None:
        """Note whether a message that was admitted has been opened."""
        with self._lock:
            self._asked[tenant_id] -= 1
            self._asked = +self._asked
            if is_opened:
                self._turns[tenant_id] += 1

    def _full(self, tenant_id: UUID, at_most: int, priority: Priority) -> str | None:
        """Return the limit that is reached, in words; None if there is room."""
        share, of = (0.5, "half of ") if priority == "batch" else (1, "")
        if self._turns[tenant_id] + self._asked[tenant_id] >= at_most * share:
            return f"{of}the tenant's limit backlog ({at_most})"
        if self._turns.total() + self._asked.total() >= settings().backlog_limit * share:
            return f"{of}the limit of all tenants together"
        return None

    def _count(self) -> None:
        # Until the ledger answers, other requests use the old count instead of counting too.
        self._may_count_at = self._must_count_at = float("inf")
        began = time.monotonic()
        try:
            with transaction() as db:
                self._turns = Counter(backlog.count(db, settings().backlog_limit))
        finally:
            now = time.monotonic()
            again_s = max(_BELIEVED_WHEN_FULL_S, (now - began) * _TIMES_AS_LONG)
            self._may_count_at = now + min(again_s, _BELIEVED_S)
            self._must_count_at = max(began + _BELIEVED_S, now + _BELIEVED_WHEN_FULL_S)


def install(extensions: dict[str, object]) -> None:
    """Give an application its view of the backlog."""
    extensions[_EXTENSION] = Backlog()


@contextmanager
def asking(priority: Priority) -> Iterator[Asked]:
    """Ask whether the caller may open another turn, and note whether it did. The development key always may."""
    if caller().is_development:
        yield Asked()
        return
    with asking_for(caller().tenant_id, priority) as asked:
        yield asked


@contextmanager
def asking_for(tenant_id: UUID, priority: Priority) -> Iterator[Asked]:
    """Ask whether another turn of a tenant may be opened, and note whether it was."""
    of_all = cast("Backlog", current_app.extensions[_EXTENSION])
    asked = of_all.ask(tenant_id, priority)
    try:
        yield asked
    finally:
        if asked.may_open:
            of_all.settle(tenant_id, is_opened=asked.is_opened)
