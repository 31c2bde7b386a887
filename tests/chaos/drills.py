"""Run drills: load a stack, break something, and count how every accepted turn ended."""

import os
import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast
from uuid import uuid4

import httpx2
import psycopg

from tests.facts import wait_for, whole_lines
from tests.journeys.following import FINAL, wait_step
from turnloom.models.contracts.fault_file import FaultFile
from turnloom.models.runtime.settings import Placement, settings
from turnloom.planner.plan.graph import transitive_closure
from turnloom.workers.embedded.servers import DATABASE
from turnloom.workers.embedded.stack import Stack, StackOptions

PLAN = [
    wait_step("a", ms=40),
    wait_step("b", ms=20),
    wait_step("c", "a", ms=20),
    wait_step("d", "a", "b", ms=10),
    {"id": "e", "tool": "sim.write", "args": {"value": 1, "ms": 10}, "needs": ["c"]},
    {"id": "f", "tool": "sim.echo", "args": {"value": {"$from": "e.value"}}, "needs": ["d"]},
]
"""A plan in the shape of an N, which needs ledger joins, with one write."""

NEEDS: dict[str, list[str]] = {"a": [], "b": [], "c": ["a"], "d": ["a", "b"], "e": ["c"], "f": ["d", "e"]}

TURNS = int(os.environ.get("TURNLOOM_DRILL_TURNS", "60"))
LONG = TURNS >= 200
"""Whether each drill runs in its long form: `make chaos` without SHORT."""

PLACEMENT = cast("Placement", os.environ.get("TURNLOOM_DRILL_PLACEMENT", "spread"))
"""The placement of every stack whose drill does not choose one."""

WITHIN_S = 60
"""The time within which a turn of a drill must be final."""
UNCLAIMED = "0"
"""The attempt of a read without a claim. It runs again if its worker is killed or its message comes twice."""
_BACK_S = 60
"""The time for which a client tries to get a message accepted."""


@dataclass(frozen=True)
class Ground:
    """A stack of the drill's own, which the drill may break."""

    stack: Stack
    api: httpx2.Client
    log: Path
    """The calls that the sim pack made."""
    crash_at: Path
    """The file that names the crash points at which processes die."""

    def admin(self) -> psycopg.Connection:
        """Connect to the stack's database as the superuser."""
        return psycopg.connect(f"{self.stack.postgres.url.rpartition('/')[0]}/{DATABASE}", autocommit=True)


Disturbance = Callable[[Ground, random.Random, threading.Event], object]
"""A function that breaks and repairs something, once or until the event is set."""


@dataclass
class Report:
    """The findings of a drill. `lost`, `extra`, `doubled`, `disorders` and `leases` must be zero."""

    accepted: int = 0
    final: int = 0
    extra: int = 0
    """Turns in excess of one for each message."""
    statuses: Counter[str] = field(default_factory=Counter)
    effects_expected: int = 0
    effects_seen: int = 0
    doubled: int = 0
    repeated: int = 0
    """Reads made twice under one claim. Only a crash of Postgres, which may lose the claim, causes any."""
    disorders: int = 0
    attempts_wasted: int = 0
    leases: int = 0
    p50_s: float = 0.0
    p95_s: float = 0.0
    views: list[dict[str, Any]] = field(default_factory=list)
    """The turns, in the order of their requests."""

    @property
    def lost(self) -> int:
        """Accepted turns that are not final."""
        return self.accepted - self.final

    def __str__(self) -> str:
        statuses = ", ".join(f"{count} {status}" for status, count in self.statuses.items())
        return (
            f"accepted {self.accepted}, extra {self.extra}, final {self.final} ({statuses}), lost {self.lost}; effects"
            f" expected {self.effects_expected}, seen {self.effects_seen}, doubled {self.doubled};"
            f" reads repeated {self.repeated}; disorders {self.disorders}; attempts wasted {self.attempts_wasted};"
            f" delay p50 {self.p50_s:.2f} s, p95 {self.p95_s:.2f} s; leases at the end {self.leases}"
        )

    def assert_nothing_lost_or_doubled(self) -> None:
        """Print the counts, and assert what must hold whatever was broken."""
        print(self)  # noqa: T201 - `make chaos` shows what was counted
        assert (self.lost, self.extra) == (0, 0)
        assert self.effects_seen == self.effects_expected
        assert (self.doubled, self.disorders, self.leases) == (0, 0, 0)


class Drill(NamedTuple):
    """A stack whose processes die at the crash points that the file `crash_at` names."""

    api: httpx2.Client
    log: Path
    crash_at: Path
    numbers: Iterator[int]

    def arm(self, points: str) -> None:
        self.crash_at.write_text("".join(f"{point}\n" for point in points.split()))

    def post(self, **request: Any) -> str:
        return post_until_accepted(self.api, message_id=f"m{next(self.numbers)}", **request)

    def ended(self, turn_id: str) -> dict[str, Any]:
        wait_for(lambda: look(self.api, turn_id).get("status") in FINAL, WITHIN_S)
        return look(self.api, turn_id)

    def all_died(self) -> bool:
        return not self.crash_at.read_text()


@contextmanager
def drilled_stack(
    folder: Path, *, tool_workers: int = 2, faults: FaultFile | None = None, **environment: str
) -> Iterator[Ground]:
    """Run a stack of the drill's own, with its logs in `folder`. `faults`: what goes wrong in it from the start."""
    log, crash_at = folder / "sim.log", folder / "crash_at"
    log.touch()
    crash_at.touch()
    settings.cache_clear()
    logs = {"TURNLOOM_SIM_LOG": str(log), "TURNLOOM_CRASH_AT": str(crash_at)}
    own = {**logs, "TURNLOOM_PLACEMENT": PLACEMENT, **environment}
    try:
        options = StackOptions(data_dir=None, port=0, tool_workers=tool_workers, settings=own, faults=faults)
        with Stack(options) as stack:
            headers = {"Authorization": f"Bearer {stack.dev_key}"}
            with httpx2.Client(base_url=stack.url, headers=headers, timeout=40) as api:
                yield Ground(stack, api, log, crash_at)
    finally:
        settings.cache_clear()  # the settings may name servers that the drill has stopped


def drill(
    ground: Ground,
    requests: Iterable[Mapping[str, Any]],
    *disturbances: Disturbance,
    within_s: float,
    pause_s: float = 0.02,
) -> Report:
    """Post turns at a steady pace while things are broken; then wait until all are final, and count."""
    stopping, message = threading.Event(), f"drill-{uuid4().hex}"
    with ThreadPoolExecutor(len(disturbances) + 1) as pool:
        breaking = [
            pool.submit(disturb, ground, random.Random(seed), stopping) for seed, disturb in enumerate(disturbances)
        ]
        posted = []
        try:
            for number, request in enumerate(requests):
                posted.append(post_until_accepted(ground.api, message_id=f"{message}-{number}", **request))
                stopping.wait(pause_s)
        finally:
            stopping.set()
        for each in breaking:
            each.result()
    return _count(ground, message, _followed(ground.api, posted, within_s))


def assert_all_well(report: Report, *, backend_out: bool = False) -> None:
    """Assert that every turn succeeded, and that every effect happened once unless `sim.write` could fail for good."""
    report.assert_nothing_lost_or_doubled()
    assert report.statuses == {"succeeded": report.accepted}
    assert backend_out or (report.effects_expected, report.repeated) == (report.accepted, 0)


def post_until_accepted(api: httpx2.Client, **request: Any) -> str:
    """Post a turn under its message id until it is accepted, because the API may be down for a moment."""
    body = {"message": "go", "agent": "generic", **request}
    accepted: dict[str, Any] = {}

    def is_accepted() -> bool:
        try:
            answer = api.post("/v1/turns", json=body)
        except httpx2.TransportError:
            return False
        accepted.update(answer.json() if answer.status_code in (200, 202) else {})
        return bool(accepted)

    wait_for(is_accepted, _BACK_S)
    return str(accepted["turn_id"])


def look(api: httpx2.Client, turn_id: str) -> dict[str, Any]:
    """Return a turn as it stands, or an empty dictionary while the API is down."""
    try:
        answer = api.get(f"/v1/turns/{turn_id}")
    except httpx2.TransportError:
        return {}
    view: dict[str, Any] = answer.json() if answer.status_code == 200 else {}
    return view


def disorders(steps: list[dict[str, Any]], needs: Mapping[str, list[str]] = NEEDS) -> int:
    """Count the steps whose (last) run started before one of their needs had ended."""
    by_id = {step["id"]: step for step in steps if step["started_at"]}
    return sum(
        by_id[step]["started_at"] < by_id[need]["finished_at"]
        for step, before in transitive_closure(needs).items()
        for need in before
        if step in by_id and need in by_id
    )


def _followed(api: httpx2.Client, posted: list[str], within_s: float) -> dict[str, dict[str, Any]]:
    """Return the turns as they stand when all are final, or when the time is over."""
    views: dict[str, dict[str, Any]] = {turn_id: {} for turn_id in posted}
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        views.update({turn_id: look(api, turn_id) for turn_id, view in views.items() if not _is_final(view)})
        if all(map(_is_final, views.values())):
            break
        threading.Event().wait(0.2)
    return views


def _is_final(view: dict[str, Any]) -> bool:
    return view.get("status") in FINAL


def _count(ground: Ground, message: str, views: dict[str, dict[str, Any]]) -> Report:
    final = [view for view in views.values() if _is_final(view)]
    with ground.admin() as db:
        opened = db.execute("SELECT count(*) FROM turns WHERE message_id LIKE %s", [f"{message}-%"]).fetchone()
        leases = db.execute(
            "SELECT count(*) FROM steps WHERE turn_id = ANY(%s::uuid[]) AND status = 'running'", [list(views)]
        ).fetchone()
        # If its process is killed after the commit, or does not learn of it, a call has written but has no line.
        query = "SELECT turn_id FROM sim_writes WHERE turn_id = ANY(%s::uuid[]) AND step_id = 'e'"
        rows = db.execute(query, [list(views)])
        written = {str(turn_id) for (turn_id,) in rows}
    assert opened
    assert leases
    lines = [line.split() for line in whole_lines(ground.log)]
    effects = Counter(turn for kind, turn, step, _, _ in lines if (kind, step) == ("E", "e") and turn in views)
    reads = Counter(
        (turn, step, attempt)
        for kind, turn, step, attempt, _ in lines
        if kind == "S" and attempt != UNCLAIMED and step in NEEDS.keys() - {"e"} and turn in views
    )
    steps = [step for view in final for step in view["steps"]]
    delays = sorted(view["timings"]["total_ms"] / 1000 for view in final) or [0.0]
    return Report(
        accepted=len(views),
        final=len(final),
        extra=opened[0] - len(views),
        statuses=Counter(view["status"] for view in final),
        effects_expected=sum(step["id"] == "e" and step["status"] == "succeeded" for step in steps),
        effects_seen=len(effects.keys() | written),
        doubled=sum(count > 1 for count in effects.values()),
        repeated=sum(count > 1 for count in reads.values()),
        disorders=sum(disorders(view["steps"]) for view in final),
        attempts_wasted=sum(max(0, step["attempt"] - 1) for step in steps),
        leases=leases[0],
        p50_s=statistics.median(delays),
        p95_s=delays[int(len(delays) * 0.95)] if len(delays) > 1 else delays[0],
        views=list(views.values()),
    )
