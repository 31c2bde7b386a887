"""How calls of tools have gone, as the ledger knows it."""

from pydantic import Field

from models.contracts.base import Contract


class ToolStats(Contract):
    """Statistics of one tool's calls. A step counts once, by its final status, however many tries it took."""

    tool: str
    calls: int
    """Steps that came to a call; a copy of another step's call is none."""
    succeeded: int
    needs_input: int
    """That ended with a question for the user."""
    failed: int
    unknown: int
    """Whose effect nobody knows."""
    cached: int
    """That a result already known has answered."""
    success_rate: float = Field(ge=0, le=1)
    """Share of `succeeded` in `calls`."""
    mean_ms: float | None
    """Mean time from a step's start to its end, where a call was made; None where none was."""
    p50_ms: float | None
    """Half of them took no longer."""
    p95_ms: float | None
    """Of a hundred, 95 took no longer."""
    missing: dict[str, int]
    """Fields that had to be asked for -> how often, the most frequent first."""
    errors: dict[str, int]
    """Codes of errors -> how often, the most frequent first."""


class ToolStatsList(Contract):
    """Statistics of tools, by name. Tools without calls are left out."""

    items: list[ToolStats]
