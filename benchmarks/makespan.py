"""Compare how long a plan takes with its critical path, the shortest time possible. Waits are real, and workers free.

Both placements are measured, with a plan that is posted and with one that an endpoint writes without latency. The wall
time is the ledger's, from the record of the plan to the end of its last step. Steps that began before the record count
by how much they shortened the critical path. For comparison there is the computed best time of running level by level.
"""

import os
import random
import statistics
import string
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import orjson
import psycopg

from benchmarks.bare_route import INSERT, TABLE
from benchmarks.contenders import llm_endpoint, turnloom
from benchmarks.figures import Row, Spread, Table, at_most
from benchmarks.processes import without_workers
from benchmarks.progress import progress
from benchmarks.shapes import Shape, chain, fan_out, n_shape, random_plan, scaled, trip
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import Placement
from turnloom.planner.plan.graph import critical_path
from turnloom.workers.embedded.stack import Stack

CASES = "TURNLOOM_CASES"
"""The variable that names a folder of outside cases. Its `workflows.jsonl` holds recorded workflows with task times."""

_PLACEMENTS: Sequence[Placement] = ("spread", "dense")
_SEEDS = range(1, 6)
_SCALED_MS = 4_000
"""The milliseconds that a recorded workflow's critical path is scaled to. Its tasks took minutes."""
_WIDEST = 32
"""The largest number of steps that may be ready at a time: the stack has no more threads for tools."""
_WARM_UP_SCALE = 0.05
_WARM_UP_ROUNDS, _WARM_UP_AT_ONCE = 2, 4
_COMMITS = 30
_WANTED = 1.03


class _Case(NamedTuple):
    plan: str
    placement: Placement
    written_by: str


class _Wall(NamedTuple):
    """The times of one run of a plan, in milliseconds."""

    whole: float
    """From the record of the plan to that of its last step's end."""
    steps: float
    """From the first start of a step after the record to the last end."""


def run(ours: Stack, short: bool) -> Table:
    """Run each plan several times, alternately."""
    rounds = 1 if short else 3
    shapes = _shapes(short)
    measured: dict[_Case, list[_Wall]] = {}
    commits: list[float] = []
    for number in range(rounds):
        for case, wall in _round(ours, shapes, short=short):
            measured.setdefault(case, []).append(wall)
        commits.append(_commit_ms(ours))
        progress(f"{number + 1} of {rounds}: each plan once")
    left_out = "" if CASES in os.environ else f" Recorded workflows are left out: {CASES} names no folder of them."
    return Table(
        "makespan: wall time / critical path",
        [_row(case, shapes[case.plan], walls) for case, walls in measured.items()],
        f"One INSERT with its COMMIT took {Spread.of(commits)} ms on this disk in the same minutes.{left_out}",
        [at_most(_WANTED, ", ".join(case), _ratios(shapes[case.plan], walls)) for case, walls in measured.items()],
    )


def _round(of: Stack, shapes: Mapping[str, Shape], *, short: bool) -> Iterator[tuple[_Case, _Wall]]:
    warm_up = {f"{name}, quick": scaled(shape, _WARM_UP_SCALE) for name, shape in shapes.items()}
    plans = {name: shape.plan["steps"] for name, shape in {**shapes, **warm_up}.items()}
    with without_workers(of), llm_endpoint(of, plans) as llm_url:
        for placement in _PLACEMENTS:
            with turnloom(of, llm_url, placement), _api(of) as api:
                _warm_up(api, {**warm_up, "N": shapes["N"]})
                for name, shape in shapes.items():
                    yield _Case(name, placement, "caller"), _wall(api, shape, plan=shape.plan)
                    if not short or name == "N":
                        yield _Case(name, placement, "model"), _wall(api, shape, message=_wish(name))


def _warm_up(api: httpx2.Client, shapes: Mapping[str, Shape]) -> None:
    """Run several plans at a time, because the first turns on a connection to Postgres cost many times as much."""
    wishes = [{"plan": shape.plan} for shape in shapes.values()] + [{"message": _wish(name)} for name in shapes]
    with ThreadPoolExecutor(_WARM_UP_AT_ONCE) as threads:
        for _ in threads.map(lambda wish: _finished(api, **wish), wishes * _WARM_UP_ROUNDS):
            pass


def _wish(plan: str) -> str:
    """Return the message for which the endpoint writes a plan."""
    return f"do {plan} as {''.join(random.choices(string.ascii_lowercase, k=12))}"


@contextmanager
def _api(of: Stack) -> Iterator[httpx2.Client]:
    headers = {"Authorization": f"Bearer {of.dev_key}"}
    with httpx2.Client(base_url=of.url, headers=headers, timeout=60) as api:
        yield api


def _shapes(short: bool) -> Mapping[str, Shape]:
    shapes = {
        "N": n_shape(),
        "trip, 10 steps": trip(),
        "fan-out 10 + join": fan_out(10, [200, 230, 260, 290, 320, 350, 380, 410, 440, 470, 200]),
        "chain of 10": chain(10, 100),
    }
    slowest_ms, seeds = (200, _SEEDS[:1]) if short else (400, _SEEDS)
    shapes |= {f"random, 30 steps, seed {seed}": random_plan(seed, 30, slowest_ms) for seed in seeds}
    return shapes if short else {**shapes, **recorded_workflows()}


def recorded_workflows() -> dict[str, Shape]:
    """Return the recorded workflows that are not too wide, scaled to seconds; none if no folder is named."""
    if CASES not in os.environ:
        return {}
    lines = (Path(os.environ[CASES]) / "workflows.jsonl").read_bytes().splitlines()
    found = [workflow for workflow in map(orjson.loads, lines) if workflow["stats"]["width"] <= _WIDEST]
    return {workflow["plan_id"]: _in_seconds(workflow) for workflow in found}


def _in_seconds(workflow: Mapping[str, Any]) -> Shape:
    steps = workflow["steps"]
    needs = {step["id"]: step["needs"] for step in steps}
    return scaled(Shape(needs, {step["id"]: step["duration_s"] for step in steps}), _SCALED_MS / workflow["cp_s"])


def _wall(api: httpx2.Client, shape: Shape, **request: Any) -> _Wall:
    """Run a plan and return the time that it took."""
    return wall(_finished(api, **request), shape)


def wall(turn: Mapping[str, Any], shape: Shape) -> _Wall:
    """Return the time that the plan of a finished turn took, as the API shows it.

    The wait for the rest of a plan that is still being written counts as planning, so it is left out. Steps that ran
    meanwhile count by how much they shortened the critical path; otherwise early starts would improve the ratio.
    """
    timings = turn["timings"]
    planned_ms = timings["queued_ms"] + timings["planning_ms"]
    recorded = datetime.fromisoformat(turn["created_at"]) + timedelta(milliseconds=planned_ms)
    started = {step["id"]: datetime.fromisoformat(step["started_at"]) for step in turn["steps"]}
    ended = max(datetime.fromisoformat(step["finished_at"]) for step in turn["steps"])
    ran_ms = {name: max(0.0, (recorded - at).total_seconds() * 1000) for name, at in started.items()}
    left = critical_path(shape.needs, {name: max(0.0, ms - ran_ms[name]) for name, ms in shape.ms.items()})
    done_ms = shape.critical_path_ms - left
    steps_ms = (ended - max(recorded, min(started.values()))).total_seconds() * 1000
    return _Wall(timings["total_ms"] - planned_ms - timings["responding_ms"] + done_ms, steps_ms + done_ms)


def _finished(api: httpx2.Client, **request: Any) -> Mapping[str, Any]:
    """Run a plan to its end and return its turn."""
    answer = api.post("/v1/turns", params={"wait": 30}, json={"message": "go", "agent": "generic", **request})
    turn: dict[str, Any] = answer.json()
    if answer.status_code != httpx2.codes.OK or turn["status"] != "succeeded":
        raise RuntimeError(f"the turn did not succeed: {answer.text[:600]}")
    return turn


def _commit_ms(of: Stack) -> float:
    """Return the median time of one durable INSERT. The record of a step cannot be faster."""
    took = []
    with psycopg.connect(of.servers.owner_url, autocommit=True) as db:
        db.execute(TABLE)
        for _ in range(_COMMITS):
            began = time.perf_counter()
            db.execute(INSERT, (new_id(), None), prepare=True)
            took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def _row(case: _Case, shape: Shape, walls: Sequence[_Wall]) -> Row:
    path_ms = shape.critical_path_ms
    return {
        "plan": case.plan,
        "placement": case.placement,
        "written by": case.written_by,
        "critical path ms": round(path_ms),
        "wall ÷ path": _ratios(shape, walls),
        "first start to last end": Spread.of([wall.steps / path_ms for wall in walls]),
        "over the path, ms": Spread.of([wall.whole - path_ms for wall in walls]),
        "waves, computed": f"{shape.waves_ms / path_ms:.3f}",
    }


def _ratios(shape: Shape, walls: Sequence[_Wall]) -> Spread:
    return Spread.of([wall.whole / shape.critical_path_ms for wall in walls])
