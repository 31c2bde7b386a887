"""Group commit: threads share commits. Items that arrive during one commit go together in the next.

A thread that comes alone commits at once. There is no thread of our own to wait for: the first waiting thread commits
for all.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from turnloom.models.connections.database import Statement, statement
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.logging import log

Item = TypeVar("Item")
Result = TypeVar("Result")

AT_MOST = 16
"""Items in a commit. More would save little, and the first item waits for the last."""


@dataclass(eq=False, slots=True)
class _Asked(Generic[Item, Result]):
    item: Item
    called: threading.Event = field(default_factory=threading.Event)
    leads: bool = False
    """Whether this thread commits for all that wait."""
    result: Result | None = None
    error: Unavailable | None = None


class GroupCommit(Generic[Item, Result]):
    """The group commit of one kind of item. A forked process needs its own."""

    def __init__(
        self,
        name: str,
        together: Callable[[Statement, Sequence[Item]], Sequence[Result | None]],
    ) -> None:
        """`together`: one statement that never waits for a lock; its result for an item may be None."""
        self._name = name
        self._together = together
        self._lock = threading.Lock()
        self._waiting: deque[_Asked[Item, Result]] = deque()
        self._is_led = False

    def commit(self, item: Item) -> Result | None:
        """Commit an item, together with those of other threads. None: the caller must commit it by itself.

        Raises:
            Unavailable: Postgres does not answer, and the item may have been committed.
        """
        asked: _Asked[Item, Result] = _Asked(item)
        with self._lock:
            self._waiting.append(asked)
            asked.leads, self._is_led = not self._is_led, True
        if not asked.leads:
            asked.called.wait()
        if asked.leads:
            self._lead()
        if asked.error is not None:
            raise Unavailable(str(asked.error), code=asked.error.code)
        return asked.result

    def _lead(self) -> None:
        """Commit the waiting items, then let the first thread that came meanwhile lead."""
        with self._lock:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), AT_MOST))]
        try:
            self._commit(batch)
        finally:
            with self._lock:
                self._is_led = bool(self._waiting)
                if self._waiting:
                    self._waiting[0].leads = True
                    self._waiting[0].called.set()
            for asked in batch:
                asked.called.set()

    def _commit(self, batch: Sequence[_Asked[Item, Result]]) -> None:
        try:
            with statement() as db:
                results = self._together(db, [asked.item for asked in batch])
        except Unavailable as error:
            for asked in batch:
                asked.error = error
        except Exception as error:  # noqa: BLE001 - one item caused it; committed alone, each meets its own
            log.warning("commit.not_shared", commit=self._name, items=len(batch), error=type(error).__name__)
        else:
            for asked, result in zip(batch, results, strict=True):
                asked.result = result
