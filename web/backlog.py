"""Back-pressure: load is shed here, at the door, so that nothing need be dropped inside.

Counting the backlog with each message would cost more than recording the message. So a process counts once a second
and adds what it lets in meanwhile; only when it would refuse somebody does it count again sooner. Several processes may
therefore pass a limit together, by what they let in between two counts. A long backlog takes long to count; then the
count is believed for longer.
"""

import time
from collections import Counter
from typing import cast
from uuid import UUID

from flask import current_app

from models.database import transaction
from models.ledger import backlog
from models.settings import settings
from web.auth import caller

RETRY_AFTER_S = 5.0
_BELIEVED_S = 1.0
_BELIEVED_WHEN_FULL_S = 0.1
_TIMES_AS_LONG = 20
_BELIEVED_AT_MOST_S = 10.0
_EXTENSION = "turnloom.backlog"


class Backlog:
    """The turns in work, as last counted, and those let in since."""

    def __init__(self) -> None:
        self._may_count_at = float("-inf")
        self._must_count_at = float("-inf")
        self._turns: Counter[UUID] = Counter()
        self._total = 0

    def admits(self, tenant_id: UUID) -> bool:
        """Tell whether another turn of this tenant may be opened; if so, count it."""
        now = time.monotonic()
        if now >= self._must_count_at or (now >= self._may_count_at and self._is_full(tenant_id)):
            self._count()
        if self._is_full(tenant_id):
            return False
        self._turns[tenant_id] += 1
        self._total += 1
        return True

    def _is_full(self, tenant_id: UUID) -> bool:
        limits = settings()
        return self._turns[tenant_id] >= limits.tenant_backlog_limit or self._total >= limits.backlog_limit

    def _count(self) -> None:
        # Until the ledger has answered, others go by the old count instead of asking too.
        self._may_count_at = self._must_count_at = float("inf")
        began, took_s = time.monotonic(), 0.0
        try:
            with transaction() as db:
                self._turns = Counter(backlog.count(db, settings().backlog_limit))
            self._total = self._turns.total()
            took_s = time.monotonic() - began
        finally:
            at_least_s = min(took_s * _TIMES_AS_LONG, _BELIEVED_AT_MOST_S)
            self._may_count_at = time.monotonic() + max(_BELIEVED_WHEN_FULL_S, at_least_s)
            self._must_count_at = time.monotonic() + max(_BELIEVED_S, at_least_s)


def install(extensions: dict[str, object]) -> None:
    """Give an application its view of the backlog."""
    extensions[_EXTENSION] = Backlog()


def may_open() -> bool:
    """Tell whether the caller may open another turn. The development key always may."""
    if caller().is_development:
        return True
    return cast("Backlog", current_app.extensions[_EXTENSION]).admits(caller().tenant_id)
