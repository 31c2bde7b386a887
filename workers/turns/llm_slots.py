"""Slots for the language model bound the turns that a process plans or answers with it, in all and per tenant.

There are fewer slots than threads, so that a hanging language model leaves threads for turns that need none. A tenant
gets fewer than all, so that its hanging model leaves slots for the others. A turn that finds no slot waits in memory
and holds no thread; its message is sent again when a slot becomes free. If the process ends meanwhile, recovery sends
it.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from turnloom.models.ledger.free_llm_slots import LlmRoom
from turnloom.models.runtime.settings import settings


class _Waiting(NamedTuple):
    """A turn that waits for a slot."""

    tenant_id: UUID
    send: Callable[[], None]
    held: ExitStack
    """The contexts that are held while it waits, such as its lease."""


class Claiming:
    """A turn in the middle of its claim: only the ledger's answer says whose it is, and whether it needs a slot."""

    def __init__(self, room: LlmRoom, end: Callable[[UUID | None], None], wait: Callable[[UUID], None]) -> None:
        self.room = room
        """The slots that it may take, whichever tenant it belongs to."""
        self._end = end
        self._wait = wait
        self._is_open = True

    def take(self, tenant_id: UUID | None) -> None:
        """Take a slot of this tenant for the turn; None: it needs none."""
        self._is_open = False
        self._end(tenant_id)

    def wait(self, tenant_id: UUID) -> None:
        """Let the turn wait for a slot of this tenant."""
        self._wait(tenant_id)

    def close(self) -> None:
        """Take no slot, unless `take` or `wait` was called before."""
        if self._is_open:
            self.take(None)


class LlmSlots:
    """The slots of one process, and the turns that wait for one, in order.

    A turn in the middle of its claim may belong to any tenant, so until that is known it counts against every one.
    """

    def __init__(self, total: int, per_tenant: int) -> None:
        self._total = total
        self._per_tenant = per_tenant
        self._lock = threading.Lock()
        self._taken: Counter[UUID] = Counter()
        self._claiming = 0
        self._waiting: dict[UUID, _Waiting] = {}

    @contextmanager
    def slot(
        self,
        tenant_id: UUID,
        turn_id: UUID,
        send: Callable[[], None] | None,
        meanwhile: AbstractContextManager[None] | None = None,
    ) -> Iterator[bool]:
        """Hold a slot while the block runs. False: none is free, and `send` is called when one is.

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

    @contextmanager
    def claiming(self, turn_id: UUID, send: Callable[[], None]) -> Iterator[Claiming]:
        """Hold the slot that a turn takes when it is claimed, while the block runs. `send` is as in `slot`."""
        taken: list[UUID] = []

        def end(tenant_id: UUID | None) -> None:
            with self._lock:
                self._claiming -= 1
                if tenant_id is not None:
                    self._taken[tenant_id] += 1
                    taken.append(tenant_id)
            self._send_waiting()

        def wait(tenant_id: UUID) -> None:
            with self._lock:
                self._wait(turn_id, _Waiting(tenant_id, send, ExitStack()), nullcontext())

        with self._lock:
            crowded = tuple(each for each in self._taken if not self._is_free(each))
            room = LlmRoom(self._has_room(self._taken), crowded)
            self._claiming += 1
        claiming = Claiming(room, end, wait)
        try:
            yield claiming
        finally:
            claiming.close()
            for tenant_id in taken:
                self._give_back(tenant_id)

    def _is_free(self, tenant_id: UUID) -> bool:
        return self._fits(tenant_id, self._taken)

    def _fits(self, tenant_id: UUID, taken: Counter[UUID]) -> bool:
        return self._has_room(taken) and taken[tenant_id] + self._claiming < self._per_tenant

    def _has_room(self, taken: Counter[UUID]) -> bool:
        """Return whether a tenant without slots may take one."""
        return taken.total() + self._claiming < self._total and self._claiming < self._per_tenant

    def _wait(self, turn_id: UUID, waiting: _Waiting, meanwhile: AbstractContextManager[None]) -> None:
        if known := self._waiting.get(turn_id):
            known.held.close()
        waiting.held.enter_context(meanwhile)
        self._waiting[turn_id] = waiting

    def _give_back(self, tenant_id: UUID) -> None:
        with self._lock:
            self._taken -= Counter([tenant_id])
        self._send_waiting()

    def _send_waiting(self) -> None:
        with self._lock:
            following = [self._waiting.pop(turn_id) for turn_id in self._that_fit()]
        for each in following:
            each.held.close()
            each.send()

    def _that_fit(self) -> list[UUID]:
        """Return the waiting turns for which there are slots, whichever process takes their messages."""
        taken = Counter(self._taken)
        fitting = []
        for turn_id, each in self._waiting.items():
            if self._fits(each.tenant_id, taken):
                taken[each.tenant_id] += 1
                fitting.append(turn_id)
        return fitting


@lru_cache
def llm_slots() -> LlmSlots:
    """Return the slots of this process."""
    return LlmSlots(settings().llm_slots, settings().tenant_llm_slots)
