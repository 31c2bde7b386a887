"""Streamed planning: what only reads runs while the language model still writes the plan."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.facts import wait_for
from tests.journeys.following import assert_ran_once_in_order, events_of, finished, post, sim_lines, wait_step
from tests.journeys.speaking import PAUSE, Speaker, says, written
from tests.journeys.test_plans import random_dag


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


def write(name: str, *needs: str) -> dict[str, Any]:
    return {"id": name, "tool": "sim.write", "args": {"value": name}, "needs": list(needs)}


def ask(api: httpx2.Client, *answers: str) -> str:
    return str(post(api, says(*answers), agent="generic")["turn_id"])


def events(api: httpx2.Client, turn_id: str) -> list[str]:
    """Return the events of a final turn, those of a step with its id."""
    return [f"{kind} {data.get('step', '')}".strip() for kind, data in events_of(api, turn_id)]


def statuses(api: httpx2.Client, turn_id: str) -> dict[str, str]:
    return {step["id"]: step["status"] for step in api.get(f"/v1/turns/{turn_id}").json()["steps"]}


def test_what_only_reads_runs_while_the_plan_is_written(api: httpx2.Client, model: Speaker, log: Path) -> None:
    """Reads end before the plan does, each after those that it refers to; nothing with an effect starts."""
    needs = {"a": [], "b": ["a"], "echo": ["b"], "w": ["a"], "c": ["w"], "last": ["b", "c"]}
    steps = [
        wait_step("a"),
        wait_step("b", "a"),
        {"id": "echo", "tool": "sim.echo", "args": {"value": {"$from": "b.ms"}}, "needs": []},
        write("w", "a"),
        wait_step("c", "w"),
    ]
    turn_id = ask(api, written(*steps, PAUSE, wait_step("last", "b", "c")))

    wait_for(lambda: statuses(api, turn_id) == dict.fromkeys(["a", "b", "echo"], "succeeded"))
    meanwhile = api.get(f"/v1/turns/{turn_id}").json()
    model.gate.set()
    turn = finished(api, turn_id)

    assert (meanwhile["status"], {step["id"] for step in meanwhile["steps"]}) == ("planning", {"a", "b", "echo"})
    assert turn["status"] == "succeeded"
    assert_ran_once_in_order(log, turn_id, needs)
    told = events(api, turn_id)
    assert told.index("plan.step a") < told.index("step.started a") < told.index("step.finished b")
    assert told.index("step.finished echo") < told.index("plan.ready") < told.index("step.started w")


def test_random_plans_run_each_step_once_and_in_order(api: httpx2.Client, model: Speaker, log: Path) -> None:
    """However the end of the plan falls among its running steps, none of them runs twice or too soon."""
    rng = random.Random(5)
    shapes = [random_dag(seed, 14) for seed in range(16)]

    def steps(needs: dict[str, list[str]]) -> list[dict[str, Any]]:
        return [
            write(name, *before) if rng.random() < 0.15 else wait_step(name, *before, ms=rng.choice([0, 1, 20, 60]))
            for name, before in needs.items()
        ]

    plans = [steps(needs) for needs in shapes]
    with ThreadPoolExecutor(4) as pool:
        asked = list(pool.map(lambda plan: ask(api, written(*plan[:5], PAUSE, *plan[5:])), plans))
    wait_for(lambda: any(sim_lines(log, turn_id) for turn_id in asked))
    model.gate.set()
    turns = [finished(api, turn_id, 30) for turn_id in asked]

    assert {turn["status"] for turn in turns} == {"succeeded"}
    for turn_id, needs in zip(asked, shapes, strict=True):
        assert_ran_once_in_order(log, turn_id, needs)
    told = [events(api, turn_id) for turn_id in asked]
    assert any(kind.startswith("step.started") for kinds in told for kind in kinds[: kinds.index("plan.ready")])


def test_a_plan_that_turns_out_invalid_cancels_what_it_had_started(
    api: httpx2.Client, model: Speaker, log: Path
) -> None:
    """The repaired plan may use the same ids for other calls; what ran for the first one leaves no trace in them."""
    bad = written(wait_step("a", ms=2_000), wait_step("gone"), write("w"), PAUSE, {**write("b"), "tool": "sim.no"})
    good = written(wait_step("a", ms=3), wait_step("b", "a"))
    turn_id = ask(api, bad, good)
    wait_for(lambda: {("S", "a"), ("E", "gone")} <= set(sim_lines(log, turn_id)))
    wait_for(lambda: statuses(api, turn_id).get("a") == "running")

    model.gate.set()
    turn = finished(api, turn_id)

    by_id = {step["id"]: step for step in turn["steps"]}
    assert turn["status"] == "succeeded"
    assert (by_id["a"]["attempt"], by_id["a"]["result"]["ms"], by_id["b"]["status"]) == (2, 3, "succeeded")
    assert sim_lines(log, turn_id).count(("S", "b")) == 1
    told = events(api, turn_id)
    started = [index for index, event in enumerate(told) if event == "step.started a"]
    assert started[0] < told.index("step.finished a") < told.index("plan.ready") < started[1]


def test_a_turn_can_be_cancelled_while_its_plan_is_written(api: httpx2.Client, model: Speaker, log: Path) -> None:
    """Its reads stop with it, and the plan that comes late is nobody's."""
    turn_id = ask(api, written(wait_step("a", ms=2_000), wait_step("b"), write("w"), PAUSE, write("v")))
    wait_for(lambda: statuses(api, turn_id) == {"a": "running", "b": "succeeded"})

    api.post(f"/v1/turns/{turn_id}/cancel")
    turn = finished(api, turn_id)
    model.gate.set()

    assert turn["status"] == "cancelled"
    assert {step["id"]: step["status"] for step in turn["steps"]} == {"a": "cancelled", "b": "succeeded"}
    assert ("S", "w") not in sim_lines(log, turn_id)
