"""What a tool call comes back as: exactly one of data, needs, error."""

from datetime import datetime
from typing import Any, Literal, Self

from pydantic import model_validator

from models.contracts.base import Contract

ErrorCode = Literal[
    "UNAUTHORIZED", "SCOPES_MISSING", "CONNECTION_INACTIVE", "RATE_LIMITED", "VALIDATION_ERROR", "NOT_FOUND",
    "CONFLICT", "INTERNAL_ERROR", "TOOL_TIMEOUT", "BAD_ARGS", "UPSTREAM_4XX", "UPSTREAM_5XX", "CIRCUIT_OPEN",
    "REAUTH_REQUIRED", "CANCELLED", "DEPENDENCY_FAILED",
]  # fmt: skip
"""Why a call failed. A closed list: plans, replies and dashboards are written against it."""


class ToolError(Contract):
    """Why a tool call failed."""

    code: ErrorCode
    message: str
    """A sentence for operators; the user reads the reply, not this."""
    retry_at: datetime | None = None
    """When it may work again, where the other side said so."""


class Envelope(Contract):
    """The outcome of a tool call. `ok` with `data`; or not, with `needs` or `error`."""

    ok: bool
    data: Any = None
    """What the tool returned, as JSON."""
    needs: dict[str, bool | list[Any]] | None = None
    """What only the user can say: field -> True, or the choices."""
    error: ToolError | None = None

    @model_validator(mode="after")
    def exactly_one(self) -> Self:
        """Refuse an envelope that says two things, or none."""
        if self.ok == (self.needs is not None or self.error is not None) or (self.needs and self.error):
            raise ValueError("an envelope is exactly one of data, needs, error")
        return self
