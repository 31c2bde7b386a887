"""Measure how long recovery takes after kill -9 of one of the workers for tools, while 100 turns are in flight.

The time runs from the kill until every step that the worker held has started again, and until all turns have ended.
"""

import time
from collections.abc import Callable

import orjson
import psycopg

from benchmarks.figures import Row, Spread, Table, at_most
from benchmarks.load import drive
from benchmarks.progress import progress
from benchmarks.shapes import fan_out
from benchmarks.stack import finished_turns
from turnloom.workers.embedded.stack import Stack

_VICTIM = "worker-io-1"
_TURNS = 100
# The steps take long enough to be claimed; no worker holds shorter reads.
_BODY = orjson.dumps({"message": "go", "agent": "generic", "plan": fan_out(4, [600]).plan})
_HELD_AT_LEAST = 8
"""The number of steps that the worker must run when it is killed. It has threads for twice as many."""
_WANTED_S = 10
_PATIENCE_S = 60.0
_POLL_S = 0.05
_HELD = "SELECT turn_id, id, attempt FROM steps WHERE status = 'running' AND worker LIKE %s"
_STILL_LOST = (
    "SELECT 1 FROM steps JOIN unnest(%s::uuid[], %s::text[], %s::int[]) AS lost (turn_id, id, attempt)"
    " USING (turn_id, id)"
    " WHERE steps.attempt = lost.attempt AND steps.status IN ('pending', 'queued', 'running') LIMIT 1"
)


def run(ours: Stack, short: bool) -> Table:
    """Kill the worker in every round."""
    rounds = [_measure(ours) for _ in range(1 if short else 3)]
    held, restarted, final = zip(*rounds, strict=True)
    row: Row = {
        "turns in flight": _TURNS,
        "steps that it held": Spread.of(held),
        "all started again, s": Spread.of(restarted),
        "all turns final, s": Spread.of(final),
    }
    wanted = at_most(_WANTED_S, "orphaned steps started again, s", Spread.of(restarted))
    return Table(f"recovery: kill -9 with {_TURNS} turns in flight", [row], targets=[wanted])


def _measure(of: Stack) -> tuple[float, float, float]:
    drive(f"{of.url}/v1/turns", [_BODY] * _TURNS, connections=16, expected=202, key=of.dev_key).refuse_refusals()
    with psycopg.connect(of.database_url, autocommit=True) as ledger:
        victim = f"{_VICTIM}@%"
        _wait(lambda: ledger.execute(_HELD, (victim,)).rowcount >= _HELD_AT_LEAST)
        of.processes[_VICTIM].kill()
        killed = time.monotonic()
        # Read after the kill, when the process that held these steps can record no more.
        lost = [list(column) for column in zip(*ledger.execute(_HELD, (victim,)), strict=True)]
        _wait(lambda: ledger.execute(_STILL_LOST, lost).fetchone() is None)
        restarted_s = time.monotonic() - killed
    finished_turns(of)
    final_s = time.monotonic() - killed
    progress(f"recovery: {len(lost[0])} steps started again within {restarted_s:.1f} s")
    return float(len(lost[0])), restarted_s, final_s


def _wait(fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not fact():
        if time.monotonic() > deadline:
            raise RuntimeError(f"the expected state was not reached within {_PATIENCE_S:.0f} s")
        time.sleep(_POLL_S)
