"""Refuse new messages while too many turns are in work, so that no accepted turn ever has to be dropped.

Counting the backlog with each message would cost more than recording the message. So a process counts once a second. To
that count it adds the turns that it has opened since, and the messages that it is still opening. It counts sooner only
before it would refuse a message. Several processes together may therefore exceed a limit by what they accept between
two counts.
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
from turnloom.models.ledger import backlog
from turnloom.models.runtime.settings import settings
from turnloom.web.auth import caller

RETRY_AFTER_S = 5.0
_BELIEVED_S = 1.0
_BELIEVED_WHEN_FULL_S = 0.1
_TIMES_AS_LONG = 10
"""A count that leads to a refusal is trusted for this many times its own duration, within the two bounds above."""
_EXTENSION = "turnloom.backlog"


@dataclass
class Asked:
    """A message that is about to be opened as a turn."""

    may_open: bool
    is_opened: bool = False


class Backlog:
    """The turns in work: the last count, those opened since, and the messages that are being opened."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._may_count_at = float("-inf")
        self._must_count_at = float("-inf")
        self._turns: Counter[UUID] = Counter()
        self._asked: Counter[UUID] = Counter()

    def admits(self, tenant_id: UUID) -> bool:
        """Return whether another turn of this tenant may be opened. If so, the caller must call `settle` later."""
        now = time.monotonic()
        if now >= self._must_count_at or (now >= self._may_count_at and self._is_full(tenant_id)):
            self._count()
        with self._lock:
            if self._is_full(tenant_id):
                return False
            self._asked[tenant_id] += 1
            return True

    def settle(self, tenant_id: UUID, *, is_opened: bool) -> None:
        """Note whether a message that was admitted has been opened."""
        with self._lock:
            self._asked[tenant_id] -= 1
            self._asked = +self._asked
            if is_opened:
                self._turns[tenant_id] += 1

    def _is_full(self, tenant_id: UUID) -> bool:
        limits = settings()
        own, total = self._turns[tenant_id] + self._asked[tenant_id], self._turns.total() + self._asked.total()
        return own >= limits.tenant_backlog_limit or total >= limits.backlog_limit

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
def asking() -> Iterator[Asked]:
    """Ask whether the caller may open another turn, and note whether it did. The development key always may."""
    if caller().is_development:
        yield Asked(may_open=True)
        return
    with asking_for(caller().tenant_id) as asked:
        yield asked


@contextmanager
def asking_for(tenant_id: UUID) -> Iterator[Asked]:
    """Ask whether another turn of a tenant may be opened, and note whether it was."""
    of_all = cast("Backlog", current_app.extensions[_EXTENSION])
    asked = Asked(of_all.admits(tenant_id))
    try:
        yield asked
    finally:
        if asked.may_open:
            of_all.settle(tenant_id, is_opened=asked.is_opened)
