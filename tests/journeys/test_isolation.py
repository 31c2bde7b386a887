"""Tools that block for ever or end their process run in a pool of processes and harm nothing else."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.facts import wait_for
from tests.installing import ship_packs
from tests.journeys.following import finished, post, run
from tests.journeys.stacks import client_of_stack
from turnloom.models.runtime.settings import ROOT

PACK = '''
"""Tools that harm their process."""
import os
import sys
import time
from turnloom.models.contracts.base import Contract
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import tool


class Nothing(Contract):
    """No arguments."""


class Process(Contract):
    """The process in which a call ran."""

    pid: int


def isolated(name, call, timeout_s=1, **options):
    def harm(query: Nothing, context: ToolContext) -> Process:
        """Harm the process. For tests."""
        call(context)
        return Process(pid=os.getpid())

    harm.__module__ = f"{__name__}.{name}"
    tool(f"hostile.{name}", isolation="process", timeout_s=timeout_s, shareable=False, **options)(harm)


def hold_long(context):
    """Let no other thread run for longer than a lease lasts."""
    end = time.monotonic() + 8
    sys.setswitchinterval(60)
    while time.monotonic() < end:
        sum(range(10**6))
    sys.setswitchinterval(0.005)


def spin(context):
    while True:
        pass


def leave(context):
    raise SystemExit(3)


def interrupt(context):
    raise KeyboardInterrupt


isolated("pid", lambda context: None, 10, effect="read")
isolated("hold", lambda context: sum(range(10**13)), effect="read")
isolated("hold_write", lambda context: sum(range(10**13)), effect="write")
isolated("hold_long", hold_long, 60, effect="read")
isolated("spin", spin, effect="read")
isolated("exit", lambda context: context.attempt > 1 or os._exit(3), 10, effect="read")
isolated("leave", leave, 10, effect="read")
isolated("interrupt", interrupt, 10, effect="read")
'''


@pytest.fixture(scope="module")
def api(clean_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """Start a stack with these tools in their own pack."""
    home = tmp_path_factory.mktemp("isolation")
    pack = home / "packs" / "hostile"
    pack.mkdir(parents=True)
    (pack / "__init__.py").write_text("")
    (pack / "harm.py").write_text(PACK)
    ship_packs(home, home / "packs")
    settings = {
        "PYTHONPATH": os.pathsep.join([str(home), str(ROOT)]),
        "TURNLOOM_PACKS": json.dumps(["sim", "hostile"]),
    }
    with client_of_stack(**settings) as client:
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


def test_a_call_that_holds_its_process_for_long_is_not_lost(api: httpx2.Client) -> None:
    """The parent process keeps the lease, so the call is made once."""
    turn = finished(api, post(api, plan={"steps": [call("a", tool="hold_long")]}, agent="generic")["turn_id"], 60)

    assert (turn["steps"][0]["status"], turn["steps"][0]["attempt"]) == ("succeeded", 1)
