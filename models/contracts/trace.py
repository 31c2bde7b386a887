"""A trace tells the origin of a turn's plans and reply."""

from typing import Any, Literal

from turnloom.models.contracts.base import Contract, Moment
from turnloom.models.contracts.feedback import Feedback
from turnloom.models.contracts.recording import RecordedTexts


class PlanTrace(Contract):
    """The origin of one revision of a turn's plan."""

    revision: int
    source: str
    """Who planned: `llm`, `caller` or `playbook`."""
    created_at: Moment
    trace: dict[str, Any]
    """`agent` and `prompts` with their versions, the language model, whether its answer was repaired; in mode
    `adaptive` the `lesson`: what was learned before it, and how. A version is `name@version`, or `name@version+digest`
    for a text with which the tenant replaced the shipped one. `streaming_ms`: how long before it was recorded the first
    text was streamed."""


class CallTrace(Contract):
    """One call of a language model."""

    purpose: str
    model: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: float | None
    """None if the model's price is not known."""
    duration_ms: float
    finish_reason: str
    at: Moment
    recording: RecordedTexts | None = None
    """What was sent and answered. None for keys without the scope `admin`, and if it is not recorded, or no longer."""


class StepTrace(Contract):
    """The origin of a step's result."""

    id: str
    tool: str
    status: str
    attempt: int
    cache: str | None
    """The source of the result if no call was made: `plan`, a step before it in the plan; `memory`, an earlier turn."""
    input_hash: str | None
    """Hash of the call and the person who asked, if its tool's results are memoised: equal hashes mean the same
    call."""


class CallbackTrace(Contract):
    """The progress of a turn's callback."""

    status: Literal["pending", "delivered", "failed"]
    """`pending`: it is sent or tried again. `failed`: it was given up, and an operator may send it again."""
    attempts: int
    answer: int | None
    """The HTTP status of the receiver's last answer."""
    error: dict[str, Any] | None
    """Why the last attempt failed."""
    next_at: Moment | None
    """When it is due: not before that it is tried again."""
    finished_at: Moment | None


class TurnTrace(Contract):
    """The origin of a turn's plans and reply."""

    turn_id: str
    plans: list[PlanTrace]
    reply: dict[str, Any] | None
    """The origin of the reply, template or language model, with its prompts; if the turn got no plan, also the language
    model's text and its faults. None before the turn is final."""
    steps: list[StepTrace]
    llm_calls: list[CallTrace]
    callback: CallbackTrace | None = None
    """None if the message asked for none, or the turn is not final."""
    feedback: list[Feedback]
    """What users said of the reply, the oldest word first."""
