"""Follow a turn over HTTP, and read which calls the sim pack made."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx2

from tests.facts import wait_for, whole_lines
from turnloom.planner.plan.graph import transitive_closure

FINAL = {"succeeded", "failed", "cancelled", "superseded"}


def post(api: httpx2.Client, message: str = "go", **request: Any) -> dict[str, Any]:
    """Post a turn; return the acceptance."""
    answer = api.post("/v1/turns", json={"message": message, **request})
    assert answer.status_code == 202, answer.text
    accepted: dict[str, Any] = answer.json()
    return accepted


def finished(api: httpx2.Client, turn_id: str, within_s: float = 20) -> dict[str, Any]:
    """Return a turn once it is final."""
    turn: dict[str, Any] = {}

    def is_final() -> bool:
        turn.update(api.get(f"/v1/turns/{turn_id}").json())
        return turn["status"] in FINAL

    wait_for(is_final, within_s)
    return turn


def run(api: httpx2.Client, steps: Iterable[Mapping[str, Any]], **request: Any) -> dict[str, Any]:
    """Post a plan and return its finished turn."""
    return finished(api, post(api, plan={"steps": list(steps)}, agent="generic", **request)["turn_id"])


def kinds(api: httpx2.Client, turn_id: str) -> list[str]:
    """Return the types of a final turn's events, in order."""
    return [kind for kind, _ in events_of(api, turn_id)]


def events_of(api: httpx2.Client, turn_id: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the events of a final turn, in order: type and data."""
    lines = api.get(f"/v1/turns/{turn_id}/events").text.splitlines()
    told = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    data = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    return list(zip(told, data, strict=True))


def wait_step(name: str, *needs: str, ms: int = 1, **fields: Any) -> dict[str, Any]:
    return {"id": name, "tool": "sim.wait", "args": {"ms": ms}, "needs": list(needs), **fields}


def sim_lines(log: Path, turn_id: str) -> list[tuple[str, str]]:
    """Return the lines that the sim pack wrote for a turn, in order: (S or E, step)."""
    lines = (line.split() for line in whole_lines(log))
    return [(kind, step) for kind, turn, step, _, _ in lines if turn == turn_id]


def assert_ran_once_in_order(log: Path, turn_id: str, needs: Mapping[str, Iterable[str]]) -> None:
    """Assert that every step started and ended once, and that none started before its needs had ended."""
    lines = sim_lines(log, turn_id)
    counts = Counter(lines)
    assert counts == {(kind, step): 1 for kind in "SE" for step in needs}
    place = {entry: index for index, entry in enumerate(lines)}
    for step, before in transitive_closure(needs).items():
        for need in before:
            assert place["E", need] < place["S", step], f"{step} started before {need} had ended"
