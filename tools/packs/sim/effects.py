"""Tools with an effect that can be counted: `sim.write`, and `sim.approve`, which waits for a person first."""

from typing import Any

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.base import Contract
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.sim.calls import SIM_TIMEOUT_S, Milliseconds, log_effect, log_start, pause
from turnloom.tools.packs.sim.store import find_write, write_once
from turnloom.tools.registry import tool


class Write(Contract):
    """A value to write."""

    value: Any
    """Any JSON."""
    ms: Milliseconds = 0
    """Milliseconds to wait before the write, 0-600000."""


class Written(Contract):
    """The value stored under the idempotency key."""

    value: Any
    """The value of the first call with this key."""
    key: str
    """The idempotency key."""
    first: bool
    """Whether this call wrote the value; false if an earlier call did."""


def find_written(_: Write, context: ToolContext) -> Written | None:
    """Return the value written under the call's idempotency key; None if there is none."""
    with transaction() as db:
        stands = find_write(db, key=context.idempotency_key, tenant_id=context.tenant_id)
    return None if stands is None else Written(value=stands[0], key=context.idempotency_key, first=True)


@tool("sim.write", effect="write", timeout_s=SIM_TIMEOUT_S, reconcile=find_written)
def write(query: Write, context: ToolContext) -> Written:
    """Write a value once, however often the same step is called. For load tests and drills."""
    return _write(query, context)


@tool("sim.approve", effect="write", timeout_s=SIM_TIMEOUT_S, reconcile=find_written, requires_approval=True)
def approve(query: Write, context: ToolContext) -> Written:
    """Write a value once, like sim.write, after a person has approved it. For load tests and drills."""
    return _write(query, context)


def _write(query: Write, context: ToolContext) -> Written:
    log_start(context)
    pause(query.ms, context)
    with transaction() as db:
        value, first = write_once(
            db,
            key=context.idempotency_key,
            tenant_id=context.tenant_id,
            turn_id=context.turn_id,
            step_id=context.step_id,
            value=query.value,
        )
    if first:
        log_effect(context)
    return Written(value=value, key=context.idempotency_key, first=first)
