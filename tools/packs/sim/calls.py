"""Code that the sim tools share: limits, pauses within a deadline, and the log of calls."""

import os
import time
from typing import Annotated

from pydantic import Field

from turnloom.models.errors import ToolFailed
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.sim.settings import SimSettings

Milliseconds = Annotated[int, Field(ge=0, le=600_000)]

SIM_TIMEOUT_S = 610.0
"""Longer than the longest wait, so that only the deadline of a step or turn ends a call early."""


def pause(ms: int, context: ToolContext) -> None:
    """Sleep, to imitate a slow provider.

    Raises:
        ToolFailed: TOOL_TIMEOUT, the deadline came before the end of the pause.
    """
    left_s = context.remaining_s
    time.sleep(min(ms / 1000, left_s))
    if ms / 1000 > left_s:
        raise timed_out(ms)


def timed_out(ms: int) -> ToolFailed:
    """Return the failure of a call that ran into its deadline."""
    return ToolFailed(f"{ms} ms did not fit before the deadline", code="TOOL_TIMEOUT")


def log_start(context: ToolContext) -> None:
    """Record that a call has begun."""
    _append("S", context)


def log_effect(context: ToolContext) -> None:
    """Record that a call's effect has happened."""
    _append("E", context)


def _append(mark: str, context: ToolContext) -> None:
    path = settings().of(SimSettings).sim_log
    if path is None:
        return
    line = f"{mark} {context.turn_id} {context.step_id} {context.attempt} {time.time():.6f}\n"
    # A single write with O_APPEND keeps the lines of many processes whole.
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)
