"""The line protocol of the drivers: an order on stdin, the time of each of its turns on stdout, until stdin ends.

The standard library only: a driver of another system runs in an environment without ours.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from graphlib import TopologicalSorter

READY = "ready"
"""A driver's first line."""
Needs = Mapping[str, Sequence[str]]
"""The plan of a turn: for each step the steps that it needs."""


@dataclass(frozen=True)
class Order:
    """What a driver is asked for."""

    needs: Needs
    turns: int
    at_once: int


@dataclass(frozen=True)
class Report:
    """What it took."""

    latencies_s: Sequence[float]
    """Of each turn, from the call to its known end."""
    elapsed_s: float


async def serve(drive: Callable[[Order], Awaitable[Sequence[float]]]) -> None:
    """Carry out orders; `drive` returns the seconds that each turn took."""
    print(READY, flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        began = time.perf_counter()
        latencies_s = await drive(Order(**json.loads(line)))
        print(json.dumps(asdict(Report(latencies_s, time.perf_counter() - began))), flush=True)


async def side_by_side(order: Order, turn: Callable[[int], Awaitable[object]]) -> list[float]:
    """Have the turns done by as many coroutines as turns are wanted at once; `turn` is told which of them calls it."""
    left = iter(range(order.turns))
    latencies_s: list[float] = []

    async def one_after_another(place: int) -> None:
        for _ in left:
            began = time.perf_counter()
            await turn(place)
            latencies_s.append(time.perf_counter() - began)

    await asyncio.gather(*(one_after_another(place) for place in range(order.at_once)))
    return latencies_s


def one_by_one(order: Order, begin: Callable[[], str], ended: Iterator[str | None]) -> list[float]:
    """Begin turns that others do, so that as many as wanted are under way; `ended` yields those that are done.

    Where it yields None, those under way are lost and are begun anew: the time until then counts.
    """
    began_at: dict[str, float] = {}
    latencies_s: list[float] = []
    to_begin = order.turns
    while len(latencies_s) < order.turns:
        while to_begin and len(began_at) < order.at_once:
            moment = time.perf_counter()
            began_at[begin()] = moment
            to_begin -= 1
        done = next(ended)
        if done is None:
            print(f"{len(began_at)} turns were lost and are begun anew", file=sys.stderr, flush=True)
            began_at = {begin(): moment for moment in began_at.values()}
        elif moment := began_at.pop(done, 0.0):
            latencies_s.append(time.perf_counter() - moment)
    return latencies_s


def waves(needs: Needs) -> list[list[str]]:
    """Return the steps wave by wave: each wave needs only those before it."""
    order = TopologicalSorter(needs)
    order.prepare()
    found = []
    while order.is_active():
        wave = sorted(order.get_ready())
        order.done(*wave)
        found.append(wave)
    return found
