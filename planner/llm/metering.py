"""A meter is a language model for one turn: it counts every call, and makes none over a budget."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from turnloom.models.contracts.usage import Allowance, LlmCall
from turnloom.models.errors import Unavailable
from turnloom.planner.llm.delegating_model import DelegatingModel
from turnloom.planner.llm.prices import cost_of
from turnloom.planner.llm.protocol import Generation, LanguageModel, OnDelta, PromptMessage, Purpose

_MEANT = {"day": "the budget of the day", "conversation": "the conversation's budget", "turn": "the message's budget"}


class Meter(DelegatingModel):
    """An account of a turn's calls. It is a language model itself, so its callers need not know of it."""

    def __init__(self, llm: LanguageModel, allowances: Sequence[Allowance] = ()) -> None:
        """`allowances`: the limits of the calls, and the amounts spent when the turn was read."""
        self.calls: list[LlmCall] = []
        """Calls that are not recorded yet, including failed ones, without tokens."""
        super().__init__(llm)
        self._allowances = allowances
        self._cost = 0.0
        self._tokens = 0

    def settle(self) -> None:
        """Drop the calls, because they are recorded."""
        self.calls = []

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
            purpose,
            model,
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
            purpose,
            model,
            lambda: self._llm.stream(
                messages, on_delta, purpose=purpose, model=model, schema=schema, timeout_s=timeout_s
            ),
        )

    def _count(self, purpose: Purpose, model: str | None, ask: Callable[[], Generation]) -> Generation:
        self._refuse_over_budget()
        began = time.monotonic()
        try:
            generation = ask()
        except Unavailable as error:
            self._keep(LlmCall(purpose, model or "", 0, 0, 0, 0.0, _since(began), error.code))
            raise
        used = generation.usage
        if not used.llm_calls:
            return generation  # a hook answered
        cost = used.cost if used.cost is not None else cost_of(generation.model, used)
        self._keep(
            LlmCall(
                purpose=purpose,
                model=generation.model,
                prompt_tokens=used.prompt_tokens,
                cached_tokens=used.cached_tokens,
                completion_tokens=used.completion_tokens,
                cost=cost,
                duration_ms=_since(began),
                finish_reason=generation.finish_reason,
            )
        )
        return replace(generation, usage=used.model_copy(update={"cost": cost}))

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
