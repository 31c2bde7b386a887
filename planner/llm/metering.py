"""A meter is a language model for one turn: it counts and records every call, and makes none over a budget."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from turnloom.models.contracts.usage import Allowance, LlmCall
from turnloom.models.errors import Unavailable
from turnloom.planner.llm.delegating_model import DelegatingModel
from turnloom.planner.llm.prices import cost_of
from turnloom.planner.llm.protocol import Generation, LanguageModel, OnDelta, PromptMessage, Purpose, SentPrompt
from turnloom.planner.llm.recording import Recorder

_MEANT = {"day": "the budget of the day", "conversation": "the conversation's budget", "turn": "the message's budget"}


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call as the meter's user asked for it."""

    messages: Sequence[PromptMessage]
    purpose: Purpose
    model: str | None
    schema: dict[str, Any] | None


class Meter(DelegatingModel):
    """An account of a turn's calls. It is a language model itself, so its callers need not know of it."""

    def __init__(
        self, llm: LanguageModel, allowances: Sequence[Allowance] = (), recorder: Recorder | None = None
    ) -> None:
        """`allowances`: the limits of the calls, and the amounts spent when the turn was read.

        `recorder` records the texts of the calls; None: they are not recorded.
        """
        self.calls: list[LlmCall] = []
        """Calls that are not recorded yet, including failed ones, without tokens."""
        super().__init__(llm)
        self._allowances = allowances
        self._recorder = recorder
        self._cost = 0.0
        self._tokens = 0

    def settle(self) -> None:
        """Drop the calls, because they are recorded."""
        self.calls = []

    def made_for(self, now: datetime) -> None:
        """Record with the next calls that their prompts are made for this time."""
        if self._recorder is not None:
            self._recorder.now = now

    def generate(
        self,
        messages: Sequence[PromptMessage],
        *,
        purpose: Purpose,
        model: str | None = None,
        schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Generation:
        """Return the whole answer.

        Raises:
            Unavailable: as `LanguageModel`; with the code `budget_exceeded` if the budget is spent.
        """
        return self._count(
            _Asked(messages, purpose, model, schema),
            lambda: self._llm.generate(messages, purpose=purpose, model=model, schema=schema, timeout_s=timeout_s),
        )

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
        """Hand on each piece as it comes, and return the whole answer.

        Raises:
            Unavailable: as `LanguageModel`; with the code `budget_exceeded` if the budget is spent.
        """
        return self._count(
            _Asked(messages, purpose, model, schema),
            lambda: self._llm.stream(
                messages, on_delta, purpose=purpose, model=model, schema=schema, timeout_s=timeout_s
            ),
        )

    def _count(self, asked: "_Asked", ask: Callable[[], Generation]) -> Generation:
        self._refuse_over_budget()
        began = time.monotonic()
        try:
            generation = ask()
        except Unavailable as error:
            self._keep(self._failed(asked, error, _since(began)))
            raise
        if not generation.usage.llm_calls:
            return generation  # a hook answered
        call = self._answered(asked, generation, _since(began))
        self._keep(call)
        return replace(generation, usage=generation.usage.model_copy(update={"cost": call.cost}))

    def _answered(self, asked: "_Asked", generation: Generation, duration_ms: float) -> LlmCall:
        used = generation.usage
        sent = generation.sent or SentPrompt(asked.messages, asked.schema, {}, generation.text)
        return LlmCall(
            purpose=asked.purpose,
            model=generation.model,
            prompt_tokens=used.prompt_tokens,
            cached_tokens=used.cached_tokens,
            completion_tokens=used.completion_tokens,
            cost=used.cost if used.cost is not None else cost_of(generation.model, used),
            duration_ms=duration_ms,
            finish_reason=generation.finish_reason,
            recording=self._recorder.answered(sent) if self._recorder else None,
        )

    def _failed(self, asked: "_Asked", error: Unavailable, duration_ms: float) -> LlmCall:
        recording = self._recorder.failed(asked.messages, asked.schema, error) if self._recorder else None
        return LlmCall(asked.purpose, asked.model or "", 0, 0, 0, 0.0, duration_ms, error.code, recording)

    def _refuse_over_budget(self) -> None:
        for allowance in self._allowances:
            spent = allowance.spent + (self._cost if allowance.unit == "cost" else self._tokens)
            if spent >= allowance.limit:
                amounts = f"{spent:.6g} of {allowance.limit:.6g} {'USD' if allowance.unit == 'cost' else 'tokens'}"
                raise Unavailable(f"{_MEANT[allowance.scope]} is spent: {amounts}", code="budget_exceeded")

    def _keep(self, call: LlmCall) -> None:
        self.calls.append(call)
        self._cost += call.cost or 0.0
        self._tokens += call.prompt_tokens + call.completion_tokens


def _since(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 3)
