"""What every tool is told about the call, beside its arguments."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from models.ledger.integrations import Account


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The circumstances of a call: tenant, user, step and deadline."""

    tenant_id: UUID
    conversation_id: str
    turn_id: UUID
    step_id: str
    attempt: int
    """The claim's number: the fence under which the result will be recorded."""
    idempotency_key: str
    """Same turn, step and arguments, same key: hand it to a backend that can tell repetitions."""
    deadline: float
    """End of the call on this process's monotonic clock, in seconds."""
    user: dict[str, Any] = field(default_factory=dict)
    """The person: `id, name, email, timezone, locale`, as far as known."""
    scopes: frozenset[str] = frozenset()
    """What the person lets tools do, for a tool that declares scopes."""
    accounts: "Mapping[str, Account]" = field(default_factory=dict, repr=False)
    """The person's accounts with outside services, by integration, for a tool that declares scopes."""

    @property
    def remaining_s(self) -> float:
        """Seconds left, never below zero: the timeout for the next wait or outside call."""
        return max(0.0, self.deadline - time.monotonic())
