"""Heartbeat: each worker process says every two seconds that it is there."""

import threading
from typing import Any

from celery.signals import worker_ready, worker_shutdown
from celery.worker.consumer import Consumer

from models.database import transaction
from models.errors import Unavailable
from models.ledger import workers
from models.logging import log

INTERVAL_S = 2.0


class Heartbeat:
    """A thread that beats until it is stopped, and then takes the worker off the list."""

    def __init__(self, name: str, queues: list[str]) -> None:
        self._name = name
        self._queues = queues
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
                workers.forget(db, self._name)
        except Unavailable as error:
            log.warning("worker.not_forgotten", worker=self._name, error=error.code)

    def _run(self) -> None:
        while not self._stopping.wait(INTERVAL_S):
            self._beat()

    def _beat(self) -> None:
        try:
            with transaction() as db:
                workers.beat(db, self._name, self._queues)
        except Unavailable as error:
            log.warning("heartbeat.missed", worker=self._name, error=error.code)


_hearts: list[Heartbeat] = []


@worker_ready.connect
def _start(sender: Consumer, **_: Any) -> None:
    heartbeat = Heartbeat(sender.hostname, list(sender.app.amqp.queues.consume_from))
    _hearts.append(heartbeat)
    heartbeat.start()


@worker_shutdown.connect
def _stop(**_: Any) -> None:
    while _hearts:
        _hearts.pop().stop()
