"""A problem is an error as a caller sees it (RFC 9457)."""

from pydantic import Field

from turnloom.models.contracts.base import Contract


class ProblemError(Contract):
    """One fault among several."""

    code: str
    """Stable name that programs read."""
    detail: str
    """A sentence for people. It never repeats the value, which may be a secret."""
    field: str | None = None
    """The field at fault, such as `user.timezone`."""
    step: str | None = None
    """Id of the step, if the fault is in a plan's step."""


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
    """Each fault, if there may be several."""
    trace_id: str
    """Names this answer in our logs."""
