"""Measure turns beside many open streams, with a model and tools that take as long as real ones.

Each user takes a turn every half minute. A user also follows another turn all the time, one that waits for an
approval, so each has a stream open even while nothing happens. A stack of its own has two planners, three workers
for tools, and a language model that takes 300 ms for each of a turn's two calls.
"""

import asyncio
import random
import string
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import orjson

from benchmarks.clients import Client
from benchmarks.contenders import OURS_ON_PATH, wait_for_server
from benchmarks.cpu_times import CpuMeter, stack_groups
from benchmarks.fairness import another_stack
from benchmarks.figures import Row, Spread, Table, at_most, percentile
from benchmarks.memory import used_mb
from benchmarks.processes import running
from benchmarks.progress import progress
from benchmarks.shapes import Shape
from benchmarks.turn_waits import Refused, accepted, by_stream
from turnloom.models.runtime.ids import new_id
from turnloom.workers.embedded.servers import free_port
from turnloom.workers.embedded.stack import Stack

_EVERY_S = 30.0
_MODEL_S = 0.3
_TOOLS = Shape({"a": [], "b": [], "c": ["a"]}, {"a": 50, "b": 400, "c": 200})
_NAME = "errands"
_STANDING = {"steps": [{"id": "ask", "tool": "sim.approve", "args": {"value": "yes"}}]}
_PLANNERS = 2
_TOOL_WORKERS = 3
"""A turn holds a thread of theirs for 650 ms of tools and 300 ms of its reply: 33 turns a second hold 32 threads of 48,
and two workers have just as many as they hold."""
_SETTINGS = {"OPENAI_API_KEY": "none", "TURNLOOM_TENANT_LLM_SLOTS": "12"}
"""All users are of one tenant, and may take all the slots for calls to the language model."""
_WANTED_S = 2.5
_WORD_LETTERS = 12


@dataclass
class _Round:
    """The experience of the users since all of them were there."""

    began_at: float = float("inf")
    is_over: bool = False
    latencies_s: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    streams: int = 0
    """The streams that are open all the time."""
    cpu_s: Mapping[str, float] = field(default_factory=dict)
    memory_mb: Mapping[str, float] = field(default_factory=dict)
    """Of each group of processes, while all streams are open."""


def run(_: Stack, short: bool) -> Table:
    """Let the users come, and measure when all are there."""
    users, seconds = (200, 35.0) if short else (1_000, 120.0)
    with _asking_stack() as ours:
        at_rest = used_mb(stack_groups(ours))
        measured = asyncio.run(_measure(ours, users, seconds))
        grown = {group: (mb - at_rest[group]) * 1_000 / users for group, mb in measured.memory_mb.items()}
    latencies = sorted(measured.latencies_s)
    row: Row = {
        "users": users,
        "streams open all the time": measured.streams,
        "turns": len(latencies),
        **{f"turn p{share * 100:.0f}, s": Spread.of([percentile(latencies, share)]) for share in (0.5, 0.95, 0.99)},
        **{
            f"CPU ms/turn: {group}": Spread.of([used * 1_000 / len(latencies)])
            for group, used in measured.cpu_s.items()
        },
        **{f"MB for 1,000 users: {group}": Spread.of([mb]) for group, mb in grown.items()},
        "errors": len(measured.errors),
    }
    return Table(
        f"users: a turn of each every {_EVERY_S:.0f} s, the model takes {_MODEL_S * 1_000:.0f} ms, tools 50-400 ms",
        [row],
        note=measured.errors[0] if measured.errors else "",
        targets=[
            at_most(0, "errors", Spread.of([len(measured.errors)])),
            at_most(_WANTED_S, "turn p95, s", Spread.of([percentile(latencies, 0.95)])),
        ],
    )


@contextmanager
def _asking_stack() -> Iterator[Stack]:
    port = free_port()
    own = {**_SETTINGS, "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
    with another_stack(own, planners=_PLANNERS, tool_workers=_TOOL_WORKERS) as ours:
        path = ours.servers.home.path / "plans.json"
        path.write_bytes(orjson.dumps({_NAME: _TOOLS.plan["steps"]}))
        command = [sys.executable, "-m", "benchmarks.llm_endpoint", str(port), str(path), str(_MODEL_S)]
        with running(ours, {"llm-endpoint": command}, OURS_ON_PATH):
            wait_for_server(port)
            yield ours


async def _measure(of: Stack, users: int, seconds: float) -> _Round:
    measured = _Round()
    tasks = [asyncio.create_task(_use(of, number / users * _EVERY_S, measured)) for number in range(users)]
    try:
        await asyncio.sleep(_EVERY_S + _WANTED_S)
        progress(f"users: {measured.streams} streams are open")
        meter = CpuMeter(stack_groups(of))
        measured.began_at = time.perf_counter()
        await asyncio.sleep(seconds)
        measured.is_over = True
        measured.cpu_s, measured.memory_mb = meter.used_s(), used_mb(stack_groups(of))
        progress(f"users: {len(measured.latencies_s)} turns, {len(measured.errors)} errors")
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    if not measured.latencies_s:
        raise RuntimeError(f"no turn ended: {measured.errors[:1]}")
    return measured


async def _use(of: Stack, comes_after_s: float, measured: _Round) -> None:
    """Be a user: follow a turn that waits, and take one turn after another."""
    await asyncio.sleep(comes_after_s)
    with closing(Client(of.url, of.dev_key)) as following, closing(Client(of.url, of.dev_key)) as asking:
        standing = asyncio.create_task(_follow(following, measured))
        try:
            while True:
                began = time.perf_counter()
                await _take_turn(asking, began, measured)
                await asyncio.sleep(max(0.0, began + _EVERY_S - time.perf_counter()))
        finally:
            standing.cancel()
            await asyncio.wait([standing])


async def _follow(client: Client, measured: _Round) -> None:
    """Follow a turn that waits for an approval. Nobody gives it, so the stream stays open."""
    try:
        address = await accepted(client, {"message": "go", "agent": "generic", "plan": _STANDING})
    except (Refused, OSError, EOFError) as error:
        measured.errors.append(f"a stream: {type(error).__name__}: {error}"[:300])
        return
    measured.streams += 1
    try:
        await client.stream(f"{address}/events")
        measured.errors.append("a stream: its turn has ended, though nobody has approved it")
    except (Refused, OSError, EOFError) as error:
        measured.errors.append(f"a stream: {type(error).__name__}: {error}"[:300])
    measured.streams -= 1


async def _take_turn(client: Client, began: float, measured: _Round) -> None:
    word = "".join(random.choices(string.ascii_lowercase, k=_WORD_LETTERS))
    message = {"message": f"do {_NAME} as {word}", "agent": "generic", "message_id": str(new_id())}
    try:
        ended = await by_stream(client, message)
    except (Refused, OSError, EOFError) as error:
        measured.errors.append(f"a turn: {type(error).__name__}: {error}"[:300])
        client.close()
        return
    if ended.status != "succeeded" or word not in ended.text or ended.steps != len(_TOOLS.ms):
        measured.errors.append(f"a turn: {ended.status} with {ended.steps} steps: {ended.text[-200:]}")
    elif began >= measured.began_at and not measured.is_over:
        measured.latencies_s.append(time.perf_counter() - began)
