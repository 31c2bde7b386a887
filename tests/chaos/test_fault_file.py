"""A stack whose faults all come from one file: tool calls, messages, posts and processes go wrong at the same time."""

from collections import Counter
from pathlib import Path

import pytest

from tests.chaos.drills import LONG, PLAN, WITHIN_S, Ground, assert_all_well, drill, drilled_stack
from tests.facts import wait_for
from turnloom.models.contracts.fault_file import read_fault_file

TURNS = 120 if LONG else 24
FILE = read_fault_file("""
seed: 7
faults:
  - {tool: sim.wait, chance: 0.2, delay_ms: 150}
  - {tool: sim.write, chance: 0.2, malformed: true}
  - {tool: sim.burn, error: {code: UPSTREAM_4XX, message: the service refuses}}
  - {tool: sim.flaky, nth: 2, error: {code: UPSTREAM_5XX, message: the service is down}}
duplicates:
  - {queue: "*", chance: 0.5, within_ms: 300}
  - {path: /v1/turns, chance: 0.3}
restarts:
  - {process: "worker-*", every_s: [2, 4]}
  - {process: web, after_s: 0.5}
  - {at: write.returned, nth: 3}
  - {at: plan.recorded, nth: 2}
""")
REFUSED = {"id": "refused", "tool": "sim.burn", "args": {"ms": 1}}
FLAKY = {"tool": "sim.flaky", "args": {"fail_times": 0}}
LOAD = [{"plan": {"steps": [*PLAN, REFUSED, {"id": "up", **FLAKY}, {"id": "down", **FLAKY, "needs": ["up"]}]}}] * TURNS


@pytest.mark.drill
@pytest.mark.timeout(10 * WITHIN_S)
def test_everything_in_a_fault_file_happens_and_nothing_is_lost(tmp_path: Path) -> None:
    """Every turn ends well and every effect happens once. The calls that the file names fail, and no others do."""
    with drilled_stack(tmp_path, faults=FILE) as ground:
        report = drill(ground, LOAD, within_s=2 * WITHIN_S, pause_s=0.1)
        wait_for(lambda: not ground.crash_at.read_text())
        struck = _counted(ground)
        processes = ground.stack.processes.values()
        restarts = {process.name for process in processes if process.restarts}

    assert_all_well(report)
    ends = Counter((step["id"], (step["error"] or {}).get("code")) for view in report.views for step in view["steps"])
    assert ends["refused", "UPSTREAM_4XX"] == TURNS
    # A call that is made again after the death of its worker is a further call of its turn.
    assert ends["down", "UPSTREAM_5XX"] > TURNS / 2
    assert {code for id_, code in ends if id_ in "abcdef"} == {None}
    assert all(struck[each] for each in ("call.struck", "post.repeated"))
    assert "web" in restarts
    assert any(name.startswith("worker-") for name in restarts)


def _counted(ground: Ground) -> Counter[str]:
    """Count the events that the stack's processes have logged."""
    logs = [path.read_text(errors="replace") for path in ground.stack.servers.home.logs.glob("*.log")]
    return Counter({event: sum(log.count(f'"{event}"') for log in logs) for event in ("call.struck", "post.repeated")})
