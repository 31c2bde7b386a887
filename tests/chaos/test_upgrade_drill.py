"""During a rolling upgrade, workers of two versions with different database functions run side by side under load."""

import os
import random
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.drills import PLACEMENT, PLAN, TURNS, Ground, drill, drilled_stack
from tests.facts import wait_for
from turnloom.models.runtime.settings import ROOT
from turnloom.workers.broker.command_lines import queues_of_threads, worker_command
from turnloom.workers.embedded.process import Process, Program

_PACKAGES = ("client", "models", "tools", "planner", "workers", "web", "migrations", "prompts")


class NextVersion:
    """A copy of the code in which every function of the ledger has another name, and its running workers."""

    def __init__(self, folder: Path) -> None:
        self.moments: list[datetime] = []
        """The times at which the database was migrated and the old workers had ended."""
        self.is_alone = threading.Event()
        self._folder = folder
        self._processes: list[Process] = []
        for package in _PACKAGES:
            shutil.copytree(ROOT / package, folder / "turnloom" / package, ignore=shutil.ignore_patterns("__pycache__"))
        for path in [*folder.glob("turnloom/models/**/*.sql"), *folder.glob("turnloom/models/**/*.py")]:
            path.write_text(re.sub(r"\bhot\.(\w+|\{\})", r"hot.\1_next", path.read_text("utf-8")), "utf-8")

    def upgrade(self, ground: Ground, _: random.Random, stopping: threading.Event) -> None:
        """Migrate, let workers of both versions work for a while, and stop the old ones."""
        try:
            self._migrate(ground)
            self.moments.append(datetime.now(UTC))
            self._start_workers(ground)
            stopping.wait(3)
            for name in [name for name in ground.stack.processes if re.match(r"worker-(plan|io)", name)]:
                ground.stack.processes[name].stop(30)
            self.moments.append(datetime.now(UTC))
        finally:
            self.is_alone.set()

    def stop_workers(self) -> None:
        """Stop the workers that were started."""
        for process in self._processes:
            process.stop(30)

    def _migrate(self, ground: Ground) -> None:
        owner = {"TURNLOOM_OWNER_DATABASE_URL": ground.stack.servers.owner_url}
        environment = {**os.environ, **self._environment(ground), **owner}
        subprocess.run([sys.executable, "-m", "turnloom.workers.cli", "migrate"], env=environment, check=True)

    def _start_workers(self, ground: Ground) -> None:
        home = ground.stack.servers.home
        commands = {
            f"next-{name}": worker_command(queues, name=f"next-{name}", pool="threads", concurrency=16)
            for name, queues in queues_of_threads(1, 1, PLACEMENT).items()
        }
        for name, command in commands.items():
            program = Program(name=name, command=command, environment=self._environment(ground))
            self._processes.append(Process(program, records=home.records, logs=home.logs))
            self._processes[-1].start()
        with ground.admin() as db:
            query = "SELECT count(*) FROM workers WHERE name LIKE 'next-%'"
            wait_for(lambda: db.execute(query).fetchone() == (len(commands),), 60)

    def _environment(self, ground: Ground) -> dict[str, str]:
        # Python finds the copy before the installed code, and does not search the working directory.
        return {**ground.stack.environment, "PYTHONSAFEPATH": "1", "PYTHONPATH": str(self._folder)}


@pytest.mark.drill
@pytest.mark.timeout(240 + 3 * TURNS)
def test_two_versions_work_side_by_side(tmp_path: Path) -> None:
    """Old workers continue after the migration beside new ones; then the new ones continue alone."""
    version = NextVersion(tmp_path / "next")

    with drilled_stack(tmp_path) as ground:
        try:
            report = drill(ground, _load(version), version.upgrade, within_s=60 + TURNS, pause_s=0.1)
        finally:
            version.stop_workers()

    report.assert_nothing_lost_or_doubled()
    assert report.statuses == {"succeeded": report.accepted}
    migrated_at, alone_at = version.moments
    steps = [step for view in report.views for step in view["steps"]]
    beside = {_version(step) for step in steps if migrated_at < datetime.fromisoformat(step["started_at"]) < alone_at}
    after = {_version(step) for step in steps if datetime.fromisoformat(step["started_at"]) > alone_at}
    assert (beside, after) == ({"worker", "next"}, {"next"})


def _load(version: NextVersion) -> Iterator[dict[str, Any]]:
    """Yield requests until the upgrade is over, and some more."""
    while not version.is_alone.is_set():
        yield {"plan": {"steps": PLAN}}
    yield from [{"plan": {"steps": PLAN}}] * TURNS


def _version(step: dict[str, Any]) -> str:
    return str(step["worker"]).partition("-")[0]
