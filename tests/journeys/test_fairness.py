"""A burst of one user, or a batch, delays nobody else of its tenant, on the whole stack."""

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from datetime import datetime
from typing import Any

import httpx2
import pytest

from turnloom.models.runtime.ids import new_id

_BURST = 24
_PLAN = {"steps": [{"id": "a", "tool": "sim.wait", "args": {"ms": 300}}]}


def _ended(api: httpx2.Client, **body: Any) -> dict[str, Any]:
    """Post a message and return its finished turn."""
    answer = api.post("/v1/turns", params={"wait": 30}, json={"message": "go", "plan": _PLAN, **body})
    assert answer.status_code == httpx2.codes.OK, answer.text
    turn: dict[str, Any] = answer.json()
    return turn


def _of_a_user() -> dict[str, Any]:
    return {"user": {"id": f"many-{new_id()}"}}


def _of_a_batch() -> dict[str, Any]:
    return {"priority": "batch"}


@pytest.mark.parametrize("makes", [_of_a_user, _of_a_batch])
def test_a_burst_goes_a_few_at_a_time_and_is_passed(api: httpx2.Client, makes: Callable[[], dict[str, Any]]) -> None:
    """Most of it does not delay whoever comes after it, and at no time are most of its turns in work."""
    of_burst = makes()
    with ThreadPoolExecutor(_BURST) as pool:
        burst = [pool.submit(_ended, api, **of_burst) for _ in range(_BURST)]
        wait(burst, return_when=FIRST_COMPLETED)
        other = _ended(api, user={"id": f"one-{new_id()}"})
        turns = [each.result() for each in burst]

    assert {turn["priority"] for turn in turns} == {of_burst.get("priority", "interactive")}
    spans = [(_begun(turn), _begun(turn) + turn["timings"]["tools_ms"]) for turn in turns]
    most = max(sum(begun <= at < ended for begun, ended in spans) for at, _ in spans)
    # Processes that count at the same moment let a few more pass, each as many as the window has.
    assert most <= _BURST / 2
    other_end = _begun(other) + other["timings"]["tools_ms"]
    assert sum(_ms(other["created_at"]) <= ended < other_end for _, ended in spans) < _BURST / 2


def _begun(turn: dict[str, Any]) -> float:
    """Return when a turn's step started."""
    return _ms(turn["steps"][0]["started_at"])


def _ms(moment: str) -> float:
    """Return a moment of the ledger's clock in milliseconds."""
    return datetime.fromisoformat(moment).timestamp() * 1_000
