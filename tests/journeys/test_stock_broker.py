"""The journeys of plans also pass with Celery's own messages, chords and transport."""

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx2
import pytest
from redis import Redis

from tests.conftest import stack_on
from tests.journeys import test_cancellation, test_parking, test_plans
from tests.journeys.following import run, wait_step
from tests.journeys.stacks import client_of
from turnloom.workers.embedded.servers import EmbeddedServers
from turnloom.workers.embedded.stack import Stack

SHAPES = (
    *("group of three groups", "header chain that ends in a group", "nested chords in a header"),
    *("chord at the end of both branches", "chain of forty", "fan-out of forty", "random 1"),
)
JOURNEYS: dict[str, Callable[..., None]] = {
    **{name: partial(test_plans.test_each_step_runs_once_and_in_order, name=name) for name in SHAPES},
    **{
        journey.__name__: journey
        for journey in (
            test_plans.test_independent_steps_overlap_on_separate_processes,
            test_plans.test_a_failure_is_reported_and_the_rest_continues,
            test_plans.test_short_failures_are_retried_inside_the_claim,
            test_plans.test_steps_that_need_cpu_run_on_the_process_pool,
            test_parking.test_a_branch_of_a_chord_waits_for_approval,
            test_parking.test_a_call_that_names_a_time_is_made_at_that_time,
            test_cancellation.test_cancelling_a_running_read,
            test_cancellation.test_the_next_message_interrupts_a_turn_that_only_reads,
        )
    },
}


@pytest.fixture(scope="module")
def stock(servers: EmbeddedServers, sim_log: Path) -> Iterator[Stack]:
    """A stack whose broker code is all Celery's."""
    settings = {"TURNLOOM_BROKER_FAST": "0", "TURNLOOM_SIM_LOG": str(sim_log)}
    with stack_on(servers, **settings) as stack:
        yield stack


@pytest.fixture
def api(stock: Stack) -> Iterator[httpx2.Client]:
    """A client of the stack with Celery's own broker code."""
    with client_of(stock) as client:
        yield client


@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("name", JOURNEYS)
def test_a_journey_passes(request: pytest.FixtureRequest, name: str) -> None:
    """The same journey passes with the fast broker."""
    journey = JOURNEYS[name]
    wanted = inspect.signature(journey).parameters.keys() - {"name"}

    journey(**{each: request.getfixturevalue(each) for each in wanted})


def test_celery_alone_carries_a_canvas(stock: Stack, api: httpx2.Client) -> None:
    """Celery's backend counts the chord, and messages go through exchanges that kombu has declared."""
    turn = run(api, [wait_step("a"), wait_step("b"), wait_step("c", "a", "b"), wait_step("d", "a")])

    with Redis.from_url(stock.redis_url, decode_responses=True) as redis:
        keys = set(redis.scan_iter())
    assert turn["status"] == "succeeded"
    assert not [key for key in keys if key.startswith("turnloom:chord:")]
    assert "_kombu.binding.tools.io" in keys
