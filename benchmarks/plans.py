"""How many plans a second: fan-out of four and a join, through the engine with its ledger, against a bare chord.

In both, a backlog piles up while the process that starts plans stands still, and is then worked off: neither doors nor
publishers count. Per plan both have six messages: the start, four steps, the join.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import orjson
import psycopg

from benchmarks.load import drive
from benchmarks.measuring import CpuMeter, Row, Spread, Table, paused, progress, stack_groups
from benchmarks.peers import BareCelery, bare_celery
from benchmarks.shapes import fan_out
from workers.embedded import Stack

_BODY = orjson.dumps({"message": "go", "agent": "generic", "plan": fan_out(4, [0]).plan})
_POLL_S = 0.05


@dataclass(frozen=True)
class _Round:
    per_s: float
    cpu_ms: float


def run(ours: Stack, short: bool) -> Table:
    """Measure both by turns."""
    count, rounds = (60, 2) if short else (200, 5)
    bare: list[_Round] = []
    own: list[_Round] = []
    with bare_celery(ours) as celery:
        _measure_own(ours, 20)
        for number in range(rounds):
            bare.append(_measure_bare(ours, celery, count))
            own.append(_measure_own(ours, count))
            progress(f"round {number + 1} of {rounds}: bare {bare[-1].per_s:.0f}/s, ours {own[-1].per_s:.0f}/s")
    ratios = Spread.of([b.per_s / a.per_s for a, b in zip(bare, own, strict=True)])
    return Table(
        "plans: fan-out 4 + join, a backlog worked off",
        [_row("bare chord, no record", bare, "1"), _row("the engine with its ledger", own, ratios)],
    )


def _measure_bare(of: Stack, celery: BareCelery, count: int) -> _Round:
    meter = CpuMeter({"all": [*celery.processes.values(), of.redis.process]})
    return _Round(count / celery.drain(count, [4]), meter.used_s()["all"] * 1000 / count)


def _measure_own(of: Stack, count: int) -> _Round:
    groups = stack_groups(of)
    wanted = [process for name in ("planner", "tools", "Postgres", "Valkey") for process in groups[name]]
    with psycopg.connect(of.database_url, autocommit=True) as ledger:
        goal = _final(ledger) + count
        with paused(of.processes["worker-plan"]):
            load = drive(f"{of.url}/v1/turns", [_BODY] * count, connections=16, expected=202, key=of.dev_key)
            load.refuse_refusals()
            meter = CpuMeter({"all": wanted})
        began = time.perf_counter()
        while _final(ledger) < goal:
            time.sleep(_POLL_S)
        return _Round(count / (time.perf_counter() - began), meter.used_s()["all"] * 1000 / count)


def _final(ledger: psycopg.Connection) -> int:
    row = ledger.execute("SELECT count(*) FROM turns WHERE finished_at IS NOT NULL").fetchone()
    assert row
    return int(row[0])


def _row(name: str, rounds: Sequence[_Round], ratio: Spread | str) -> Row:
    return {
        "what": name,
        "ratio": ratio,
        "plans/s": Spread.of([each.per_s for each in rounds]),
        "CPU ms/plan": Spread.of([each.cpu_ms for each in rounds]),
    }
