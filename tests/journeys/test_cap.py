"""On real workers, plans keep to their agent's limit of steps at a time, and a repeated call is made once."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.facts import wait_for
from tests.journeys.conftest import CAP
from tests.journeys.following import assert_ran_once_in_order, finished, post, sim_lines, wait_step
from tests.journeys.speaking import PAUSE, Speaker, says, written
from tests.journeys.test_plans import random_dag

PLACEMENTS = pytest.mark.parametrize("placement", ["spread", "dense"])


@pytest.fixture
def api(asking: httpx2.Client, model: Speaker) -> httpx2.Client:
    return asking


def most_at_once(log: Path, turn_id: str) -> int:
    """Return the largest number of steps that ran at the same time."""
    running = most = 0
    for kind, _ in sim_lines(log, turn_id):
        running += 1 if kind == "S" else -1
        most = max(most, running)
    return most


@PLACEMENTS
@pytest.mark.parametrize("told", ["by the caller", "by the model"])
def test_a_turn_never_runs_more_steps_at_a_time_than_its_agent_may(
    api: httpx2.Client, log: Path, placement: str, told: str
) -> None:
    """A turn uses the whole limit. Each step runs once and in order, also if it starts while the plan is written."""
    rng = random.Random(3)
    shapes: list[dict[str, list[str]]] = [{f"s{n}": [] for n in range(9)}, *(random_dag(seed, 12) for seed in range(4))]

    def ask(needs: dict[str, list[str]]) -> str:
        choices = [5, 30, 60] if any(needs.values()) else [600]
        steps = [wait_step(name, *before, ms=rng.choice(choices)) for name, before in needs.items()]
        if told == "by the caller":
            return str(post(api, plan={"steps": steps}, agent=f"capped-{placement}")["turn_id"])
        return str(post(api, says(written(*steps)), agent=f"capped-{placement}")["turn_id"])

    with ThreadPoolExecutor(2) as pool:
        asked = list(pool.map(ask, shapes))
    turns = [finished(api, turn_id, 30) for turn_id in asked]

    assert {turn["status"] for turn in turns} == {"succeeded"}
    for turn_id, needs in zip(asked, shapes, strict=True):
        assert_ran_once_in_order(log, turn_id, needs)
    most = [most_at_once(log, turn_id) for turn_id in asked]
    assert (max(most), most[0]) == (CAP, CAP)


@PLACEMENTS
def test_the_same_call_is_made_once_and_again_after_a_write(api: httpx2.Client, log: Path, placement: str) -> None:
    """A copy has the result of the call and the source `plan`, and steps that refer to it run."""
    read = {"tool": "sim.echo", "args": {"value": {"a": 1}}}
    steps: list[dict[str, Any]] = [
        {"id": "a", "needs": [], **read},
        {"id": "b", "needs": [], **read},
        {"id": "w", "tool": "sim.write", "args": {"value": 1}, "needs": ["b"]},
        {"id": "c", "needs": ["w"], **read},
        {"id": "d", "needs": ["w"], **read},
        {"id": "e", "tool": "sim.wait", "args": {"ms": 1, "payload": {"$from": "d.value.a"}}, "needs": ["b"]},
    ]

    turn = finished(api, post(api, plan={"steps": steps}, agent=f"capped-{placement}")["turn_id"])

    by_id = {step["id"]: step for step in turn["steps"]}
    assert {step["status"] for step in turn["steps"]} == {"succeeded"}
    assert sorted(step for kind, step in sim_lines(log, turn["turn_id"]) if kind == "S") == ["a", "c", "e", "w"]
    assert [(by_id[name]["cache"], by_id[name]["needs"]) for name in "abcd"] == [
        (None, []),
        ("plan", []),
        (None, ["w"]),
        ("plan", ["w"]),
    ]
    assert (by_id["d"]["result"], by_id["e"]["result"]["payload"]) == ({"value": {"a": 1}}, 1)


@PLACEMENTS
def test_a_copy_may_start_early(api: httpx2.Client, model: Speaker, log: Path, placement: str) -> None:
    """A copy follows from a step that started while the plan was written."""
    read = {"tool": "sim.echo", "args": {"value": 1}, "needs": []}
    answer = written({"id": "a", **read}, {"id": "b", **read}, PAUSE, wait_step("c", "b"))
    model.gate.clear()
    turn_id = post(api, says(answer), agent=f"capped-{placement}")["turn_id"]
    wait_for(lambda: ("E", "a") in sim_lines(log, turn_id))
    model.gate.set()

    turn = finished(api, turn_id)

    assert [step["status"] for step in turn["steps"]] == ["succeeded"] * 3
    assert {step for _, step in sim_lines(log, turn["turn_id"])} == {"a", "c"}
