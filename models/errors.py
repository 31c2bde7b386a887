"""The tree of errors. An error's class says what happens next; the edge decides how it looks.

`code` is the stable name that programs read. The message is a sentence for people: it names the thing and says how to
mend it.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar


class TurnloomError(Exception):
    """The base of all our errors: a stable code, an HTTP status, and a list of single faults."""

    code: str = "internal_error"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"

    def __init__(self, message: str, *, code: str | None = None, faults: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.code = code or self.code
        self.faults = faults or []


class Malformed(TurnloomError):
    """The bytes are not what they claim to be (HTTP 400)."""

    code, status, title = "malformed", 400, "Malformed request"


class Unauthorized(TurnloomError):
    """No key, or one we do not know (HTTP 401)."""

    code, status, title = "unauthorized", 401, "Unauthorized"


class PolicyDenied(TurnloomError):
    """The key is known and may not do this (HTTP 403)."""

    code, status, title = "forbidden", 403, "Forbidden"


class NotFound(TurnloomError):
    """The thing does not exist, or belongs to somebody else (HTTP 404)."""

    code, status, title = "not_found", 404, "Not found"


class Conflict(TurnloomError):
    """The thing exists already, or is busy (HTTP 409)."""

    code, status, title = "conflict", 409, "Conflict"


class Invalid(TurnloomError):
    """The request is well-formed but wrong; `faults` names each fault (HTTP 422)."""

    code, status, title = "invalid", 422, "Invalid request"


class InvalidPlan(Invalid):
    """A plan that breaks a rule; the planner may draft again (HTTP 422 for a plan that a caller posted)."""

    code, title = "invalid_plan", "Invalid plan"


class RateLimited(TurnloomError):
    """Too much of it for now: try again after `retry_after_s` seconds (HTTP 429)."""

    code, status, title = "rate_limited", 429, "Too many requests"

    def __init__(self, message: str, *, retry_after_s: float, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.retry_after_s = retry_after_s


class Unavailable(TurnloomError):
    """Something that we depend on does not work for now: try again later (HTTP 503).

    `retry_after_s` is the pause that the other side asked for, if it gave one.
    """

    code, status, title = "unavailable", 503, "Unavailable"

    def __init__(
        self, message: str, *, code: str | None = None, retry_after_s: float | None = None, passes: bool = False
    ) -> None:
        """`passes`: the same call is likely to succeed in a moment."""
        super().__init__(message, code=code)
        self.retry_after_s = retry_after_s
        self.passes = passes


class Misconfigured(TurnloomError):
    """A setting, or a file that one names, is wrong: the process does not start (exit code 2)."""

    code, title = "misconfigured", "Wrong settings"


class ToolFailed(TurnloomError):
    """A tool call that failed for good; it is recorded with the step. `code` is one of `ErrorCode`."""

    code, status, title = "INTERNAL_ERROR", 500, "Tool failed"

    def __init__(
        self,
        message: str,
        *,
        code: str = "INTERNAL_ERROR",
        retry_at: datetime | None = None,
        cause: Mapping[str, str | int] | None = None,
    ) -> None:
        """`cause`: see `ToolError`."""
        super().__init__(message, code=code)
        self.cause = cause
        if retry_at is not None and retry_at.utcoffset() is None:
            raise ValueError("retry_at must have a time zone: datetime.now(UTC) + …")
        self.retry_at = retry_at


class OutcomeUnknown(ToolFailed):
    """A call was made and its answer was lost: nobody knows whether it took effect."""


class NeedsInput(TurnloomError):
    """A tool lacks something that only the user can say. `needs`: field -> True, or the choices."""

    code, status, title = "needs_input", 422, "Needs input"

    def __init__(self, needs: dict[str, bool | list[Any]]) -> None:
        super().__init__(f"needs {', '.join(sorted(needs))} from the user")
        self.needs = needs
