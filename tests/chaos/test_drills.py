"""Failure drills in their short form; `make chaos` runs the long one (TURNLOOM_DRILL_TURNS)."""

import os
import random
import threading
from pathlib import Path

import pytest
from redis import Redis

from tests.chaos.drills import Report, drill, drilled_stack, kill_at_random, once
from workers.embedded.servers import Server

TURNS = int(os.environ.get("TURNLOOM_DRILL_TURNS", "60"))
MIXED_S = float(os.environ.get("TURNLOOM_DRILL_MIXED_S", "600"))
AWAY_S = float(os.environ.get("TURNLOOM_DRILL_AWAY_S", "1"))

pytestmark = [pytest.mark.drill, pytest.mark.timeout(60 + 3 * TURNS)]


def assert_nothing_lost_or_doubled(report: Report, *, backend_out: bool = False) -> None:
    """With Postgres out, `sim.write`, which keeps its keys there, may fail for good: no effect is expected then."""
    print(report)  # noqa: T201 - `make chaos` shows what was counted
    assert report.lost == 0
    assert report.statuses == {"succeeded": report.accepted}
    assert report.effects_seen == report.effects_expected
    assert backend_out or report.effects_expected == report.accepted
    assert (report.doubled, report.disorders, report.leases) == (0, 0, 0)


def test_workers_killed_at_random(tmp_path: Path) -> None:
    """Worker processes of every kind are killed under load: every turn ends well, every effect happened once."""
    log = tmp_path / "sim.log"
    with drilled_stack(log) as (stack, api):
        report = drill(api, log, TURNS, kill_at_random(stack, seed=7, every_s=0.7), within_s=60 + TURNS)

    assert_nothing_lost_or_doubled(report)


def test_redis_emptied_under_load(tmp_path: Path) -> None:
    """FLUSHALL takes queues and chord counters with it; the ledger knows what there is to do."""
    log = tmp_path / "sim.log"
    with drilled_stack(log) as (stack, api):
        report = drill(api, log, TURNS, once(0.5, lambda: flush(stack.redis_url)), within_s=60 + TURNS)

    assert_nothing_lost_or_doubled(report)


def test_redis_restarted_under_load(tmp_path: Path) -> None:
    """The broker is away for a while: turns are accepted all the time and run when it is back."""
    log = tmp_path / "sim.log"
    with drilled_stack(log) as (stack, api):
        report = drill(api, log, TURNS, once(0.5, lambda: restart(stack.redis)), within_s=60 + TURNS)

    assert_nothing_lost_or_doubled(report)


def test_postgres_restarted_under_load(tmp_path: Path) -> None:
    """While the ledger is away nothing is accepted; what was accepted before ends well."""
    log = tmp_path / "sim.log"
    with drilled_stack(log) as (stack, api):
        report = drill(api, log, TURNS, once(0.5, lambda: restart(stack.postgres)), within_s=60 + TURNS)

    assert_nothing_lost_or_doubled(report, backend_out=True)


@pytest.mark.skipif(TURNS < 200, reason="the mixed drill takes minutes: `make chaos` without SHORT runs it")
@pytest.mark.timeout(1_200)
def test_everything_at_random(tmp_path: Path) -> None:
    """Ten minutes and a thousand turns; workers are killed, Redis is emptied, both servers are restarted, at random."""
    log = tmp_path / "sim.log"
    with drilled_stack(log) as (stack, api):
        actions = [lambda: flush(stack.redis_url), lambda: restart(stack.redis), lambda: restart(stack.postgres)]
        kill = kill_at_random(stack, seed=11, every_s=2)

        def disturb(stopping: threading.Event) -> None:
            killer = threading.Thread(target=kill, args=(stopping,), daemon=True)
            killer.start()
            rng = random.Random(11)
            while not stopping.wait(rng.uniform(5, 15)):
                rng.choice(actions)()
            killer.join()

        report = drill(api, log, 5 * TURNS, disturb, within_s=300, pause_s=MIXED_S / (5 * TURNS))

    assert_nothing_lost_or_doubled(report, backend_out=True)


def flush(redis_url: str) -> None:
    with Redis.from_url(redis_url) as client:
        client.flushall()


def restart(server: Server) -> None:
    server.stop()
    threading.Event().wait(AWAY_S)
    server.start()
