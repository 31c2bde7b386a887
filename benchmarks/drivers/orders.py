"""Speak the drivers' line protocol: an order on stdin, the time of each of its turns on stdout, until stdin ends."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from benchmarks.waves import Needs

READY = "ready"
"""A driver's first line."""


@dataclass(frozen=True)
class Order:
    """The work that a driver is to do."""

    needs: Needs
    turns: int
    at_once: int


@dataclass(frozen=True)
class Report:
    """The times that an order took."""

    latencies_s: Sequence[float]
    """Seconds of each turn, from the call until its end is known."""
    elapsed_s: float


async def serve(drive: Callable[[Order], Awaitable[Sequence[float]]]) -> None:
    """Carry out orders; `drive` returns the seconds that each turn took."""
    print(READY, flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        began = time.perf_counter()
        latencies_s = await drive(Order(**json.loads(line)))
        print(json.dumps(asdict(Report(latencies_s, time.perf_counter() - began))), flush=True)


def one_by_one(order: Order, begin: Callable[[], str], ended: Iterator[str]) -> list[float]:
    """Begin turns so that the wanted number is always running. `ended` yields the turns that have ended."""
    began_at: dict[str, float] = {}
    latencies_s: list[float] = []
    to_begin = order.turns
    while len(latencies_s) < order.turns:
        while to_begin and len(began_at) < order.at_once:
            moment = time.perf_counter()
            began_at[begin()] = moment
            to_begin -= 1
        if moment := began_at.pop(next(ended), 0.0):
            latencies_s.append(time.perf_counter() - moment)
    return latencies_s
