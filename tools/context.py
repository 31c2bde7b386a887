"""The context of a call, which every tool gets in addition to its arguments."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from turnloom.models.ledger.integrations import Account


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The circumstances of a call: tenant, user, step and deadline."""

    tenant_id: UUID
    conversation_id: str
    turn_id: UUID
    step_id: str
    attempt: int
    """Number of the claim: the fence under which the result is recorded."""
    idempotency_key: str
    """The same for the same turn, step and arguments. Pass it to a backend that recognises repeated calls."""
    deadline: float
    """End of the call on this process's monotonic clock, in seconds."""
    tries: int = 0
    """Tries of this call that have failed with `Unavailable` in this claim. A tool that reads may ask for less then."""
    user: dict[str, Any] = field(default_factory=dict)
    """The person's `id`, `name`, `email`, `timezone` and `locale`, as far as they are known."""
    agent: str = ""
    """The name of the agent whose plan makes the call."""
    scopes: frozenset[str] = frozenset()
    """The scopes that the person has granted. Only filled in for a tool that declares scopes."""
    accounts: "Mapping[str, Account]" = field(default_factory=dict, repr=False)
    """The person's accounts with outside services, by integration. Only filled in for a tool that declares scopes."""

    @property
    def language(self) -> str | None:
        """The language of the person's locale, such as `fr`; None if they have none."""
        locale = self.user.get("locale")
        return re.split("[-_]", locale)[0].lower() if locale else None

    @property
    def remaining_s(self) -> float:
        """Seconds left until the deadline, never below zero. Use it as the timeout of the next wait or outside call."""
        return max(0.0, self.deadline - time.monotonic())
