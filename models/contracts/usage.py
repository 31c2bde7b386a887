"""Usage: what calls of a language model cost, and how much they may."""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from pydantic import Field

from models.contracts.base import Contract

GroupBy = Literal["day", "agent", "model", "conversation"]
AllowanceScope = Literal["day", "conversation", "turn"]
AllowanceUnit = Literal["cost", "tokens"]


@dataclass(frozen=True, slots=True)
class LlmCall:
    """One call of a language model, retries included."""

    purpose: str
    model: str
    """The name that the endpoint gave; the one that was asked for where none came."""
    prompt_tokens: int
    cached_tokens: int
    """Of the prompt's, those that the endpoint had cached."""
    completion_tokens: int
    cost: float | None
    """In US dollars; None where the model's price is not known."""
    duration_ms: float
    finish_reason: str
    """How the answer ended; the error's code where none came."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """A bound of what may be spent, and how much of it is."""

    scope: AllowanceScope
    unit: AllowanceUnit
    limit: float
    spent: float


class Budget(Contract):
    """The limits of a tenant's spending on language models; None means unlimited.

    Costs are US dollars and count calls whose price is known. Tokens are those of prompts and answers together, and
    count all calls. A day is that of UTC on which a turn was received.
    """

    day_cost: float | None = Field(None, ge=0, allow_inf_nan=False)
    day_tokens: int | None = Field(None, ge=0)
    conversation_cost: float | None = Field(None, ge=0, allow_inf_nan=False)
    conversation_tokens: int | None = Field(None, ge=0)
    turn_cost: float | None = Field(None, ge=0, allow_inf_nan=False)
    turn_tokens: int | None = Field(None, ge=0)


class UsageLine(Contract):
    """Summed costs of language models."""

    key: str
    """The day, agent, language model or conversation."""
    llm_calls: int
    prompt_tokens: int
    cached_tokens: int
    """Of the prompt tokens, those that the endpoint had cached."""
    completion_tokens: int
    cost: float
    """In US dollars, of the calls whose price is known."""
    unpriced_calls: int
    """Calls whose price is not known."""


class UsageReport(Contract):
    """The costs of a tenant's turns, by the UTC day on which the turns were received."""

    first_day: date
    last_day: date
    group_by: GroupBy
    items: list[UsageLine]
    """Days in order; else the most tokens first, and as many as are listed at most."""
    total: UsageLine
    budget: Budget
    """What may be spent."""
