"""Messages of tasks come twice, as a broker may deliver them: what is sent is heard, and some of it is sent again."""

import threading
import time
from fnmatch import fnmatchcase

from turnloom.models.connections.redis_monitor import RedisMonitor, monitored
from turnloom.models.contracts.fault_file import Duplicate, FaultFile, drawn
from turnloom.models.runtime.logging import log
from turnloom.workers.broker.queues import QUEUES

_WITHIN_MS = 500
_LOOK_S = 0.05
"""The longest time without a look at the copies to send."""


class RepeatedMessages:
    """Copies of messages, each sent a moment after the first."""

    def __init__(self, file: FaultFile, redis_url: str, stopping: threading.Event) -> None:
        self._faults = {place: fault for place, fault in enumerate(file.duplicates) if fault.queue}
        self._seed = file.seed
        self._redis_url = redis_url
        self._stopping = stopping
        self._numbers = dict.fromkeys(self._faults, 0)
        self._waiting: list[tuple[float, str, bytes]] = []
        self._sent: set[bytes] = set()
        """Copies that have been sent and not been heard yet."""

    def listen(self) -> None:
        """Hear what is sent, and send copies, until it is to stop.

        Raises:
            Unavailable: Redis does not answer; listen again.
        """
        with monitored(self._redis_url) as monitor:
            while not self._stopping.is_set():
                name, *words = monitor.next_command(_LOOK_S) or [b""]
                if name.upper() == b"LPUSH" and (queue := words[0].decode("utf-8", "replace")) in QUEUES:
                    for message in words[1:]:
                        self._hear(queue, message)
                self._send_due(monitor)

    def _hear(self, queue: str, message: bytes) -> None:
        if message in self._sent:
            self._sent.remove(message)
            return
        places = [place for place, fault in self._faults.items() if fnmatchcase(queue, str(fault.queue))]
        # Each of them counts the message, whatever the others say.
        pauses = [pause_s for place in places if (pause_s := self._strike(place)) is not None]
        if pauses:
            self._waiting.append((time.monotonic() + pauses[0], queue, message))

    def _strike(self, place: int) -> float | None:
        """Count a message, and return when its copy comes, in seconds; None if the fault does not strike it."""
        fault = self._faults[place]
        self._numbers[place] += 1
        name = f"duplicates-{place}|{self._numbers[place]}"
        return self._pause_s(fault, name) if fault.strikes(name, self._numbers[place], self._seed) else None

    def _pause_s(self, fault: Duplicate, name: str) -> float:
        within_ms = _WITHIN_MS if fault.within_ms is None else fault.within_ms
        return within_ms / 1000 * drawn(f"{self._seed if fault.seed is None else fault.seed}|{name}|pause")

    def _send_due(self, monitor: RedisMonitor) -> None:
        now = time.monotonic()
        for copy in [copy for copy in self._waiting if copy[0] <= now]:
            _, queue, message = copy
            monitor.push(queue, message)
            self._waiting.remove(copy)
            self._sent.add(message)
            log.warning("message.repeated", queue=queue)
