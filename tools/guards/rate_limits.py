"""Rate limits: how often one user, and one tenant, may call a tool.

A call that comes too early gets a time of its own, in the order of asking. It fails with that time, is made again then,
and finds its place reserved. So no call has to wait twice, and a newcomer takes nobody's place. A step counts once,
however often it is tried.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from turnloom.models.connections.redis import run_script
from turnloom.models.contracts.rate import Rate, times_and_window_s
from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import Tool


def reserve(tool: Tool, context: ToolContext, longest_wait_s: float) -> None:
    """Check that a call keeps within its tool's rates, and reserve its place.

    A call that would have to wait longer than `longest_wait_s` reserves no place. A call that must wait for its user's
    rate does not yet reserve a place in the tenant's.

    Raises:
        ToolFailed: RATE_LIMITED, with the time at which the call may be made.
    """
    for whose, rate, key in _rates(tool, context):
        calls, window_s = times_and_window_s(rate)
        call = f"{context.turn_id}:{context.step_id}"
        args = (call, calls, window_s * 1_000, int(longest_wait_s * 1_000))
        try:
            wait_ms = run_script("rate", [f"turnloom:rate:{tool.name}:{key}"], args)
        except Unavailable:
            return
        if wait_ms > 0:
            message = f"{tool.name} may be called {rate.replace('/', ' times a ')} {whose}"
            raise ToolFailed(message, code="RATE_LIMITED", retry_at=datetime.now(UTC) + timedelta(milliseconds=wait_ms))


def _rates(tool: Tool, context: ToolContext) -> Iterator[tuple[str, Rate, str]]:
    """Yield each rate with the words for whose it is and the key under which it is counted."""
    tenant = context.tenant_id
    if tool.per_user is not None:
        # Without a user, count by conversation.
        person = f"user:{context.user['id']}" if context.user.get("id") else f"conversation:{context.conversation_id}"
        yield "for a user", tool.per_user, f"{tenant}:{person}"
    if tool.per_tenant is not None:
        yield "in a tenant", tool.per_tenant, f"{tenant}"
