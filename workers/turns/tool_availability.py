"""Tool availability says which of an agent's tools a plan may use now, and why not the others."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from turnloom.models.ledger.access_cache import recent_access_of
from turnloom.models.ledger.integrations import NO_ACCESS, UserAccess
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.tools.guards.breaker import open_circuits
from turnloom.tools.registry import Registry, Tool


@dataclass(frozen=True, slots=True)
class ToolAvailability:
    """The tools that a turn's plan may call."""

    tools: Registry
    """The tools whose scopes the user has granted. A tool whose service is down is included: it may recover."""
    unavailable: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Tool -> `{code, scopes | service}`: why a plan should not use it."""


def offer(turn: ClaimedTurn, tools: Registry) -> ToolAvailability:
    """Return which of these tools a plan may call. If none declares scopes or an outside service, nothing is read.

    Raises:
        Unavailable: Postgres does not answer.
    """
    access = access_for(turn.tenant_id, turn.person.get("id"), tools)
    found = granted(tools, turn.person.get("id"), access)
    return ToolAvailability(found.tools, {**found.unavailable, **_down(found.tools.tools, access)})


def access_for(tenant_id: UUID, user_id: str | None, tools: Registry) -> UserAccess:
    """Return what a user allows these tools to do.

    Raises:
        Unavailable: Postgres does not answer.
    """
    scopes = frozenset[str]().union(*(tool.scopes for tool in tools.tools.values()))
    return recent_access_of(tenant_id, user_id, scopes) if user_id and scopes else NO_ACCESS


def granted(tools: Registry, user_id: str | None, access: UserAccess) -> ToolAvailability:
    """Return which of these tools the user has granted."""
    barred = {
        name: {"code": "SCOPES_MISSING", "scopes": sorted(missing)} if user_id else {"code": "UNAUTHORIZED"}
        for name, tool in tools.tools.items()
        if (missing := tool.scopes - access.scopes)
    }
    open_ = {name: tool for name, tool in tools.tools.items() if name not in barred}
    return ToolAvailability(Registry(open_), barred)


def _down(tools: Mapping[str, Tool], access: UserAccess) -> dict[str, dict[str, Any]]:
    """Return the tools whose circuit is open. A circuit that depends on the arguments is not known yet."""
    outside = {name: tool.integration for name, tool in tools.items() if isinstance(tool.integration, str)}
    circuits = open_circuits() if outside else {}
    return {
        name: {"code": "CIRCUIT_OPEN", "service": integration}
        for name, integration in outside.items()
        if _circuit(integration, access) in circuits
    }


def _circuit(integration: str, access: UserAccess) -> str:
    account = access.accounts.get(integration)
    return str(account.id) if account else integration
