"""The heartbeat renews the leases of a process every two seconds, and records that the worker lives.

A lease lasts three beats. A process that dies renews nothing, so recovery finds its work within seconds, however long a
tool may take. A tool that runs for minutes keeps its lease as long as its process lives.
"""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from celery import current_task
from celery.signals import worker_process_init, worker_ready, worker_shutdown

from turnloom.models.connections.database import statement
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import workers
from turnloom.models.ledger.recovery import LEASE_MS, renew_leases
from turnloom.models.ledger.steps import Holder
from turnloom.models.runtime.daemon import Daemon, note_failure
from turnloom.models.runtime.logging import log
from turnloom.workers.running import isolation
from turnloom.workers.upkeep import watchdog
from turnloom.workers.upkeep.liveness_file import LivenessFile

INTERVAL_S = 2.0
_LAST_BEAT_S = 10.0
"""Time for a beat in progress when the worker stops."""


def current_holder() -> Holder:
    """Return the holder that runs the current task: the worker's name and the process."""
    return Holder(f"{current_task.request.hostname}/{os.getpid()}", LEASE_MS)


class Leases:
    """The leases of this process: those of steps, and of turns that it plans or answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: set[tuple[UUID, str, int]] = set()
        self._turns: Counter[tuple[UUID, int]] = Counter()
        """The number of blocks that hold a turn: one may begin before the last has ended."""

    def hold_step(self, turn_id: UUID, step_id: str, attempt: int) -> None:
        """Keep the lease of a claimed step from now on."""
        with self._lock:
            self._steps.add((turn_id, step_id, attempt))

    def release_step(self, turn_id: UUID, step_id: str, attempt: int) -> None:
        """Release the lease of a step that is recorded, or given up."""
        with self._lock:
            self._steps.discard((turn_id, step_id, attempt))

    @contextmanager
    def holding_turn(self, turn_id: UUID, attempt: int) -> Iterator[None]:
        """Keep the lease of a turn while the block plans or answers it."""
        with self._lock:
            self._turns[turn_id, attempt] += 1
        try:
            yield
        finally:
            with self._lock:
                self._turns -= Counter([(turn_id, attempt)])

    def renew(self) -> None:
        """Renew all leases that are held."""
        with self._lock:
            steps, turns = list(self._steps), list(self._turns)
        if steps or turns:
            with statement() as db:
                renew_leases(db, steps, turns, LEASE_MS)


leases = Leases()


class Heartbeat:
    """A thread that beats until it is stopped, and then takes the worker off the list.

    `name` is None in a pool's child process, which renews leases and is on no list.
    """

    def __init__(self, name: str | None, queues: list[str], slots: int) -> None:
        self._name = name
        self._queues = queues
        self._slots = slots
        self._daemon = Daemon("heartbeat", self.beat, every_s=INTERVAL_S)

    def start(self) -> None:
        """Beat once, now, and go on in the background."""
        try:
            self.beat()
        except Exception as error:  # noqa: BLE001 - whatever it is, the next beat must come
            note_failure("heartbeat", error)
        self._daemon.start()

    def stop(self) -> None:
        """Stop beating, and take the worker off the list if Postgres answers."""
        self._daemon.stop(_LAST_BEAT_S)
        try:
            with statement() as db:
                workers.forget(db, str(self._name))
        except Unavailable as error:
            log.warning("worker.not_forgotten", worker=self._name, error=error.code)

    def beat(self) -> None:
        """Renew the leases of this process, and record that the worker lives."""
        leases.renew()
        if self._name is not None:
            with statement() as db:
                workers.beat(db, self._name, self._queues, self._slots)
            isolation.renew_leases()


_signs: list[Heartbeat | LivenessFile] = []
"""The signs of life of this worker."""


@worker_ready.connect
def _start(sender: Any, **_: Any) -> None:
    queues = list(sender.app.amqp.queues.consume_from)
    heartbeat = Heartbeat(sender.hostname, queues, sender.controller.concurrency)
    for sign in (LivenessFile("worker", sender.hostname), heartbeat):
        _signs.append(sign)
        sign.start()
    watchdog.start()


@worker_process_init.connect
def _start_in_child(**_: Any) -> None:
    Heartbeat(None, [], 0).start()


@worker_shutdown.connect
def _stop(**_: Any) -> None:
    while _signs:
        _signs.pop().stop()
