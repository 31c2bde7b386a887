"""Tools that block for ever or end their process run in a pool of processes and harm nothing else."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from tests.facts import wait_for
from tests.journeys.following import finished, post, run
from tests.journeys.stacks import client_of
from turnloom.workers.embedded.stack import Stack


@pytest.fixture
def api(odd_stack: Stack) -> Iterator[httpx2.Client]:
    """A client of the stack with these tools."""
    with client_of(odd_stack) as client:
        yield client


def call(name: str, *needs: str, tool: str) -> dict[str, Any]:
    return {"id": name, "tool": f"hostile.{tool}", "args": {}, "needs": list(needs)}


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("tool", ["hold", "spin"])
def test_a_call_that_never_returns_ends_with_its_process(api: httpx2.Client, tool: str) -> None:
    """The step times out once and other steps continue, whether or not the call blocks all threads of its process."""
    lasting = {**call("after", "hung", tool="pid"), "on_need_error": "run"}

    turn = run(api, [call("hung", tool=tool), lasting, call("beside", tool="pid")])

    hung, after, beside = turn["steps"]
    assert (hung["status"], hung["attempt"], hung["error"]["code"]) == ("failed", 1, "TOOL_TIMEOUT")
    assert (after["status"], beside["status"], turn["status"]) == ("succeeded", "succeeded", "succeeded")
    wait_for(lambda: not is_alive(int(hung["worker"].rpartition("/")[2])))


def test_a_write_that_never_returns_is_unknown(api: httpx2.Client) -> None:
    """An operator decides, because nobody can know what the write has done."""
    turn = run(api, [call("w", tool="hold_write")])

    assert (turn["steps"][0]["status"], turn["steps"][0]["error"]["code"]) == ("unknown", "TOOL_TIMEOUT")


def test_a_call_that_ends_its_process_is_made_again(api: httpx2.Client) -> None:
    """Another process replaces the lost one and makes the call."""
    turn = run(api, [call("gone", tool="exit"), call("beside", tool="pid")])

    gone, beside = turn["steps"]
    assert (gone["status"], gone["attempt"], beside["status"]) == ("succeeded", 2, "succeeded")
    assert is_alive(gone["result"]["pid"])


@pytest.mark.parametrize("tool", ["leave", "interrupt"])
def test_a_call_that_raises_an_exit_does_not_end_its_process(api: httpx2.Client, tool: str) -> None:
    """The call fails, and its process lives on."""
    turn = run(api, [call("a", tool=tool)])

    assert (turn["steps"][0]["status"], turn["steps"][0]["attempt"]) == ("failed", 1)
    pid = int(turn["steps"][0]["worker"].rpartition("/")[2])
    assert is_alive(pid)


def test_a_call_that_holds_its_process_for_long_is_not_lost(odd_stack: Stack, api: httpx2.Client) -> None:
    """The parent process renews the lease while no thread of the child can, so the call is made once."""
    held = Path(odd_stack.environment["HOSTILE_HELD"])
    held.write_bytes(b"\0")
    turn_id = post(api, plan={"steps": [call("a", tool="hold_long")]}, agent="generic")["turn_id"]
    wait_for(lambda: held.read_bytes() == b"\1")
    before = lease(odd_stack, turn_id)
    try:
        wait_for(lambda: lease(odd_stack, turn_id) > before)
    finally:
        with held.open("r+b") as file:  # in place, because the child has mapped the file
            file.write(b"\0")

    turn = finished(api, turn_id)

    assert (turn["steps"][0]["status"], turn["steps"][0]["attempt"]) == ("succeeded", 1)


def lease(stack: Stack, turn_id: str) -> datetime:
    """Return the time at which the only step's lease runs out."""
    with psycopg.connect(stack.database_url) as db:
        row = db.execute("SELECT lease_until FROM steps WHERE turn_id = %s", [turn_id]).fetchone()
    assert row
    assert isinstance(row[0], datetime)
    return row[0]
