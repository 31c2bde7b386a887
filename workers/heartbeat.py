"""Heartbeat: every two seconds each process renews the leases of what it works on, and each worker says it is there.

A lease lasts three beats. A process that dies renews nothing, so that recovery finds its work within seconds, however
long a tool may take; a tool that runs for minutes keeps its lease as long as its process lives.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from celery.signals import worker_process_init, worker_ready, worker_shutdown

from models.database import statement, transaction
from models.errors import Unavailable
from models.ledger import workers
from models.ledger.recovery import LEASE_MS, renew_leases
from models.logging import log
from workers import isolation

INTERVAL_S = 2.0


class Leases:
    """What this process holds: steps, and turns that it plans or answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: set[tuple[UUID, str, int]] = set()
        self._turns: set[tuple[UUID, int]] = set()

    def hold_step(self, turn_id: UUID, step_id: str, attempt: int) -> None:
        """Keep the lease of a claimed step from now on."""
        with self._lock:
            self._steps.add((turn_id, step_id, attempt))

    def release_step(self, turn_id: UUID, step_id: str, attempt: int) -> None:
        """Let go of a step: it is recorded, or given up."""
        with self._lock:
            self._steps.discard((turn_id, step_id, attempt))

    @contextmanager
    def holding_turn(self, turn_id: UUID, attempt: int) -> Iterator[None]:
        """Keep the lease of a turn while the block plans or answers it."""
        with self._lock:
            self._turns.add((turn_id, attempt))
        try:
            yield
        finally:
            with self._lock:
                self._turns.discard((turn_id, attempt))

    def renew(self) -> None:
        """Renew everything held."""
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
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Beat once, now, and go on in the background."""
        self._beat()
        self._thread.start()

    def stop(self) -> None:
        """Say goodbye, if Postgres listens."""
        self._stopping.set()
        self._thread.join()
        try:
            with transaction() as db:
                workers.forget(db, str(self._name))
        except Unavailable as error:
            log.warning("worker.not_forgotten", worker=self._name, error=error.code)

    def _run(self) -> None:
        while not self._stopping.wait(INTERVAL_S):
            self._beat()

    def _beat(self) -> None:
        try:
            leases.renew()
            if self._name is not None:
                with transaction() as db:
                    workers.beat(db, self._name, self._queues, self._slots)
                isolation.renew_leases()
        except Unavailable as error:
            log.warning("heartbeat.missed", worker=self._name, error=error.code)
        except Exception:  # noqa: BLE001 - whatever it was, the next beat must come
            log.exception("heartbeat.failed", worker=self._name)


_hearts: list[Heartbeat] = []


@worker_ready.connect
def _start(sender: Any, **_: Any) -> None:
    queues = list(sender.app.amqp.queues.consume_from)
    heartbeat = Heartbeat(sender.hostname, queues, sender.controller.concurrency)
    _hearts.append(heartbeat)
    heartbeat.start()


@worker_process_init.connect
def _start_in_child(**_: Any) -> None:
    Heartbeat(None, [], 0).start()


@worker_shutdown.connect
def _stop(**_: Any) -> None:
    while _hearts:
        _hearts.pop().stop()
