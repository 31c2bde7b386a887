"""A worker's wrong clock does no harm, because the ledger takes the time only from Postgres."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.chaos.drills import PLAN, TURNS, Ground, drill, drilled_stack
from tests.facts import wait_for, whole_lines
from turnloom.workers.broker.command_lines import PLANNING_QUEUES, worker_command
from turnloom.workers.embedded.process import Process, Program

ROOT = Path(__file__).resolve().parents[2]
SKEW_S = 60

AHEAD = f"""
from datetime import UTC, datetime, timedelta
import time_machine
time_machine.travel(datetime.now(UTC) + timedelta(seconds={SKEW_S}), tick=True).start()
"""
"""The code that Python runs first in the worker whose clock is ahead."""

LATER = {"id": "r", "tool": "sim.flaky", "args": {"fail_times": 1, "retry_after_s": 1.5}, "timeout_ms": 1_000}
"""A step that is made again, under another claim, at the time that its failure names."""


@contextmanager
def worker_ahead(ground: Ground, folder: Path) -> Iterator[None]:
    """Run a further worker for all queues; its clock is ahead."""
    (folder / "sitecustomize.py").write_text(AHEAD)
    home, name = ground.stack.servers.home, "worker-ahead"
    program = Program(
        name=name,
        command=worker_command([*PLANNING_QUEUES, "tools.io"], name=name, pool="threads", concurrency=16),
        environment={**ground.stack.environment, "PYTHONPATH": f"{folder}:{ROOT}"},
    )
    process = Process(program, records=home.records, logs=home.logs)
    process.start()
    try:
        wait_for(lambda: _is_there(ground, name), 60)
        yield
    finally:
        process.stop(30)


def _is_there(ground: Ground, name: str) -> bool:
    with ground.admin() as db:
        return db.execute("SELECT 1 FROM workers WHERE name LIKE %s", [f"{name}@%"]).fetchone() is not None


@pytest.mark.drill
@pytest.mark.timeout(120 + 3 * TURNS)
def test_a_worker_whose_clock_is_ahead_does_no_harm(tmp_path: Path) -> None:
    """The worker plans, runs, waits for the time of a retry and answers like the others."""
    load = [{"plan": {"steps": [*PLAN, LATER]}}] * TURNS
    with drilled_stack(tmp_path) as ground, worker_ahead(ground, tmp_path):
        report = drill(ground, load, within_s=60 + TURNS)
        now = time.time()

    report.assert_nothing_lost_or_doubled()
    assert (report.statuses, report.repeated) == ({"succeeded": TURNS}, 0)
    assert report.p95_s < SKEW_S / 2
    calls = [line.split() for line in whole_lines(ground.log)]
    assert {step for _, _, step, _, at in calls if float(at) > now + SKEW_S / 2} >= {"a", "e", "r"}
