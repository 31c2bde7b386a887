"""Trace: how the plans and the reply of a turn came about."""

from typing import Any

from models.contracts.base import Contract, Moment


class PlanTrace(Contract):
    """The origin of one revision of a turn's plan."""

    revision: int
    source: str
    """Who planned: `llm`, `caller` or `playbook`."""
    created_at: Moment
    trace: dict[str, Any]
    """`agent` and `prompts` with their versions, the language model, whether its answer was repaired; in mode
    `adaptive` the `lesson`: what was learned before it, and how. A version is `name@version`; of a text that the tenant
    has put in place of the shipped one `name@version+digest`."""


class CallTrace(Contract):
    """One call of a language model."""

    purpose: str
    model: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: float | None
    """None where the model's price is not known."""
    duration_ms: float
    finish_reason: str
    at: Moment


class StepTrace(Contract):
    """The origin of a step's result."""

    id: str
    tool: str
    status: str
    attempt: int
    cache: str | None
    """What spared the call: `plan`, for one that stands in the plan before; `memory`, for one of an earlier turn."""
    input_hash: str | None
    """Of the call and of who asked, where its tool's results are remembered: the same hash, the same call."""


class TurnTrace(Contract):
    """The origin of a turn's plans and reply."""

    turn_id: str
    plans: list[PlanTrace]
    reply: dict[str, Any] | None
    """What wrote the reply, template or language model, with its prompts; where no plan came of the turn also what the
    language model wrote instead, and its faults. None before the turn is final."""
    steps: list[StepTrace]
    llm_calls: list[CallTrace]
