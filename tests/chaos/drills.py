"""Drills: load a stack, break something, and count what became of every accepted turn."""

import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from planner.graph import transitive_closure
from tests.facts import wait_for
from tests.journeys.following import FINAL, wait_step
from workers.embedded import Stack, StackOptions

PLAN = [
    wait_step("a", ms=40),
    wait_step("b", ms=20),
    wait_step("c", "a", ms=20),
    wait_step("d", "a", "b", ms=10),
    {"id": "e", "tool": "sim.write", "args": {"value": 1, "ms": 10}, "needs": ["c"]},
    {"id": "f", "tool": "sim.echo", "args": {"value": {"$from": "e.value"}}, "needs": ["d"]},
]
"""An N, so that it needs ledger joins, with a write in it."""

NEEDS: dict[str, list[str]] = {"a": [], "b": [], "c": ["a"], "d": ["a", "b"], "e": ["c"], "f": ["d", "e"]}


@dataclass
class Report:
    """What a drill found. `lost`, `doubled`, `disorders` and `leases` must be zero."""

    accepted: int = 0
    final: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    effects_expected: int = 0
    effects_seen: int = 0
    doubled: int = 0
    disorders: int = 0
    attempts_wasted: int = 0
    leases: int = 0
    p50_s: float = 0.0
    p95_s: float = 0.0

    @property
    def lost(self) -> int:
        """Accepted turns that are not final."""
        return self.accepted - self.final

    def __str__(self) -> str:
        statuses = ", ".join(f"{count} {status}" for status, count in self.statuses.items())
        return (
            f"accepted {self.accepted}, final {self.final} ({statuses}), lost {self.lost}; effects expected"
            f" {self.effects_expected}, seen {self.effects_seen}, doubled {self.doubled}; disorders {self.disorders};"
            f" attempts wasted {self.attempts_wasted}; delay p50 {self.p50_s:.2f} s, p95 {self.p95_s:.2f} s;"
            f" leases at the end {self.leases}"
        )


@contextmanager
def drilled_stack(log: Path, **settings: str) -> Iterator[tuple[Stack, httpx2.Client]]:
    """Run a stack of the drill's own: what it breaks is nobody else's."""
    options = StackOptions(data_dir=None, port=0, settings={"TURNLOOM_SIM_LOG": str(log), **settings})
    log.touch()
    with Stack(options) as stack:
        headers = {"Authorization": f"Bearer {stack.dev_key}"}
        with httpx2.Client(base_url=stack.url, headers=headers, timeout=40) as api:
            yield stack, api


def drill(
    api: httpx2.Client,
    log: Path,
    turns: int,
    disturb: Callable[[threading.Event], None],
    *,
    within_s: float,
    pause_s: float = 0.02,
) -> Report:
    """Post turns at a steady pace while `disturb` breaks things until it is told to stop; then wait and count."""
    stopping = threading.Event()
    breaker = threading.Thread(target=disturb, args=(stopping,), daemon=True)
    breaker.start()
    posted = []
    for number in range(turns):
        posted.append(post_until_accepted(api, plan={"steps": PLAN}, message_id=f"drill-{number}"))
        threading.Event().wait(pause_s)
    stopping.set()
    breaker.join()
    views: dict[str, dict[str, Any]] = {}

    def all_final() -> bool:
        for turn_id in posted:
            if views.get(turn_id, {}).get("status") not in FINAL:
                views[turn_id] = look(api, turn_id)
        return all(view.get("status") in FINAL for view in views.values())

    deadline = time.monotonic() + within_s
    while not all_final() and time.monotonic() < deadline:
        threading.Event().wait(0.2)
    return _count(log, views)


def kill_at_random(stack: Stack, seed: int, every_s: float) -> Callable[[threading.Event], None]:
    """Return a disturbance that kills a random worker process with SIGKILL every so often."""
    rng = random.Random(seed)

    def disturb(stopping: threading.Event) -> None:
        names = [name for name in stack.processes if name.startswith("worker")]
        while not stopping.wait(every_s):
            stack.processes[rng.choice(names)].kill()

    return disturb


def once(after_s: float, action: Callable[[], object]) -> Callable[[threading.Event], None]:
    """Return a disturbance that does one thing after a while."""

    def disturb(stopping: threading.Event) -> None:
        stopping.wait(after_s)
        action()

    return disturb


def post_until_accepted(api: httpx2.Client, **request: Any) -> str:
    """Post a turn, under its message id, until it is accepted: the API itself may be down for a moment."""
    body = {"message": "go", "agent": "generic", **request}
    accepted: dict[str, Any] = {}

    def is_accepted() -> bool:
        try:
            answer = api.post("/v1/turns", json=body)
        except httpx2.TransportError:
            return False
        accepted.update(answer.json() if answer.status_code in (200, 202) else {})
        return bool(accepted)

    wait_for(is_accepted, 30)
    return str(accepted["turn_id"])


def look(api: httpx2.Client, turn_id: str) -> dict[str, Any]:
    """Return a turn as it stands; nothing while the API is down."""
    try:
        answer = api.get(f"/v1/turns/{turn_id}")
    except httpx2.TransportError:
        return {}
    view: dict[str, Any] = answer.json() if answer.status_code == 200 else {}
    return view


def _count(log: Path, views: dict[str, dict[str, Any]]) -> Report:
    final = {turn_id: view for turn_id, view in views.items() if view.get("status") in FINAL}
    effects = Counter(
        (turn, step)
        for kind, turn, step, _, _ in map(str.split, log.read_text().splitlines())
        if kind == "E" and step == "e"
    )
    steps = [step for view in final.values() for step in view["steps"]]
    delays = sorted(view["timings"]["total_ms"] / 1000 for view in final.values()) or [0.0]
    return Report(
        accepted=len(views),
        final=len(final),
        statuses=Counter(view["status"] for view in final.values()),
        effects_expected=sum(step["id"] == "e" and step["status"] == "succeeded" for step in steps),
        effects_seen=len(effects),
        doubled=sum(count > 1 for count in effects.values()),
        disorders=sum(disorders(view["steps"]) for view in final.values()),
        attempts_wasted=sum(max(0, step["attempt"] - 1) for step in steps),
        leases=sum(step["status"] == "running" for step in steps),
        p50_s=statistics.median(delays),
        p95_s=delays[int(len(delays) * 0.95)] if len(delays) > 1 else delays[0],
    )


def disorders(steps: list[dict[str, Any]], needs: dict[str, list[str]] = NEEDS) -> int:
    """Count the steps whose (last) run started before one of their needs had ended."""
    by_id = {step["id"]: step for step in steps if step["started_at"]}
    return sum(
        by_id[step]["started_at"] < by_id[need]["finished_at"]
        for step, before in transitive_closure(needs).items()
        for need in before
        if step in by_id and need in by_id
    )
