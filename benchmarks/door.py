"""Measure whole turns over HTTP, by how clients learn of their end: by the event stream, by `?wait`, by polling.

Every turn calls a language-model endpoint: the offline model in its own process. Afterwards, with the workers at rest,
it measures how fast a message is accepted while a crowd waits and polls.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context

from benchmarks.clients import Client
from benchmarks.cpu_times import CpuMeter
from benchmarks.figures import Row, Spread, Table, at_least, at_most, percentile
from benchmarks.processes import running, stop
from benchmarks.progress import progress
from benchmarks.stack import refuse_failures, stack
from benchmarks.turn_waits import Refused, Way, accepted, by_stream, by_wait, polling
from turnloom.models.runtime.ids import new_id
from turnloom.workers.embedded.process import Process
from turnloom.workers.embedded.servers import free_port
from turnloom.workers.embedded.stack import Stack

_MESSAGE = {"message": "When is next weekend?", "agent": "generic"}
_POLL_S = 1.0
_NEW_CLIENTS_PER_S = 50
"""Clients arrive at this rate, so that they do not come all at once."""
_PATIENCE_S = 600.0
_POST_EVERY_S = 0.05
_WITHIN = 0.9
_SLOWER = 2.0


@dataclass
class _Round:
    ended_at: list[float] = field(default_factory=list)
    latencies_s: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    web_cpu_s: float = 0.0
    told_to_come_again: int = 0

    @property
    def per_s(self) -> float:
        """Turns per second in the middle of the round, when no clients come or leave."""
        began, ended = (percentile(self.ended_at, share) for share in (0.1, 0.9))
        return 0.8 * len(self.ended_at) / (ended - began)


_WAYS: dict[str, Way] = {"stream": by_stream, "wait": by_wait, "poll": polling(_POLL_S)}


def run(_: Stack, short: bool) -> Table:
    """Measure the ways alternately, with few clients and with many."""
    turns_each = {64: 3, 150: 1} if short else {64: 10, 1000: 1}
    rounds = 1 if short else 2
    crowd, seconds = (100, 4.0) if short else (1000, 20.0)
    with _asking_stack() as ours:
        _turns(ours, "stream", 16, 2)
        found: dict[tuple[int, str], list[_Round]] = {(size, way): [] for size in turns_each for way in _WAYS}
        for number in range(rounds):
            for (size, way), measured in found.items():
                measured.append(_turns(ours, way, size, turns_each[size]))
                progress(f"door {number + 1} of {rounds}: {size} by {way}: {measured[-1].per_s:.1f} turns/s")
        refuse_failures(ours)
        webs = _webs(ours)
        stop(process for process in ours.processes.values() if process not in webs)
        alone, beside = _beside_a_crowd(ours, crowd, seconds)
    ratios = {key: _ratios(found[key], found[key[0], "stream"]) for key in found}
    errors = [error for measured in found.values() for each in measured for error in each.errors]
    return Table(
        f"door: turns through HTTP, with a model's endpoint; who polls does so every {_POLL_S:.0f} s",
        [_row(*key, measured, ratios[key]) for key, measured in found.items()],
        note=errors[0] if errors else "",
        targets=[
            at_most(0, "errors", Spread.of([len(errors)])),
            *(
                at_least(_WITHIN, f"turns/s, {size} clients: {way} ÷ stream", ratio)
                for (size, way), ratio in ratios.items()
                if way != "stream"
            ),
            *_targets(crowd, alone, beside),
        ],
    )


def _ratios(measured: Sequence[_Round], streamed: Sequence[_Round]) -> Spread:
    return Spread.of([own.per_s / its.per_s for own, its in zip(measured, streamed, strict=True)])


def _row(size: int, way: str, rounds: Sequence[_Round], ratio: Spread) -> Row:
    return {
        "clients": size,
        "by": way,
        "turns/s ÷ stream": ratio,
        "turns/s": Spread.of([each.per_s for each in rounds]),
        "turn p50, s": Spread.of([percentile(each.latencies_s, 0.5) for each in rounds]),
        "turn p95, s": Spread.of([percentile(each.latencies_s, 0.95) for each in rounds]),
        "web CPU ms/turn": Spread.of([each.web_cpu_s * 1000 / len(each.latencies_s) for each in rounds]),
        "told to come again": sum(each.told_to_come_again for each in rounds),
        "errors": sum(len(each.errors) for each in rounds),
    }


def _targets(crowd: int, alone: Sequence[float], beside: Sequence[float]) -> Iterator[Row]:
    for share in (0.5, 0.99):
        what = f"POST p{share * 100:.0f} beside {crowd} who wait and {crowd} who poll ÷ alone"
        yield at_most(_SLOWER, what, Spread.of([percentile(beside, share) / percentile(alone, share)]))


@contextmanager
def _asking_stack() -> Iterator[Stack]:
    port = free_port()
    model = [sys.executable, "-m", "turnloom.workers.cli", "offline-llm", "--port", str(port)]
    with (
        stack({"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "none"}) as ours,
        running(ours, {"offline-llm": model}, {}),
    ):
        yield ours


def _webs(of: Stack) -> list[Process]:
    return [process for name, process in of.processes.items() if name.startswith("web")]


def _turns(of: Stack, way: str, clients: int, each: int) -> _Round:
    """Run `clients` clients that take `each` turns one after the other."""
    measured, meter = _Round(), CpuMeter({"web": _webs(of)})

    async def take_turns() -> None:
        async with asyncio.timeout(_PATIENCE_S):
            await asyncio.gather(*(_turns_of_one(of, _WAYS[way], number, each, measured) for number in range(clients)))

    asyncio.run(take_turns())
    measured.web_cpu_s = meter.used_s()["web"]
    if not measured.ended_at:
        raise RuntimeError(f"no turn succeeded: {measured.errors[0]}")
    return measured


async def _turns_of_one(of: Stack, way: Way, number: int, turns: int, into: _Round) -> None:
    await asyncio.sleep(number / _NEW_CLIENTS_PER_S)
    with closing(Client(of.url, of.dev_key)) as client:
        for _ in range(turns):
            asked_at = time.perf_counter()
            try:
                await way(client, {**_MESSAGE, "message_id": str(new_id())})
            except (Refused, OSError, EOFError) as error:
                into.errors.append(f"{type(error).__name__}: {error}"[:300])
                client.close()
                continue
            into.ended_at.append(time.perf_counter())
            into.latencies_s.append(into.ended_at[-1] - asked_at)
        into.told_to_come_again += client.told_to_come_again


def _beside_a_crowd(of: Stack, crowd: int, seconds: float) -> tuple[list[float], list[float]]:
    """Return the times until messages were accepted, alone and beside two crowds, one that waits and one that polls."""
    connect = partial(Client, of.url, of.dev_key)
    asyncio.run(_posts(connect, 1.0))
    alone = asyncio.run(_posts(connect, seconds))
    # The crowd has its own process, so that its clients do not delay the client that is measured.
    with ProcessPoolExecutor(1, get_context("spawn")) as apart:
        apart.submit(_crowd, connect, 0, 0.0).result()
        progress("door: a crowd comes")
        coming_s = 2 * crowd / _NEW_CLIENTS_PER_S + _POLL_S
        left = apart.submit(_crowd, connect, crowd, coming_s + seconds)
        time.sleep(coming_s)
        beside = asyncio.run(_posts(connect, seconds))
        # A refused message or a broken connection makes the crowd smaller than planned.
        progress(f"door: {left.result()} of the crowd had left")
    return alone, beside


def _crowd(connect: Callable[[], Client], crowd: int, seconds: float) -> int:
    """Let one crowd wait and another poll for `seconds`. Return how many clients left early."""
    return asyncio.run(_stay(connect, [_WAYS["wait"], _WAYS["poll"]] * crowd, seconds))


async def _stay(connect: Callable[[], Client], ways: Sequence[Way], seconds: float) -> int:
    tasks = [asyncio.create_task(_one_of_the_crowd(connect, way, number)) for number, way in enumerate(ways)]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    return sum(isinstance(each, Refused | OSError | EOFError) for each in ended)


async def _one_of_the_crowd(connect: Callable[[], Client], way: Way, number: int) -> None:
    await asyncio.sleep(number / _NEW_CLIENTS_PER_S)
    with closing(connect()) as client:
        await way(client, {**_MESSAGE, "message_id": str(new_id())})


async def _posts(connect: Callable[[], Client], seconds: float) -> list[float]:
    """Post a message now and then, and return the times until each was accepted."""
    took_s = []
    end = time.perf_counter() + seconds
    with closing(connect()) as client:
        while (began := time.perf_counter()) < end:
            await accepted(client, _MESSAGE)
            took_s.append(time.perf_counter() - began)
            await asyncio.sleep(_POST_EVERY_S)
    return took_s
