"""How long a plan takes against its critical path, the shortest time possible. Real waits, free workers.

The wall time is the ledger's: from the plan's record to the moment when the last step has ended. Beside it, from the
first step's start to the last one's end; and what running level by level would take at best, which is computed.
"""

import statistics
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import httpx2
import psycopg

from benchmarks.bare_route import INSERT, TABLE
from benchmarks.measuring import Row, Spread, Table, at_most, progress
from benchmarks.shapes import Shape, chain, fan_out, n_shape, random_plan, trip
from models.ids import new_id
from workers.embedded import Stack

_SEEDS = range(1, 6)
_COMMITS = 30
_WANTED = 1.03


def run(ours: Stack, short: bool) -> Table:
    """Run each plan several times, by turns. No plan has as many steps ready as the stack has threads for tools."""
    rounds = 1 if short else 3
    shapes = _shapes(short)
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in shapes}
    commits: list[float] = []
    headers = {"Authorization": f"Bearer {ours.dev_key}"}
    with httpx2.Client(base_url=ours.url, headers=headers, timeout=60) as api:
        for _ in range(3):
            _wall_ms(api, fan_out(24, [20]))
        for number in range(rounds):
            for name, shape in shapes.items():
                measured[name].append(_wall_ms(api, shape))
            commits.append(_commit_ms(ours))
            progress(f"{number + 1} of {rounds}: each plan once")
    return Table(
        "makespan: wall time / critical path",
        [_row(name, shapes[name], measured[name]) for name in shapes],
        f"One INSERT with its COMMIT took {Spread.of(commits)} ms on this disk in the same minutes.",
        [at_most(_WANTED, name, _ratios(shapes[name], walls)) for name, walls in measured.items()],
    )


def _shapes(short: bool) -> Mapping[str, Shape]:
    shapes = {
        "N": n_shape(),
        "trip, 10 steps": trip(),
        "fan-out 10 + join": fan_out(10, [200, 230, 260, 290, 320, 350, 380, 410, 440, 470, 200]),
        "chain of 10": chain(10, 100),
    }
    slowest_ms, seeds = (200, _SEEDS[:1]) if short else (400, _SEEDS)
    return {**shapes, **{f"random, 30 steps, seed {seed}": random_plan(seed, 30, slowest_ms) for seed in seeds}}


def _wall_ms(api: httpx2.Client, shape: Shape) -> tuple[float, float]:
    """Run a plan; return the time from its record to its last step's end, and that from its first step's start."""
    answer = api.post("/v1/turns", params={"wait": 30}, json={"message": "go", "agent": "generic", "plan": shape.plan})
    if answer.status_code != httpx2.codes.OK:
        raise RuntimeError(f"the turn did not end: {answer.text[:600]}")
    turn: dict[str, Any] = answer.json()
    timings = turn["timings"]
    running_ms = timings["total_ms"] - timings["queued_ms"] - timings["planning_ms"] - timings["responding_ms"]
    started = min(datetime.fromisoformat(step["started_at"]) for step in turn["steps"])
    ended = max(datetime.fromisoformat(step["finished_at"]) for step in turn["steps"])
    return running_ms, (ended - started).total_seconds() * 1000


def _commit_ms(of: Stack) -> float:
    """Return the median time of one durable INSERT: what a step's record cannot be faster than."""
    took = []
    with psycopg.connect(of.servers.owner_url, autocommit=True) as db:
        db.execute(TABLE)
        for _ in range(_COMMITS):
            began = time.perf_counter()
            db.execute(INSERT, (new_id(), None), prepare=True)
            took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def _row(name: str, shape: Shape, walls: list[tuple[float, float]]) -> Row:
    path_ms = shape.critical_path_ms
    return {
        "plan": name,
        "critical path ms": round(path_ms),
        "recorded to done": _ratios(shape, walls),
        "first start to last end": Spread.of([steps / path_ms for _, steps in walls]),
        "over the path, ms": Spread.of([running - path_ms for running, _ in walls]),
        "waves, computed": f"{shape.waves_ms / path_ms:.3f}",
    }


def _ratios(shape: Shape, walls: list[tuple[float, float]]) -> Spread:
    return Spread.of([running / shape.critical_path_ms for running, _ in walls])
