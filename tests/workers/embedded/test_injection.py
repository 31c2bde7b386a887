"""Processes of a stack die, and messages come twice, as a fault file says."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import Redis
from structlog.testing import capture_logs

from tests.facts import wait_for
from turnloom.models.contracts.fault_file import read_fault_file
from turnloom.models.errors import Misconfigured
from turnloom.workers.embedded.injection import Injection
from turnloom.workers.embedded.process import Process, Program

SLEEP = [sys.executable, "-c", "import signal; signal.pause()"]
NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[dict[str, Process]]:
    """Three processes that do nothing."""
    programs = (
        Program(name=name, command=SLEEP, stop_signal=signal.SIGKILL) for name in ("web", "worker-1", "worker-2")
    )
    with ExitStack() as running:
        made = {program.name: Process(program, records=tmp_path, logs=tmp_path) for program in programs}
        for each in made.values():
            each.start()
            running.callback(each.stop, 10)
        yield made


@pytest.fixture
def crash_at(tmp_path: Path) -> Path:
    path = tmp_path / "crash_at"
    path.touch()
    return path


def test_processes_die_again_and_again(processes: dict[str, Process], crash_at: Path) -> None:
    """Only those that the file names do. After the end of the context, none does."""
    file = read_fault_file("restarts: [{process: worker-*, every_s: [0.05, 0.1]}]")

    with Injection(file, processes, NOWHERE, crash_at):
        wait_for(lambda: processes["worker-1"].restarts and processes["worker-2"].restarts)

    assert processes["web"].restarts == 0


def test_a_process_dies_once(processes: dict[str, Process], crash_at: Path) -> None:
    """With `after_s`, it is not killed a second time."""
    file = read_fault_file("restarts: [{process: web, after_s: 0}, {process: worker-1, every_s: [0.3, 0.3]}]")

    with Injection(file, processes, NOWHERE, crash_at):
        wait_for(lambda: processes["worker-1"].restarts)

    assert processes["web"].restarts == 1


def test_crash_points_that_were_not_reached_are_told(processes: dict[str, Process], crash_at: Path) -> None:
    """They stand in the file of crash points meanwhile, and nobody dies there afterwards."""
    file = read_fault_file("restarts: [{at: plan.recorded, nth: 2}, {at: turn.claimed}]")

    with capture_logs() as logs, Injection(file, processes, NOWHERE, crash_at):
        lines = crash_at.read_text()

    assert lines == "plan.recorded 2\nturn.claimed\n"
    assert crash_at.read_text() == ""
    assert [line["points"] for line in logs] == [["plan.recorded 2", "turn.claimed"]]


def test_a_misspelt_crash_point_is_refused(processes: dict[str, Process], crash_at: Path) -> None:
    """It would never be reached, and no point after it would be either. A pack may have points of its own."""
    file = read_fault_file("restarts: [{at: meeting.held}, {at: plan.recoded}]")

    with pytest.raises(Misconfigured, match=r"restarts\.1\.at: plan\.recoded is none of turn\.opened, "):
        Injection(file, processes, NOWHERE, crash_at)


@pytest.mark.parametrize("wrong", ["restarts: [{process: 'worker-3', after_s: 1}]", "duplicates: [{queue: tools}]"])
def test_names_that_there_are_not_are_refused(processes: dict[str, Process], crash_at: Path, wrong: str) -> None:
    """The message names the place and what there is."""
    with pytest.raises(
        Misconfigured, match=r"\.0\.(process|queue): (worker-3|tools) is none of (web, worker-1|plan, )"
    ):
        Injection(read_fault_file(wrong), processes, NOWHERE, crash_at)


def test_messages_come_twice(redis_url: str, processes: dict[str, Process], crash_at: Path) -> None:
    """Each message of the queue comes once more, and its copy does not come again; other queues are left alone."""
    messages = [json.dumps({"number": number, "text": 'a "quoted" text'}) for number in range(4)]
    file = read_fault_file("duplicates: [{queue: tools.*, within_ms: 0}]")
    with Redis.from_url(redis_url) as client, Injection(file, processes, redis_url, crash_at):
        wait_for(lambda: any(each["cmd"] == "monitor" for each in client.client_list()))
        client.lpush("plan", messages[0])
        client.lpush("tools.io", *messages[:3])
        client.lpush("a list of somebody else", messages[0])
        wait_for(lambda: client.llen("tools.io") >= 6)
        client.lpush("tools.io", messages[3])  # a copy of a copy would be there before the copy of this one

        wait_for(lambda: client.lrange("tools.io", 0, 0)[0] == messages[3].encode() and client.llen("tools.io") >= 8)
        found = sorted(message.decode() for message in client.lrange("tools.io", 0, -1))

        assert found == sorted(2 * messages)
        assert (client.llen("plan"), client.llen("a list of somebody else")) == (1, 1)


def test_each_fault_counts_each_message(redis_url: str, processes: dict[str, Process], crash_at: Path) -> None:
    """Since the stack has started, whatever other faults strike."""
    file = read_fault_file("""duplicates:
    - {queue: tools.io, nth: 1, within_ms: 0}
    - {queue: tools.io, nth: 2, within_ms: 0}
    - {queue: plan, within_ms: 0}""")
    with Redis.from_url(redis_url) as client, Injection(file, processes, redis_url, crash_at):
        wait_for(lambda: any(each["cmd"] == "monitor" for each in client.client_list()))
        client.lpush("tools.io", "first", "second", "third")
        client.lpush("plan", "last")

        wait_for(lambda: client.llen("plan") == 2)

        assert sorted(client.lrange("tools.io", 0, -1)) == [b"first", b"first", b"second", b"second", b"third"]
