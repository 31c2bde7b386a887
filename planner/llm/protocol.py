"""The port to a language model. Whatever answers prompts looks like this to the planner."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypedDict

from models.contracts.turn import Usage

FinishReason = Literal["stop", "length", "refusal", "cut", "empty"]
"""How an answer ended: by itself, at the token limit, by declining, in the middle of the stream, before it began."""

Purpose = Literal["plan", "repair", "revision", "direct", "reply", "critic", "context", "summary"]
"""What a call is for: to draft a plan, mend it, or revise it; to answer without tools, or from results; to criticise a
reply, to learn from results, to sum a conversation up."""

OnDelta = Callable[[str], None]
"""Takes the next piece of a text as it is written."""


class PromptMessage(TypedDict):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Generation:
    """The output of a language model."""

    text: str
    """The answer; after `refusal` the model's reason; after `cut` and `length` what there was."""
    usage: Usage
    model: str
    """The name that the endpoint gave."""
    finish_reason: FinishReason


class LanguageModel(Protocol):
    """Something that answers prompts. Safe to share between threads.

    Calls raise `Unavailable` where no answer can be had: timeout, rate limit (with `retry_after_s`), outage, which all
    may pass (`passes`), or a request that the endpoint rejects. Every answer that did come is returned, however bad:
    look at `finish_reason`.
    """

    @property
    def supports_structured_output(self) -> bool:
        """Whether `schema` reaches the model; where not, the prompt alone must ask for JSON."""

    @property
    def supports_function_calling(self) -> bool:
        """Whether tools can be offered in the provider's own way."""

    def available(self) -> bool:
        """Ask whether the endpoint is there and would take our key."""

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
        """Return the whole answer, having handed on each piece as it came."""
