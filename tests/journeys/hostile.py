"""Tools that block for ever or end their process, in a pack of their own."""

import json
import os
from pathlib import Path

from tests.installing import ship_packs
from turnloom.models.runtime.settings import ROOT

PACK = '''
"""Tools that harm their process."""
import mmap
import os
import sys
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
    """Let no other thread run until the file `held` says 0. To look at it by a call of the system would let one run."""
    with open(os.environ["HOSTILE_HELD"], "r+b") as file, mmap.mmap(file.fileno(), 1) as held:
        sys.setswitchinterval(60)
        held[0] = 1
        while held[0]:
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


def with_hostile_tools(home: Path) -> dict[str, str]:
    """Make the pack in a folder, and return the settings of a stack that has its tools."""
    pack = home / "packs" / "hostile"
    pack.mkdir(parents=True)
    (pack / "__init__.py").write_text("")
    (pack / "harm.py").write_text(PACK)
    ship_packs(home, home / "packs")
    return {
        "PYTHONPATH": os.pathsep.join([str(home), str(ROOT)]),
        "TURNLOOM_PACKS": json.dumps(["sim", "hostile"]),
        "HOSTILE_HELD": str(home / "held"),
    }
