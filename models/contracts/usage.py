"""Usage is the cost of a language model's calls, and the budget for them."""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from pydantic import Field

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.recording import Recording

GroupBy = Literal["day", "agent", "model", "conversation"]
AllowanceScope = Literal["day", "conversation", "turn"]
AllowanceUnit = Literal["cost", "tokens"]


@dataclass(frozen=True, slots=True)
class LlmCall:
    """One call of a language model, retries included."""

    purpose: str
    model: str
    """The name that the endpoint returned; if it returned none, the requested name."""
    prompt_tokens: int
    cached_tokens: int
    """Prompt tokens that the endpoint had cached."""
    completion_tokens: int
    cost: float | None
    """In US dollars; None if the model's price is not known."""
    duration_ms: float
    finish_reason: str
    """How the answer ended; the error's code if there was no answer."""
    recording: Recording | None = None
    """Its texts; None if they are not recorded."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """A limit on spending, and how much of it is spent."""

    scope: AllowanceScope
    unit: AllowanceUnit
    limit: float
    spent: float


class Budget(Contract):
    """The limits of a tenant's spending on language models; None means unlimited.

    Costs are in US dollars and count calls whose price is known. Tokens are those of prompts and answers together, and
    count all calls. A turn counts on the UTC day on which it was received.
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
    """Prompt tokens that the endpoint had cached."""
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
    """Days in order; other groups by tokens, the most first, up to the limit."""
    total: UsageLine
    budget: Budget
    """The limits of spending."""
