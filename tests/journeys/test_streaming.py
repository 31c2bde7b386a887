"""With streamed planning, reads run while the language model is still writing the plan."""

import json
import random
import time
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
    """The language model; its gate is closed."""
    speaking.gate.clear()
    yield speaking
    speaking.gate.set()


@pytest.fixture(params=["asking", "asking_dense"])
def api(request: pytest.FixtureRequest) -> httpx2.Client:
    """A client of each stack that asks this language model."""
    client: httpx2.Client = request.getfixturevalue(request.param)
    return client


def write(name: str, *needs: str) -> dict[str, Any]:
    return {"id": name, "tool": "sim.write", "args": {"value": name}, "needs": list(needs)}


def ask(api: httpx2.Client, *answers: str) -> str:
    return str(post(api, says(*answers), agent="generic")["turn_id"])


def events(api: httpx2.Client, turn_id: str) -> list[str]:
    """Return the events of a final turn; a step's event ends with the step's id."""
    return [f"{kind} {data.get('step', '')}".strip() for kind, data in events_of(api, turn_id)]


def statuses(api: httpx2.Client, turn_id: str) -> dict[str, str]:
    return {step["id"]: step["status"] for step in api.get(f"/v1/turns/{turn_id}").json()["steps"]}


def test_reads_run_while_the_plan_is_written(api: httpx2.Client, model: Speaker, log: Path) -> None:
    """Reads end before the plan is complete, each after the steps that it refers to. Nothing with an effect starts."""
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


def test_a_direct_reply_is_told_while_the_plan_is_written(api: httpx2.Client, model: Speaker) -> None:
    """A reader sees its first sentence while the turn is still being planned, and the end brings all of it."""
    sentences = [
        "Hello, it is good to hear from you again.\n",
        "What can I do for you this morning?\n",
        "Ask me anything.",
    ]
    begun = json.dumps({"thought": "t", "steps": [], "reply": "".join(sentences[:2])}).removesuffix('"}')
    turn_id = ask(api, f'{begun}{PAUSE}{sentences[2]}"}}')

    with api.stream("GET", f"/v1/turns/{turn_id}/events") as live:
        next(line for line in live.iter_lines() if "good to hear" in line)
    read_at = time.monotonic()
    meanwhile = api.get(f"/v1/turns/{turn_id}").json()
    paused_ms = (time.monotonic() - read_at) * 1000
    model.gate.set()
    turn = finished(api, turn_id)
    (plan,) = api.get(f"/v1/turns/{turn_id}/trace.json").json()["plans"]

    assert (meanwhile["status"], meanwhile["reply"]) == ("planning", None)
    assert turn["reply"]["text"] == "".join(sentences)
    assert plan["trace"]["streaming_ms"] > paused_ms  # so long before it was recorded the first sentence could be read


def test_random_plans_run_each_step_once_and_in_order(api: httpx2.Client, model: Speaker, log: Path) -> None:
    """No step runs twice or too soon, wherever the end of the plan falls among the running steps."""
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


def test_an_invalid_plan_cancels_its_early_steps(api: httpx2.Client, model: Speaker, log: Path) -> None:
    """The repaired plan may use the same ids for other calls. Results of the first calls do not appear in them."""
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
    """The reads stop with the turn, and a plan that comes late is ignored."""
    turn_id = ask(api, written(wait_step("a", ms=2_000), wait_step("b"), write("w"), PAUSE, write("v")))
    wait_for(lambda: statuses(api, turn_id) == {"a": "running", "b": "succeeded"})

    api.post(f"/v1/turns/{turn_id}/cancel")
    turn = finished(api, turn_id)
    model.gate.set()

    assert turn["status"] == "cancelled"
    assert {step["id"]: step["status"] for step in turn["steps"]} == {"a": "cancelled", "b": "succeeded"}
    assert ("S", "w") not in sim_lines(log, turn_id)


def test_a_slow_read_is_seen_while_the_plan_is_written(api: httpx2.Client, model: Speaker) -> None:
    """While the model pauses, the stream shows the step's start and end, and the turn is still planning."""
    plan = written(wait_step("a", ms=500), PAUSE, wait_step("b", "a"))
    turn_id = ask(api, plan)
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
    """The model hangs in the middle. The turn ends with a reply, finished steps stay, and no step runs on."""
    plan = written(wait_step("a"), wait_step("b", ms=20_000), PAUSE, wait_step("c"))
    turn_id = post(api, says(plan), agent="generic", deadline_ms=3_000)["turn_id"]

    turn = finished(api, turn_id)
    model.gate.set()

    ended = {step["id"]: step["status"] for step in turn["steps"]}
    assert bool(turn["reply"]["text"])
    assert ended["a"] == "succeeded"
    assert ended.keys() == {"a", "b"}
    assert ended["b"] in ("failed", "cancelled")  # depends on whether the call or the planner is first


def test_a_parked_read_is_made_again_at_its_time(api: httpx2.Client, model: Speaker, log: Path) -> None:
    """The read's failure names a time, so the step is parked. The step that needs it comes after it."""
    later = {"id": "a", "tool": "sim.flaky", "args": {"fail_times": 1, "retry_after_s": 1.5}, "timeout_ms": 1_000}
    turn_id = ask(api, written({**later, "needs": []}, PAUSE, wait_step("b", "a")))
    wait_for(lambda: "a" in statuses(api, turn_id))
    model.gate.set()

    turn = finished(api, turn_id)

    assert [(step["status"], step["attempt"]) for step in turn["steps"]] == [("succeeded", 2), ("succeeded", 1)]
    assert sim_lines(log, turn_id).count(("E", "a")) == 1
    told = events(api, turn_id)
    assert told.index("step.retry a") < told.index("step.finished a") < told.index("step.started b")
