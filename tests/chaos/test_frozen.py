"""Processes that exist but do nothing, as after a pause of the machine, stop nobody else."""

import os
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import psycopg
import pytest

from tests.chaos.drills import PLACEMENT
from tests.facts import wait_for
from tests.journeys.following import finished, post, run, wait_step
from tests.journeys.stacks import client_of, frozen
from turnloom.models.runtime.settings import settings
from turnloom.workers.embedded.notify_socket import SILENCE_S
from turnloom.workers.embedded.stack import Stack, StackOptions

pytestmark = [pytest.mark.drill, pytest.mark.timeout(180)]

PROMISED_S = 10.0
"""The time until the step of a dead worker runs again. It may be half as long again on a busy machine."""


@pytest.fixture(scope="module")
def stack(clean_environment: None) -> Iterator[Stack]:
    """A stack with two web servers and two planners."""
    settings.cache_clear()
    own = {"TURNLOOM_PLACEMENT": PLACEMENT}
    with Stack(StackOptions(data_dir=None, port=0, webs=2, planners=2, tool_workers=1, settings=own)) as started:
        yield started


def leader(stack: Stack) -> int:
    """Wait until a process leads recovery, and return its id."""
    led: list[tuple[str]] = []
    with psycopg.connect(stack.database_url, autocommit=True) as db:
        query = "SELECT holder FROM leaders WHERE lease_until > clock_timestamp()"
        wait_for(lambda: led.extend(db.execute(query)) or led)
    return int(led[0][0].rpartition("/")[2])


def running_outside(api: httpx2.Client, leading: int) -> tuple[str, int]:
    """Post until a slow step runs outside the process `leading`. Returns its turn and the process that runs it."""
    for _ in range(10):
        turn_id = post_slow(api)
        if (worker := worker_of(api, turn_id)) != leading:
            return turn_id, worker
    raise AssertionError("all steps ran in the leader")


def post_slow(api: httpx2.Client) -> str:
    """Return a turn whose only step runs, for long."""
    turn_id: str = post(api, plan={"steps": [wait_step("slow", ms=8_000)]}, agent="generic")["turn_id"]
    wait_for(lambda: [step["status"] for step in _steps(api, turn_id)] == ["running"])
    return turn_id


def worker_of(api: httpx2.Client, turn_id: str) -> int:
    """Return the process that runs the first step."""
    return int(_steps(api, turn_id)[0]["worker"].rpartition("/")[2])


def _steps(api: httpx2.Client, turn_id: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = api.get(f"/v1/turns/{turn_id}").json()["steps"]
    return steps


def test_a_frozen_leader_keeps_recovery_out_for_seconds_only(stack: Stack) -> None:
    """The step of a killed worker runs again in time, although the process that leads recovery is frozen."""
    with client_of(stack) as api:
        leading = leader(stack)
        turn_id, worker = running_outside(api, leading)
        with frozen(leading):
            next(process for process in stack.processes.values() if process.pid == worker).kill()
            killed = time.monotonic()
            wait_for(lambda: _steps(api, turn_id)[0]["attempt"] == 2, 2 * PROMISED_S)
            took_s = time.monotonic() - killed
            turn = finished(api, turn_id)

    assert turn["status"] == "succeeded"
    assert took_s < 1.5 * PROMISED_S


@pytest.mark.parametrize("name", ["web", "worker-plan"])
def test_one_frozen_process_of_two_stops_nothing(stack: Stack, name: str) -> None:
    """New turns are accepted, planned and answered. The watchdog ends the frozen process, and it is started again."""
    process = stack.processes[name]
    before = process.restarts
    with frozen(process.pid):
        for number in range(8):
            with client_of(stack) as api:
                turn = run(api, [wait_step("a")], conversation_id=f"{name}-{number}")
            assert turn["status"] == "succeeded"
        wait_for(lambda: process.restarts > before, 3 * SILENCE_S)


def test_a_request_without_a_running_web_server_is_answered(stack: Stack) -> None:
    """The socket outlives the web servers. A request waits there and is not refused."""
    for name in ("web", "web-2"):
        stack.processes[name].kill()

    with client_of(stack) as api:
        assert api.get("/healthz").status_code == 200


def test_a_frozen_worker_is_named_by_every_check(stack: Stack, loaded_python: list[str]) -> None:
    """With a frozen worker the stack accepts turns but is not healthy, and only this worker's probe fails."""

    def probe(*command: str) -> int:
        environment = {**os.environ, **stack.environment}
        line = [*loaded_python, "-m", "turnloom.workers.cli", *command, "--check"]
        return subprocess.run(line, env=environment, check=False).returncode

    def healthy() -> httpx2.Response:
        return httpx2.get(f"{stack.url}/healthz?deep=1")

    wait_for(lambda: healthy().status_code == 200)
    stopped = stack.processes["worker-cpu"]
    stopped.is_watched = False
    try:
        with frozen(stopped.pid):
            wait_for(lambda: healthy().status_code == 503, within_s=15)

            told, ready = healthy().json(), httpx2.get(f"{stack.url}/readyz").status_code
            wait_for(lambda: probe("worker", "--name", "worker-cpu") == 1)
            wait_for(lambda: probe("worker", "--name", "worker-io-1") == 0, within_s=30)
            beat = probe("beat")
    finally:
        stopped.is_watched = True
    wait_for(lambda: healthy().status_code == 200)

    assert beat == 0
    assert ("tools.cpu" in told["detail"], "tools.io" in told["detail"], ready) == (True, False, 200)
