"""Slots for the language model: how many turns a process plans or answers with it at a time, in all and of one tenant.

There are fewer of them than the process has threads, so that a language model that hangs leaves some for turns that
need none, and one tenant's leaves some for the others. A turn that finds no slot waits in memory and holds no thread;
its message is sent again when a slot is given back. Should the process end meanwhile, recovery sends it.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from models.settings import settings


class _Waiting(NamedTuple):
    """A turn that waits for a slot."""

    tenant_id: UUID
    send: Callable[[], None]
    held: ExitStack
    """What is held while it waits."""


class LlmSlots:
    """The slots of one process, and the turns that wait for one, in order."""

    def __init__(self, total: int, per_tenant: int) -> None:
        self._total = total
        self._per_tenant = per_tenant
        self._lock = threading.Lock()
        self._taken: Counter[UUID] = Counter()
        self._waiting: dict[UUID, _Waiting] = {}

    @contextmanager
    def slot(
        self,
        tenant_id: UUID,
        turn_id: UUID,
        send: Callable[[], None] | None,
        meanwhile: AbstractContextManager[None] | None = None,
    ) -> Iterator[bool]:
        """Have a slot while the block runs. False: there is none, and `send` is called when there is.

        `meanwhile` is entered while the turn waits. Without `send` it does not wait.
        """
        with self._lock:
            is_free = self._is_free(tenant_id)
            if is_free:
                self._taken[tenant_id] += 1
            elif send is not None:
                self._wait(turn_id, _Waiting(tenant_id, send, ExitStack()), meanwhile or nullcontext())
        try:
            yield is_free
        finally:
            if is_free:
                self._give_back(tenant_id)

    def _is_free(self, tenant_id: UUID) -> bool:
        return self._taken.total() < self._total and self._taken[tenant_id] < self._per_tenant

    def _wait(self, turn_id: UUID, waiting: _Waiting, meanwhile: AbstractContextManager[None]) -> None:
        if known := self._waiting.get(turn_id):
            known.held.close()
        waiting.held.enter_context(meanwhile)
        self._waiting[turn_id] = waiting

    def _give_back(self, tenant_id: UUID) -> None:
        with self._lock:
            self._taken[tenant_id] -= 1
            following = [self._waiting.pop(turn_id) for turn_id in self._that_fit()]
        for each in following:
            each.held.close()
            each.send()

    def _that_fit(self) -> list[UUID]:
        """Return the turns that there are slots for, whoever takes their messages."""
        taken = Counter(self._taken)
        fitting = []
        for turn_id, each in self._waiting.items():
            if taken.total() < self._total and taken[each.tenant_id] < self._per_tenant:
                taken[each.tenant_id] += 1
                fitting.append(turn_id)
        return fitting


@lru_cache
def llm_slots() -> LlmSlots:
    """Return the slots of this process."""
    return LlmSlots(settings().llm_slots, settings().tenant_llm_slots)
