"""Redis or the workers stop while a turn waits for a person, or before anybody plans it."""

from pathlib import Path

import httpx2
import pytest

from tests.facts import is_alive, wait_for
from tests.journeys.following import assert_ran_once_in_order, finished, post
from tests.journeys.test_cancellation import cancel
from tests.journeys.test_parking import NEEDS, decide, waiting
from turnloom.workers.embedded.stack import Stack

pytestmark = [pytest.mark.drill, pytest.mark.timeout(120)]


def test_cancelling_a_turn_that_nobody_plans(stack: Stack, api: httpx2.Client) -> None:
    """While Redis is down, a turn can be cancelled. It is answered when Redis is back."""
    stack.redis.stop()
    try:
        turn_id = post(api)["turn_id"]
        answer = cancel(api, turn_id)
    finally:
        stack.redis.start()

    assert (answer.status_code, answer.json()["status"]) == (202, "responding")
    assert finished(api, turn_id, within_s=25)["status"] == "cancelled"


def test_workers_that_die_while_a_call_waits_lose_nothing(stack: Stack, api: httpx2.Client, sim_log: Path) -> None:
    """No process holds the waiting call. After the approval, the workers that replaced the dead ones make it."""
    turn_id = waiting(api)
    workers = [process for name, process in stack.processes.items() if name.startswith("worker-io")]
    pids = [process.pid for process in workers]
    for process in workers:
        process.kill()
    wait_for(lambda: all(pid is None or not is_alive(pid) for pid in pids))

    decide(api, turn_id)

    assert finished(api, turn_id, within_s=30)["status"] == "succeeded"
    assert_ran_once_in_order(sim_log, turn_id, NEEDS)
