"""Failure drills in their short form; `make chaos` runs the long one (TURNLOOM_DRILL_TURNS)."""

import os
from pathlib import Path

import pytest

from tests.chaos.drills import Report, drill, drilled_stack, kill_at_random

TURNS = int(os.environ.get("TURNLOOM_DRILL_TURNS", "60"))

pytestmark = pytest.mark.timeout(60 + 3 * TURNS)


def assert_nothing_lost_or_doubled(report: Report) -> None:
    print(report)  # noqa: T201 - `make chaos` shows what was counted
    assert report.lost == 0
    assert report.statuses == {"succeeded": report.accepted}
    assert report.effects_seen == report.effects_expected == report.accepted
    assert (report.doubled, report.disorders, report.leases) == (0, 0, 0)


def test_workers_killed_at_random(tmp_path: Path) -> None:
    """Worker processes of every kind are killed under load: every turn ends well, every effect happened once."""
    log = tmp_path / "sim.log"
    with drilled_stack(log) as (stack, api):
        report = drill(api, log, TURNS, kill_at_random(stack, seed=7, every_s=0.7), within_s=60 + TURNS)

    assert_nothing_lost_or_doubled(report)
