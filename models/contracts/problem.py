"""Problems: how an error looks to a caller (RFC 9457)."""

from pydantic import Field

from models.contracts.base import Contract


class ProblemError(Contract):
    """One fault among several."""

    code: str
    """Stable name that programs read."""
    detail: str
    """A sentence for people. It never repeats the value, which may be a secret."""
    field: str | None = None
    """Where, such as `user.timezone`."""
    step: str | None = None
    """Id of the step, where the fault is in one of a plan's."""


class Problem(Contract):
    """An error, as `application/problem+json`."""

    type: str = "about:blank"
    """Always `about:blank`: `code` says which problem it is."""
    title: str
    """The HTTP status in words."""
    status: int
    detail: str
    """What is wrong and how to mend it, in a sentence."""
    code: str
    """Stable name that programs read, such as `invalid_plan`."""
    errors: list[ProblemError] = Field(default_factory=list)
    """Each fault, where there may be several."""
    trace_id: str
    """Names this answer in our logs."""
