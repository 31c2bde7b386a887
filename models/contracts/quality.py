"""Quality tells how a tenant's turns went: plans, calls, grounded replies, questions, times, cost and ratings."""

from datetime import date
from typing import Literal

from turnloom.models.contracts.base import Contract, Moment

QualityBy = Literal["agent", "version", "day"]
"""The grouping: by agent; by agent and each text or language model that took part; by day (UTC) and agent."""


class QualityLine(Contract):
    """The figures of a group of turns: those that ended `succeeded` or `failed`, and were not written by a person.

    A rate or a time is null if nothing in the group has one.
    """

    agent: str | None = None
    version: str | None = None
    """A text as traces name it, such as `agents/hotel@3`, or `llm/` and the name of a language model. A turn counts in
    the line of each of its texts."""
    day: date | None = None
    """The day (UTC) on which the turns were received."""
    turns: int
    failed: int
    error_rate: float | None
    """Failed turns, of all."""
    plans: int
    """Turns for which the language model wrote a plan."""
    plan_validity: float | None
    """Those whose plan was valid at once, without a repair."""
    tool_calls: int
    tool_success: float | None
    """Tool calls that succeeded, of all that ended."""
    checked: int
    """Replies that were checked for figures without a source."""
    grounded: int
    """Those in whose first text every figure had a source."""
    grounded_rate: float | None
    questions: int
    clarifying_rate: float | None
    """Turns that ended in a question to the user, of all."""
    first_word_p50_ms: float | None
    """Time from receiving a message to the first text of its reply that could be read: the median."""
    first_word_p95_ms: float | None
    cost: float
    """In US dollars, of the calls of language models whose price is known."""
    cost_per_turn: float | None
    unpriced_turns: int
    """Turns with calls whose price is not known."""
    up: int
    """Ratings `up` by users."""
    down: int


class QualityReport(Contract):
    """The figures of the turns that a tenant received in a span of time."""

    since: Moment
    until: Moment
    by: QualityBy
    items: list[QualityLine]


class QualityTrend(Contract):
    """The figures of a tenant's turns, day by day, as they were kept. They outlive the turns."""

    items: list[QualityLine]


class GoldenNight(Contract):
    """The golden conversations that were held in one night."""

    day: date
    """The day (UTC) of the night."""
    held: int
    passed: int
    pass_1: float
    pass_1_interval: tuple[float, float]
    """The 95 % confidence interval."""
    failed: list[str]
    """Agent and name of those that did not pass."""
