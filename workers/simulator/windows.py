"""The times in which free messages may be sent to a person. Some close before the answer, and open with a message."""

import random
import threading
from dataclasses import dataclass, field


@dataclass
class ServiceWindows:
    """The windows of all people. Threads share them."""

    closing: float
    """The share of free messages that find the window closed."""
    chance: random.Random
    refused: int = 0
    """Free messages that found it closed."""
    _closed: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, recipient: str) -> None:
        """Open the window of a person who has written."""
        with self._lock:
            self._closed.discard(recipient)

    def refuse(self, recipient: str) -> bool:
        """Return whether a free message to a person comes too late. The window then stays closed."""
        with self._lock:
            if recipient not in self._closed and self.chance.random() >= self.closing:
                return False
            self._closed.add(recipient)
            self.refused += 1
            return True
