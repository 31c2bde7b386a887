"""Something breaks under load, and no turn is lost, doubled or out of order."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.chaos.disturbances import (
    again,
    by_file,
    crash_postgres,
    flush,
    kill_web,
    kill_web_before_it_sends,
    once,
    refuse_connections,
    small_disk,
    stop_postgres,
    stop_redis,
    stop_worker,
)
from tests.chaos.drills import LONG, PLAN, TURNS, Disturbance, Ground, assert_all_well, drill, drilled_stack

MIXED_S = float(os.environ.get("TURNLOOM_DRILL_MIXED_S", "400"))
"""The time for which the mixed drill would post without faults. With them it takes half as long again."""
WITHIN_S = 60 + TURNS
LOAD = [{"plan": {"steps": PLAN}}] * TURNS

pytestmark = pytest.mark.timeout(120 + 3 * TURNS)


class Case(NamedTuple):
    """A fault under load."""

    disturbances: tuple[Disturbance, ...]
    backend_out: bool = False
    """Whether `sim.write`, which keeps its keys in Postgres, may fail for good. Then no effect of it is expected."""


CASES = {
    "workers_are_killed": Case((by_file("restarts: [{process: worker-*, every_s: [0.7, 0.7]}]"),)),
    "web_is_killed": Case((again((0, 0.2), kill_web, kill_web_before_it_sends),)),
    "redis_is_emptied": Case((once(flush),)),
    "redis_is_away": Case((once(stop_redis),)),
    "messages_come_twice": Case((by_file("duplicates: [{queue: '*'}]"),)),
    "postgres_is_away": Case((once(stop_postgres),), backend_out=True),
    "postgres_crashes": Case(
        (once(crash_postgres), by_file("restarts: [{process: worker-*, every_s: [1, 2]}]")), backend_out=True
    ),
    "postgres_is_out_of_connections": Case((once(refuse_connections),), backend_out=True),
}


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One stack for all drills. Each drill leaves it in working order."""
    with drilled_stack(tmp_path_factory.mktemp("drills")) as whole:
        yield whole


@pytest.mark.drill
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_turn_ends_well_despite(case: Case, ground: Ground) -> None:
    """Every turn ends well, and every effect happens once."""
    assert_all_well(drill(ground, LOAD, *case.disturbances, within_s=WITHIN_S), backend_out=case.backend_out)


@pytest.mark.drill
def test_workers_that_are_asked_to_stop_finish_their_work(ground: Ground) -> None:
    """A deployment under load repeats no call."""
    report = drill(ground, LOAD, again((1, 2), stop_worker), within_s=WITHIN_S)

    assert_all_well(report)
    assert report.attempts_wasted == 0


@pytest.mark.drill
def test_every_turn_ends_well_despite_a_full_disk(ground: Ground, tmp_path: Path) -> None:
    """While the disk is full, no message is accepted. The turns accepted before succeed."""
    with small_disk(ground, tmp_path / "disk") as fill:
        report = drill(ground, LOAD, once(fill), within_s=WITHIN_S)

    assert_all_well(report, backend_out=True)
    assert "No space left on device" in ground.stack.postgres.process.log_path.read_text()


@pytest.mark.drill
@pytest.mark.skipif(not LONG, reason="the mixed drill takes minutes: `make chaos` without SHORT runs it")
@pytest.mark.timeout(1_800)
def test_everything_at_random(ground: Ground) -> None:
    """For ten minutes and with a thousand turns, each kind of fault occurs."""
    disturbances = (
        by_file("{duplicates: [{queue: '*'}], restarts: [{process: worker-*, every_s: [1.3, 4]}]}"),
        again((4, 12), stop_worker),
        again((10, 20), kill_web, kill_web_before_it_sends),
        again((5, 15), flush, stop_redis, stop_postgres, crash_postgres, refuse_connections),
    )
    report = drill(ground, 5 * LOAD, *disturbances, within_s=300, pause_s=MIXED_S / (5 * TURNS))

    assert_all_well(report, backend_out=True)
