"""Tools that fail on purpose: `sim.flaky`, `sim.fail`."""

from typing import get_args

from pydantic import Field

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.envelope import ErrorCode
from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.sim.calls import SIM_TIMEOUT_S, Milliseconds, log_effect, log_start, pause
from turnloom.tools.packs.sim.store import count_call
from turnloom.tools.registry import tool


class Flaky(Contract):
    """The number of failures before the first success."""

    fail_times: int = Field(ge=0, le=1000)
    """Number of calls of this step that fail before one succeeds, over all its tries and attempts."""
    ms: Milliseconds = 0
    """Milliseconds that each call takes, 0-600000."""
    retry_after_s: float | None = Field(None, ge=0, le=86_400)
    """Seconds until the next try, as each failure announces them. If absent, failures announce nothing."""


class Recovered(Contract):
    """A call that succeeded in the end."""

    calls: int
    """Number of calls of this step so far, this one included."""


class Fail(Contract):
    """The failure to simulate."""

    code: ErrorCode
    """The error code to fail with."""


class Nothing(Contract):
    """Never returned."""


@tool("sim.flaky", effect="read", timeout_s=SIM_TIMEOUT_S, shareable=False, errors=("UPSTREAM_5XX",))
def flaky(query: Flaky, context: ToolContext) -> Recovered:
    """Fail a number of times as a provider with a bad day would, then succeed. For load tests and drills."""
    log_start(context)
    # Count in the ledger, because the next try may run in another process.
    with transaction() as db:
        calls = count_call(db, tenant_id=context.tenant_id, turn_id=context.turn_id, step_id=context.step_id)
    pause(query.ms, context)
    if calls <= query.fail_times:
        message = f"failed on purpose: call {calls} of {query.fail_times} that fail"
        raise Unavailable(message, code="UPSTREAM_5XX", retry_after_s=query.retry_after_s)
    log_effect(context)
    return Recovered(calls=calls)


@tool("sim.fail", effect="read", shareable=False, errors=get_args(ErrorCode))
def fail(query: Fail, context: ToolContext) -> Nothing:
    """Fail for good with the given error code. For load tests and drills."""
    log_start(context)
    raise ToolFailed(f"failed with {query.code}, as asked", code=query.code)
