"""Metrics: what all processes count together, and what each of the names means.

A process counts in memory, and every two seconds adds what is new to one hash in Redis; a process that is killed takes
up to two seconds of counts with it. Redis may lose the hash: whoever reads counters expects them to begin anew.
"""

import os
import threading
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, cast

import orjson
from redis import RedisError

from models.errors import Unavailable
from models.redis import redis

_KEY = "turnloom:metrics"


@dataclass(frozen=True, slots=True)
class Metric:
    """What a name stands for."""

    kind: Literal["counter", "histogram", "gauge"]
    help: str
    labels: tuple[str, ...]


COUNTED = {
    "turnloom_tool_calls_total": Metric(
        "counter",
        "Calls of a tool that have ended, by how: `succeeded`, `needs_input`, `failed`, `unknown`, `cancelled`.",
        ("tool", "status"),
    ),
    "turnloom_tool_errors_total": Metric("counter", "Calls that ended in an error, by its code.", ("tool", "code")),
    "turnloom_tool_missing_fields_total": Metric(
        "counter",
        "Fields that a call had to ask the user for; `undeclared` where the tool does not declare them.",
        ("tool", "field"),
    ),
    "turnloom_tool_retries_total": Metric(
        "counter", "Further tries within calls, by the error that led to them.", ("tool", "code")
    ),
    "turnloom_tool_cached_total": Metric(
        "counter",
        "Calls that a result already known has answered: `memory` that of the conversation, `shared` the tenant's.",
        ("tool", "cache"),
    ),
    "turnloom_tool_duration_seconds": Metric(
        "histogram", "Time of calls that were made, tries and pauses included.", ("tool",)
    ),
}
"""What processes count: name -> its meaning."""

OBSERVED = {
    "turnloom_circuits_open": Metric(
        "gauge", "Open circuits, by outside service; `account` for those of users' accounts.", ("integration",)
    ),
    "turnloom_queue_messages": Metric("gauge", "Messages that wait in a queue.", ("queue",)),
    "turnloom_worker_slots": Metric("gauge", "Tasks that the living workers of a queue run at a time.", ("queue",)),
    "turnloom_turns": Metric("gauge", "Turns that are not final, by status; those that wait for a person excepted.",
                             ("status",)),
}  # fmt: skip
"""What is looked at whenever somebody asks: name -> its meaning."""

BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of a histogram's buckets; one more holds the rest."""

Series = tuple[str, ...]
"""A metric's name and the values of its labels. Of a histogram, further the bucket's place, or `sum`."""


class Counts:
    """What this process has counted and not handed on yet. For any number of threads."""

    def __init__(self) -> None:
        # Appending needs no lock and is all that a call pays for; who hands on adds up.
        self._fresh: deque[tuple[Series, float]] = deque()
        self._left: Counter[Series] = Counter()
        self._handing_on = threading.Lock()

    def add(self, *series: str) -> None:
        """Count one more of a series."""
        self._fresh.append((series, 1))

    def observe(self, seconds: float, *series: str) -> None:
        """Put a duration into a histogram."""
        self._fresh.append(((*series, str(bisect_left(BUCKETS_S, seconds))), 1))
        self._fresh.append(((*series, "sum"), seconds))

    def hand_on(self) -> None:
        """Add what is new to what all processes have counted; keep it for the next time where Redis is out."""
        with self._handing_on:
            for _ in range(len(self._fresh)):
                series, amount = self._fresh.popleft()
                self._left[series] += amount  # type: ignore[assignment]  # a Counter adds up any numbers
            if not self._left:
                return
            try:
                with redis().pipeline(transaction=False) as pipe:
                    for series, amount in self._left.items():
                        pipe.hincrbyfloat(_KEY, orjson.dumps(series).decode(), amount)
                    pipe.execute()
            except RedisError:
                return
            self._left.clear()


@lru_cache
def counts() -> Counts:
    """Return this process's counts. A forked process has its own."""
    return Counts()


os.register_at_fork(after_in_child=counts.cache_clear)


def read_counts() -> Mapping[Series, float]:
    """Return what all processes have counted.

    Raises:
        Unavailable: Redis does not answer.
    """
    try:
        stored = cast("dict[bytes, bytes]", redis().hgetall(_KEY))
    except RedisError as error:
        raise Unavailable(f"Redis does not answer: {error}", code="redis_unavailable") from error
    return {tuple(orjson.loads(series)): float(amount) for series, amount in stored.items()}
