"""Statistics of tools' calls, from the ledger."""

from pydantic import Field

from turnloom.models.contracts.base import Contract


class ToolStats(Contract):
    """Statistics of one tool's calls. A step counts once, by its final status, whatever its number of tries."""

    tool: str
    calls: int
    """Steps that made a call; a copy of another step's call does not count."""
    succeeded: int
    needs_input: int
    """Steps that ended with a question for the user."""
    failed: int
    unknown: int
    """Steps whose effect nobody knows."""
    cached: int
    """Steps that were answered with a known result."""
    success_rate: float = Field(ge=0, le=1)
    """Share of `succeeded` in `calls`."""
    mean_ms: float | None
    """Mean time from start to end of the steps that made a call; None if there are none."""
    p50_ms: float | None
    """The time within which half of them ended."""
    p95_ms: float | None
    """The time within which 95 of 100 ended."""
    missing: dict[str, int]
    """Fields that had to be asked for -> how often, the most frequent first."""
    errors: dict[str, int]
    """Codes of errors -> how often, the most frequent first."""


class ToolStatsList(Contract):
    """Statistics of tools, by name. Tools without calls are left out."""

    items: list[ToolStats]
