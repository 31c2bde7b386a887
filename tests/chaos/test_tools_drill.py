"""Tools under load are slow, flaky, malformed or huge, exit, or never return."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.drills import LONG, PLAN, Ground, drill, drilled_stack
from tests.chaos.packs.hostile import EXITS
from tests.installing import ship_packs
from tests.journeys.following import wait_step

ROOT = Path(__file__).resolve().parents[2]
PACKS = Path(__file__).with_name("packs")
EACH = 60 if LONG else 15
"""The number of turns in a wave."""


def hostile_steps(fifo: Path) -> Iterator[dict[str, Any]]:
    yield wait_step("slow", ms=1_500)
    yield wait_step("too_slow", ms=60_000, timeout_ms=300)
    yield {"id": "flaky", "tool": "sim.flaky", "args": {"fail_times": 2}}
    yield {"id": "malformed", "tool": "hostile.malformed"}
    yield {"id": "huge", "tool": "hostile.huge"}
    yield {"id": "blocked", "tool": "hostile.block", "args": {"fifo": str(fifo)}, "timeout_ms": 300}
    yield from ({"id": name.lower(), "tool": "hostile.exit", "args": {"by": name}} for name in EXITS)


ENDINGS = {
    **dict.fromkeys("abcdef"),
    **dict.fromkeys(("slow", "flaky")),
    **dict.fromkeys(("too_slow", "blocked"), "TOOL_TIMEOUT"),
    **dict.fromkeys(("malformed", "huge", *map(str.lower, EXITS)), "INTERNAL_ERROR"),
}
"""The error code that each step ends with."""


def release(fifo: Path) -> None:
    """Let every blocked call return, including calls that were given up."""
    while True:
        try:
            os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:  # no call waits any more
            return


def threads(ground: Ground) -> int:
    """Return the number of threads in the tools' worker when it has not changed for a second."""
    tasks = Path(f"/proc/{ground.stack.processes['worker-io-1'].pid}/task")
    before, now = 0, len(list(tasks.iterdir()))
    while now != before:  # calls that were given up are still returning
        time.sleep(1)
        before, now = now, len(list(tasks.iterdir()))
    return now


@pytest.mark.drill
@pytest.mark.timeout(400)
def test_tools_of_every_bad_kind(tmp_path: Path) -> None:
    """Each step ends as expected, other steps are not harmed, and calls that were given up leave no thread behind."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    ship_packs(tmp_path, PACKS)
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "TURNLOOM_PACKS": '["sim", "hostile"]'}
    load = [{"plan": {"steps": [*PLAN, *hostile_steps(fifo)]}}] * EACH
    sizes = []
    with drilled_stack(tmp_path, tool_workers=1, **environment) as ground:
        for _ in range(3):
            report = drill(ground, load, within_s=120)
            release(fifo)
            sizes.append(threads(ground))

            report.assert_nothing_lost_or_doubled()
            assert report.statuses == {"succeeded": EACH}
            ends = Counter(
                (step["id"], (step["error"] or {}).get("code")) for view in report.views for step in view["steps"]
            )
            assert ends == dict.fromkeys(ENDINGS.items(), EACH)
        assert ground.stack.processes["worker-io-1"].restarts == 0
    print("threads after each wave:", *sizes)  # noqa: T201 - `make chaos` shows what was counted
    assert sizes[2] - sizes[1] < EACH / 2
