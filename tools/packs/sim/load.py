"""Tools that take time or return their input: `sim.wait`, `sim.echo`, `sim.burn`."""

import time
from typing import Any

from turnloom.models.contracts.base import Contract
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.sim.calls import SIM_TIMEOUT_S, Milliseconds, log_effect, log_start, pause, timed_out
from turnloom.tools.registry import tool


class Wait(Contract):
    """A time to wait, and a value to return afterwards."""

    ms: Milliseconds
    """Milliseconds to wait, 0-600000."""
    payload: Any = None
    """Any JSON. It is returned unchanged."""


class Waited(Contract):
    """The value returned after the wait."""

    ms: int
    """Milliseconds asked for."""
    payload: Any
    """The payload that was passed in."""


class Echo(Contract):
    """A value to return."""

    value: Any
    """Any JSON. It is returned unchanged."""


class Echoed(Contract):
    """The value that was passed in."""

    value: Any
    """The value that was passed in."""


class Burn(Contract):
    """An amount of CPU time to use."""

    ms: Milliseconds
    """Milliseconds of CPU time to use, 0-600000."""


class Burned(Contract):
    """The CPU time that was used."""

    ms: int
    """Milliseconds asked for."""


@tool("sim.wait", effect="read", timeout_s=SIM_TIMEOUT_S, shareable=False)
def wait(query: Wait, context: ToolContext) -> Waited:
    """Wait for some milliseconds, then return the payload. For load tests and drills."""
    log_start(context)
    pause(query.ms, context)
    log_effect(context)
    return Waited(ms=query.ms, payload=query.payload)


@tool("sim.echo", effect="read", inline=True, deeds=frozenset({"*"}))  # it may stand for any tool
def echo(query: Echo, context: ToolContext) -> Echoed:
    """Return the value at once. For load tests and drills."""
    log_start(context)
    log_effect(context)
    return Echoed(value=query.value)


@tool("sim.burn", effect="read", isolation="process", timeout_s=SIM_TIMEOUT_S, shareable=False)
def burn(query: Burn, context: ToolContext) -> Burned:
    """Use the CPU for some milliseconds. For load tests and drills."""
    log_start(context)
    end = time.thread_time() + query.ms / 1000
    while time.thread_time() < end:
        if context.remaining_s == 0:
            raise timed_out(query.ms)
    log_effect(context)
    return Burned(ms=query.ms)
