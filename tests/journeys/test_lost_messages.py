"""Messages of the broker are lost or come twice, and every turn ends well. `make chaos` breaks more parts."""

from pathlib import Path

import httpx2

from tests.chaos.disturbances import by_file, flush, once
from tests.chaos.drills import PLAN, Ground, assert_all_well, drill
from turnloom.workers.embedded.stack import Stack


def test_a_few_turns_survive_an_emptied_broker_and_doubled_messages(
    stack: Stack, api: httpx2.Client, sim_log: Path
) -> None:
    """No turn is lost or doubled, and no effect."""
    ground = Ground(stack, api, sim_log, crash_at=Path())
    load = [{"plan": {"steps": PLAN}}] * 12
    doubling = by_file("duplicates: [{queue: '*'}]")

    report = drill(ground, load, doubling, once(flush), within_s=30, pause_s=0.05)

    assert_all_well(report)
