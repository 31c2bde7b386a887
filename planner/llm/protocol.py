"""The port to a language model: the planner sees everything that answers prompts in this form."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypedDict

from turnloom.models.contracts.turn import Usage

FinishReason = Literal["stop", "length", "refusal", "cut", "empty"]
"""How an answer ended: normally, at the token limit, with a refusal, in the middle of the stream, before it began."""

Purpose = Literal["plan", "repair", "revision", "direct", "reply", "critic", "context", "summary"]
"""The purpose of a call: to draft a plan, repair it, or revise it; to answer without tools, or from results; to
criticise a reply, to learn from results, to summarise a conversation."""

OnDelta = Callable[[str], None]
"""A function that takes the next piece of a text as it is written."""


class PromptMessage(TypedDict):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """A prompt as the endpoint got it, and the answer to it, before any hook changed that."""

    messages: Sequence[PromptMessage]
    schema: dict[str, Any] | None
    """The schema of the answer; None if the request had none."""
    parameters: dict[str, Any]
    """The other parameters of the request, and the `form` in which it asked for the schema."""
    answer: str


@dataclass(frozen=True, slots=True)
class Generation:
    """The output of a language model."""

    text: str
    """The answer; after `refusal` the model's reason; after `cut` and `length` the text so far."""
    usage: Usage
    model: str
    """The model's name as the endpoint returned it."""
    finish_reason: FinishReason
    sent: SentPrompt | None = None
    """What was sent for it; None if the language model does not say."""


class LanguageModel(Protocol):
    """A language model. Threads may share it.

    Calls raise `Unavailable` if there is no answer. A timeout, a rate limit (with `retry_after_s`) or an outage may
    pass (`passes`); a request that the endpoint rejects does not. Every answer that came is returned, however bad:
    check `finish_reason`.
    """

    @property
    def supports_structured_output(self) -> bool:
        """Whether `schema` reaches the model. If not, the prompt alone must ask for JSON."""

    @property
    def supports_function_calling(self) -> bool:
        """Whether tools can be offered as the provider's function calls."""

    def available(self) -> bool:
        """Return whether the endpoint answers and accepts our key."""

    def generate(
        self,
        messages: Sequence[PromptMessage],
        *,
        purpose: Purpose,
        model: str | None = None,
        schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Generation:
        """Return the whole answer. `timeout_s` bounds the call with all its retries."""

    def stream(
        self,
        messages: Sequence[PromptMessage],
        on_delta: OnDelta,
        *,
        purpose: Purpose,
        model: str | None = None,
        schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Generation:
        """Hand on each piece as it comes, and return the whole answer."""
