"""Reads that run while the language model still writes: whoever watches sees them, and nothing of them is lost."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.facts import wait_for
from tests.journeys.following import finished, post, sim_lines, wait_step
from tests.journeys.speaking import PAUSE, Speaker, says, written
from tests.journeys.test_streaming import events, statuses


@pytest.fixture
def model(speaking: Speaker) -> Iterator[Speaker]:
    """The language model, its gate closed."""
    speaking.gate.clear()
    yield speaking
    speaking.gate.set()


@pytest.fixture(params=["asking", "asking_dense"])
def api(request: pytest.FixtureRequest) -> httpx2.Client:
    """The stacks that ask this language model."""
    client: httpx2.Client = request.getfixturevalue(request.param)
    return client


def test_a_slow_read_is_seen_while_the_plan_is_written(api: httpx2.Client, model: Speaker) -> None:
    """The model writes nothing more; the stream tells of the step, its start and its end, and the turn is planned."""
    plan = written(wait_step("a", ms=500), PAUSE, wait_step("b", "a"))
    turn_id = post(api, says(plan), agent="generic")["turn_id"]
    seen: list[str] = []
    with api.stream("GET", f"/v1/turns/{turn_id}/events") as stream:
        for line in stream.iter_lines():
            seen += [line.removeprefix("event: ")] if line.startswith("event: ") else []
            if seen[-1:] == ["step.started"]:
                explained = api.get(f"/v1/turns/{turn_id}/explain").json()["cause"]
            if seen[-1:] == ["step.finished"]:
                break
    running = api.get(f"/v1/turns/{turn_id}").json()["status"]
    model.gate.set()

    turn = finished(api, turn_id)

    assert seen == ["turn.queued", "plan.started", "plan.step", "step.started", "step.finished"]
    assert (explained, running, turn["status"]) == ("planning", "planning", "succeeded")


def test_a_deadline_ends_a_turn_while_its_plan_is_written(api: httpx2.Client, model: Speaker) -> None:
    """The model hangs in the middle: the turn ends with a word, what has ended stays, and nothing runs on."""
    plan = written(wait_step("a"), wait_step("b", ms=20_000), PAUSE, wait_step("c"))
    turn_id = post(api, says(plan), agent="generic", deadline_ms=3_000)["turn_id"]

    turn = finished(api, turn_id)
    model.gate.set()

    ended = {step["id"]: step["status"] for step in turn["steps"]}
    assert bool(turn["reply"]["text"])
    assert ended["a"] == "succeeded"
    assert ended.keys() == {"a", "b"}
    assert ended["b"] in ("failed", "cancelled")  # whoever of the call and the planner comes first


def test_a_read_that_has_to_wait_is_made_again_at_its_time(api: httpx2.Client, model: Speaker, log: Path) -> None:
    """Its failure names a time: it is parked, and what needs it comes after it."""
    later = {"id": "a", "tool": "sim.flaky", "args": {"fail_times": 1, "retry_after_s": 1.5}, "timeout_ms": 1_000}
    turn_id = post(api, says(written({**later, "needs": []}, PAUSE, wait_step("b", "a"))), agent="generic")["turn_id"]
    wait_for(lambda: "a" in statuses(api, turn_id))
    model.gate.set()

    turn = finished(api, turn_id)

    assert [(step["status"], step["attempt"]) for step in turn["steps"]] == [("succeeded", 2), ("succeeded", 1)]
    assert sim_lines(log, turn_id).count(("E", "a")) == 1
    told = events(api, turn_id)
    assert told.index("step.retry a") < told.index("step.finished a") < told.index("step.started b")
