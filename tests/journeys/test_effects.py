"""An effect that has happened is never reported as failed, and small plans cannot become huge."""

from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.journeys.following import run, sim_lines


def echo(name: str, value: Any) -> dict[str, Any]:
    return {"id": name, "tool": "sim.echo", "args": {"value": value}}


def test_a_write_whose_result_is_too_large_has_happened(api: httpx2.Client, sim_log: Path) -> None:
    """The step is unknown, whatever the tool and its backend return. The reply says that it may have been done."""
    large = [echo("a", "x" * 104_850), echo("b", [{"$from": "a.value"}] * 10)]

    turn = run(api, [*large, {"id": "w", "tool": "sim.write", "args": {"value": {"$from": "b.value"}}}])

    ended = turn["steps"][2]
    assert Counter(sim_lines(sim_log, turn["turn_id"]))["E", "w"] == 1
    assert (ended["status"], ended["error"]["code"]) == ("unknown", "INTERNAL_ERROR")
    assert "bytes" in ended["error"]["message"]


def test_a_small_plan_cannot_ask_for_gigabytes(api: httpx2.Client, sim_log: Path) -> None:
    """A step whose arguments would be too large fails before the call, with its id and the size."""
    steps = [
        echo("a", "x" * 150_000),
        echo("b", [{"$from": "a.value"}] * 6),
        {"id": "c", "tool": "sim.write", "args": {"value": [{"$from": "b.value"}] * 800}},
    ]

    turn = run(api, steps)

    error = turn["steps"][2]["error"]
    assert (turn["steps"][2]["status"], error["code"]) == ("failed", "BAD_ARGS")
    assert error["message"].startswith("step 'c': the arguments are at least ")
    assert sim_lines(sim_log, turn["turn_id"])[-1] == ("E", "b")


@pytest.mark.parametrize(
    ("second", "made"),
    [
        ({"args": {"value": 7.0}}, 1),
        ({"args": {"value": {"$from": "a.value"}, "ms": 0}}, 1),
        ({"args": {"value": 7}, "purpose": "for the other shelf"}, 2),
        ({"args": {"value": 8}}, 2),
    ],
    ids=["another spelling", "a reference", "another purpose", "other arguments"],
)
def test_the_same_effect_happens_once_in_a_turn(
    api: httpx2.Client, sim_log: Path, second: dict[str, Any], made: int
) -> None:
    """A second one is made only if it has other arguments or another purpose."""
    first = {"id": "w", "tool": "sim.write", "args": {"value": 7}}

    turn = run(api, [echo("a", 7), first, {"id": "x", "tool": "sim.write", **second}])

    effects = Counter(step for kind, step in sim_lines(sim_log, turn["turn_id"]) if kind == "E" and step in "wx")
    assert sum(effects.values()) == made
    codes = sorted((step["error"] or {}).get("code") or "" for step in turn["steps"][1:])
    assert codes == (["", ""] if made == 2 else ["", "CONFLICT"])
