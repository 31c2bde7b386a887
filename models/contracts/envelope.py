"""An envelope is the result of a tool call: exactly one of data, needs, error."""

from typing import Any, Literal, Self

from pydantic import AwareDatetime, model_validator

from turnloom.models.contracts.base import Contract

ErrorCode = Literal[
    "UNAUTHORIZED",
    "SCOPES_MISSING",
    "CONNECTION_INACTIVE",
    "RATE_LIMITED",
    "VALIDATION_ERROR",
    "NOT_FOUND",
    "CONFLICT",
    "INTERNAL_ERROR",
    "TOOL_TIMEOUT",
    "BAD_ARGS",
    "UPSTREAM_4XX",
    "UPSTREAM_5XX",
    "CIRCUIT_OPEN",
    "REAUTH_REQUIRED",
    "CANCELLED",
    "DEPENDENCY_FAILED",
    "REJECTED",
]
"""Why a call failed. A closed list: plans, replies and dashboards are written against it."""

ERROR_CODES: dict[ErrorCode, str] = {
    "UNAUTHORIZED": "The other side does not accept our credentials, or the turn names no user to act for.",
    "SCOPES_MISSING": "The user has not granted what the tool needs, or the credentials do not cover this call.",
    "CONNECTION_INACTIVE": "The user's connection to the other side is switched off.",
    "RATE_LIMITED": "The other side, or our own limit, wants fewer calls; `retry_at` may say when to call again.",
    "VALIDATION_ERROR": "The other side refuses the data.",
    "NOT_FOUND": "The requested thing does not exist.",
    "CONFLICT": "The other side is in a state that rules the call out, or another step of the turn makes the same call "
    "with an effect.",
    "INTERNAL_ERROR": "The tool broke, or returned a value that its output model or JSON cannot hold.",
    "TOOL_TIMEOUT": "The call did not end before its deadline.",
    "BAD_ARGS": "The tool's input model refuses the arguments, or they are larger than 1 MiB with their references "
    "filled in.",
    "UPSTREAM_4XX": "The other side refuses the request.",
    "UPSTREAM_5XX": "The other side fails, and went on failing when tried again.",
    "CIRCUIT_OPEN": "The other side has failed so often that it is not called for a while.",
    "REAUTH_REQUIRED": "The user must sign in to the other side again.",
    "CANCELLED": "The turn stopped, or its deadline had passed, before the step could start.",
    "DEPENDENCY_FAILED": "A step that this one needs did not succeed.",
    "REJECTED": "A person or a hook rejected the call, or nobody approved it in time.",
}
"""Code -> its meaning, for authors of tools and readers of results."""


class ToolError(Contract):
    """The reason why a tool call failed."""

    code: ErrorCode
    message: str
    """A sentence for operators; users read the reply instead."""
    retry_at: AwareDatetime | None = None
    """When it may work again, if the other side said so: then the call is made again or, if nobody knows whether it
    took effect, the other side is asked."""
    cause: dict[str, str | int] | None = None
    """What exactly is wrong, for the reply: a `kind` that fragments/problems has words for, and the values in them."""


class Envelope(Contract):
    """The outcome of a tool call: `ok` with `data`, otherwise `needs` or `error`."""

    ok: bool
    data: Any = None
    """The tool's result, as JSON."""
    needs: dict[str, bool | list[Any]] | None = None
    """Values that only the user can give: field -> True, or the choices."""
    error: ToolError | None = None
    unsure: bool = False
    """Whether the call failed such that nobody knows whether it took effect."""
    ask_again: bool = False
    """With `unsure`: the backend could not be asked now and may be asked later."""
    cache: Literal["shared"] | None = None
    """`shared`: the result of the same call for somebody else; this call was not made."""

    @model_validator(mode="after")
    def exactly_one(self) -> Self:
        """Refuse an envelope with more or fewer than one of the three."""
        if self.ok == (self.needs is not None or self.error is not None) or (self.needs and self.error):
            raise ValueError("an envelope is exactly one of data, needs, error")
        return self
