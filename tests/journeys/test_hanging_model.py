"""The language model hangs for one tenant. Its turns that need no model continue, and so do other tenants' turns."""

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.facts import wait_for
from tests.journeys.conftest import Cli, new_tenant
from tests.journeys.following import finished, post, run, wait_step
from tests.journeys.speaking import MESSAGE, Speaker, says, written
from tests.planner.llm.scripted import Script, hangs
from turnloom.workers.embedded.stack import Stack

HUNG = 40
"""Turns for which the model hangs: more than the planner has threads."""
PATIENCE_S = 8.0
"""A turn that does not wait for the model ends within this time."""
RECOVERED_S = 10.0
"""The time until the work of a dead worker continues. It may be half as long again on a busy machine."""
SILENCE = "silence"


@pytest.fixture(scope="module")
def hanging(script: Script, speaking: Speaker) -> Iterator[Script]:
    """A language model that hangs if the message is `silence`."""
    speaking.gate.set()
    speak, hang = script.otherwise, hangs(script.released)

    def behave(body: dict[str, Any]) -> Any:
        said = [json.loads(found) for each in body["messages"] for found in MESSAGE.findall(each["content"])]
        return (hang if SILENCE in said else speak)(body)

    script.otherwise = behave
    yield script
    script.otherwise = speak


@pytest.fixture(scope="module")
def stack(asking_stack: Stack) -> Stack:
    return asking_stack


@pytest.fixture
def hung(api: httpx2.Client, hanging: Script) -> Iterator[list[str]]:
    """Turns of the development tenant that use all of its slots for the model."""
    hanging.released.clear()
    asked = len(hanging.requests)
    posted = [post(api, SILENCE, agent="generic")["turn_id"] for _ in range(HUNG)]
    wait_for(lambda: len(hanging.requests) - asked >= 8)
    yield posted
    for turn_id in posted:
        api.post(f"/v1/turns/{turn_id}/cancel")
    hanging.released.set()


@pytest.fixture(scope="module")
def another(stack: Stack, cli: Cli) -> Iterator[httpx2.Client]:
    """A client of another tenant."""
    with new_tenant(stack, cli, "another", "turns:write,turns:read") as client:
        yield client


def test_one_tenants_hanging_model_stops_nobody_else(
    api: httpx2.Client, another: httpx2.Client, hanging: Script, hung: list[str]
) -> None:
    """Its own turns with posted plans end well or at their deadline. Another tenant's are planned and answered."""
    asked = len(hanging.requests)

    own = run(api, [wait_step("a")])
    short = post(api, plan={"steps": [wait_step("b", ms=30_000)]}, deadline_ms=1_000)["turn_id"]
    late = finished(api, short, PATIENCE_S)
    planned = post(another, says(written(wait_step("c"))), agent="generic")["turn_id"]
    other = finished(another, planned, PATIENCE_S)
    waiting = [api.get(f"/v1/turns/{turn_id}").json()["status"] for turn_id in hung]
    told = api.get(f"/v1/turns/{hung[waiting.index('queued')]}/explain").json()

    assert (own["status"], late["status"], other["status"]) == ("succeeded", "failed", "succeeded")
    assert waiting.count("planning") == 8
    assert len(hanging.requests) - asked == 2
    assert told["cause"] == "waiting_for_worker"
    assert "of its tenant that are planned or answered now: 8" in told["message"]


@pytest.mark.drill
def test_recovery_does_not_wait_for_the_model(api: httpx2.Client, stack: Stack, hung: list[str]) -> None:
    """A killed worker's step runs again within seconds, and a turn whose model hangs is explained as planning."""
    turn_id = post(api, plan={"steps": [wait_step("slow", ms=8_000)]}, agent="generic")["turn_id"]
    wait_for(lambda: [step["status"] for step in api.get(f"/v1/turns/{turn_id}").json()["steps"]] == ["running"])
    for name in [name for name in stack.processes if name.startswith("worker-io-")]:  # either may run the step
        stack.processes[name].kill()
    killed = time.monotonic()
    wait_for(lambda: api.get(f"/v1/turns/{turn_id}").json()["steps"][0]["attempt"] == 2, 2 * RECOVERED_S)
    took_s = time.monotonic() - killed

    causes = {api.get(f"/v1/turns/{each}/explain").json()["cause"] for each in hung}
    assert took_s < 1.5 * RECOVERED_S
    assert causes <= {"planning", "waiting_for_worker", "retry_at"}
    assert finished(api, turn_id)["status"] == "succeeded"
