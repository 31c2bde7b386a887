"""Limits: how often a tool may be called, by one user and in a tenant.

A call that comes too early is given its time, one after another in the order of asking; it is refused with that time,
is made again then, and finds its place kept. So of many calls that wait none has to wait twice, and a newcomer takes
nobody's place. A step counts once, however often it is tried.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from models.errors import ToolFailed, Unavailable
from models.redis import run_script
from tools.context import ToolContext
from tools.registry import Rate, Tool

_WINDOWS_S = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}


def reserve(tool: Tool, context: ToolContext, longest_wait_s: float) -> None:
    """Pass where a call keeps within its tool's rates.

    A call that would have to wait longer than it can takes no place. A call that must wait for its user takes none
    among the tenant's yet.

    Raises:
        ToolFailed: RATE_LIMITED, with the time when it may be made.
    """
    for whose, rate, key in _rates(tool, context):
        calls, _, unit = rate.partition("/")
        call = f"{context.turn_id}:{context.step_id}"
        args = (call, int(calls), _WINDOWS_S[unit] * 1_000, int(longest_wait_s * 1_000))
        try:
            wait_ms = run_script("rate", [f"turnloom:rate:{tool.name}:{key}"], args)
        except Unavailable:
            return
        if wait_ms > 0:
            message = f"{tool.name} may be called {rate.replace('/', ' times a ')} {whose}"
            raise ToolFailed(message, code="RATE_LIMITED", retry_at=datetime.now(UTC) + timedelta(milliseconds=wait_ms))


def _rates(tool: Tool, context: ToolContext) -> Iterator[tuple[str, Rate, str]]:
    """Yield whose rate it is, the rate, and what it is counted under."""
    tenant = context.tenant_id
    if tool.per_user is not None:
        # A caller that names no user has at least a conversation.
        person = f"user:{context.user['id']}" if context.user.get("id") else f"conversation:{context.conversation_id}"
        yield "for a user", tool.per_user, f"{tenant}:{person}"
    if tool.per_tenant is not None:
        yield "in a tenant", tool.per_tenant, f"{tenant}"
