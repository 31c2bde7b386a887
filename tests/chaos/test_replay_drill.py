"""Replays beside live turns, whose workers are killed and whose messages are lost, all come to the same report."""

import random
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from benchmarks.processes import running
from benchmarks.recorded_conversations import SETTINGS, Recorded, record
from tests.chaos.drills import LONG, PLAN, WITHIN_S, Ground, assert_all_well, drill, drilled_stack
from tests.facts import wait_for
from turnloom.workers.broker.command_lines import worker_command
from turnloom.workers.embedded.process import Process

CONVERSATIONS = 1000 if LONG else 40
REPLAYED_WITHIN_S = 600 + 2 * CONVERSATIONS
KILLED_AT = (0.1, 0.3, 0.6)
"""The shares of the conversations after which all workers are killed."""
SECOND = "worker-replay-2"


@dataclass
class Replays:
    """Two replays of the same conversations, by several workers. The second one loses its workers and its messages."""

    recorded: Recorded
    workers: Sequence[Process]
    reports: list[Any] = field(default_factory=list)
    """The reports, as JSON and as pages."""
    is_over: threading.Event = field(default_factory=threading.Event)

    def live_turns(self) -> Iterator[dict[str, Any]]:
        """Yield requests until both replays have ended."""
        while not self.is_over.is_set():
            yield {"plan": {"steps": PLAN}}

    def run(self, ground: Ground, _: random.Random, __: threading.Event) -> None:
        """Replay twice."""
        try:
            self._take_report(ground, self.recorded.replay(ground.api))
            replay_id = self.recorded.replay(ground.api)
            for share in KILLED_AT:
                part = share * CONVERSATIONS
                wait_for(lambda part=part: self._view(ground, replay_id)["done"] >= part, REPLAYED_WITHIN_S)  # type: ignore[misc]
                self._kill(ground)
            self._take_report(ground, replay_id)
        finally:
            self.is_over.set()

    def _kill(self, ground: Ground) -> None:
        with Redis.from_url(ground.stack.redis_url) as broker:
            broker.delete("replay")
        for worker in self.workers:
            worker.kill()

    def _take_report(self, ground: Ground, replay_id: str) -> None:
        wait_for(lambda: self._view(ground, replay_id)["report"] is not None, REPLAYED_WITHIN_S)
        page = ground.api.get(f"/v1/replays/{replay_id}/report.html")
        self.reports.append((self._view(ground, replay_id)["report"], page.raise_for_status().text))

    def _view(self, ground: Ground, replay_id: str) -> dict[str, Any]:
        view: dict[str, Any] = ground.api.get(f"/v1/replays/{replay_id}").raise_for_status().json()
        return view


@pytest.mark.drill
@pytest.mark.timeout(3 * REPLAYED_WITHIN_S)
def test_replays_survive_their_workers_beside_live_turns(tmp_path: Path) -> None:
    """Killed together three times, without their messages, they report what undisturbed ones report, byte for byte.

    Live turns notice nothing. The conversations are golden ones and those of simulated people, of hotel and travel.
    """
    command = worker_command(["replay"], name=SECOND, pool="threads", concurrency=2)
    with drilled_stack(tmp_path, **SETTINGS) as ground, running(ground.stack, {SECOND: command}, {}) as more:
        recorded = record(ground.stack, CONVERSATIONS)
        replays = Replays(recorded, [ground.stack.processes["worker-replay"], more[SECOND]])

        live = drill(ground, replays.live_turns(), replays.run, within_s=WITHIN_S, pause_s=0.25)

        alive = _names_of_workers(ground)
    undisturbed, disturbed = replays.reports
    print(f"{undisturbed[0]['turns']} turns of {undisturbed[0]['conversations']} conversations, replayed twice")  # noqa: T201
    assert undisturbed[0]["conversations"] == CONVERSATIONS
    assert disturbed == undisturbed
    assert {"worker-replay", SECOND} <= alive
    assert_all_well(live)


def _names_of_workers(ground: Ground) -> set[str]:
    """Return the names of the workers that are alive."""
    with ground.admin() as db:
        return {name.partition("@")[0] for (name,) in db.execute("SELECT name FROM workers").fetchall()}
