"""A hooked model is a language model with hooks around its calls. See `tools.hooks`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID

from turnloom.models.contracts.turn import Usage
from turnloom.planner.llm.delegating_model import DelegatingModel
from turnloom.planner.llm.protocol import Generation, LanguageModel, OnDelta, PromptMessage, Purpose
from turnloom.tools.hooks import OnNote, Veto, consult, hooks, storable


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOrigin:
    """The turn for which a language model is called."""

    tenant_id: UUID
    conversation_id: str
    turn_id: UUID
    agent: str
    user: Mapping[str, Any] = field(default_factory=dict)
    """The person's `id`, `name`, `email`, `timezone` and `locale`, as far as they are known. Empty for a summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """A call of a language model. A hook may change everything except its purpose and its origin."""

    purpose: Purpose
    messages: tuple[PromptMessage, ...]
    model: str | None
    """None: the default language model."""
    schema: dict[str, Any] | None
    """The schema of the answer, if that must be JSON."""
    origin: CallOrigin | None = None
    """None: no turn asks, as for `turnloom plan`."""


def with_hooks(llm: LanguageModel, on_note: OnNote, origin: CallOrigin | None = None) -> LanguageModel:
    """Return the language model with this process's hooks around it, or itself if there are none for it."""
    return HookedModel(llm, on_note, origin) if hooks().before_model or hooks().after_model else llm


class HookedModel(DelegatingModel):
    """A language model that asks hooks before and after each call of another one.

    A veto becomes an answer that declines, with the veto's reason, so that nothing is asked again. If a hook looks at
    answers, an answer is handed on after all hooks have seen it, and so in one piece.
    """

    def __init__(self, llm: LanguageModel, on_note: OnNote, origin: CallOrigin | None = None) -> None:
        super().__init__(llm)
        self._origin = origin
        self._on_note = on_note

    def generate(
        self,
        messages: Sequence[PromptMessage],
        *,
        purpose: Purpose,
        model: str | None = None,
        schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Generation:
        """Return the whole answer; see `LanguageModel`."""
        call = self._call(purpose, messages, model, schema)
        return self._around(call, partial(_whole, self._llm, timeout_s))

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
        """Hand on each piece as it comes, and return the whole answer; see `LanguageModel`."""
        call = self._call(purpose, messages, model, schema)
        if not hooks().after_model:
            return self._around(call, partial(_streamed, self._llm, timeout_s, on_delta))
        generation = self._around(call, partial(_whole, self._llm, timeout_s))
        if generation.text and generation.finish_reason != "refusal":
            on_delta(generation.text)
        return generation

    def _call(
        self, purpose: Purpose, messages: Sequence[PromptMessage], model: str | None, schema: dict[str, Any] | None
    ) -> ModelCall:
        return ModelCall(purpose=purpose, messages=tuple(messages), model=model, schema=schema, origin=self._origin)

    def _around(self, asked: ModelCall, ask: Callable[[ModelCall], Generation]) -> Generation:
        call = consult("before_model", asked, partial(_changed, asked), self._on_note)
        if isinstance(call, Veto):
            return Generation(text=call.reason, usage=Usage(cost=0.0), model="none", finish_reason="refusal")
        answer = ask(call)
        judged = consult("after_model", answer, partial(_changed_answer, answer), self._on_note, call)
        return replace(answer, text=judged.reason, finish_reason="refusal") if isinstance(judged, Veto) else judged


def _whole(llm: LanguageModel, timeout_s: float | None, call: ModelCall) -> Generation:
    return llm.generate(call.messages, purpose=call.purpose, model=call.model, schema=call.schema, timeout_s=timeout_s)


def _streamed(llm: LanguageModel, timeout_s: float | None, on_delta: OnDelta, call: ModelCall) -> Generation:
    return llm.stream(
        call.messages, on_delta, purpose=call.purpose, model=call.model, schema=call.schema, timeout_s=timeout_s
    )


def _changed(asked: ModelCall, said: object) -> ModelCall | Veto:
    if isinstance(said, Veto):
        return said
    if not isinstance(said, ModelCall) or not said.messages:
        raise TypeError("a hook before a language model returns a ModelCall with messages, a Veto or None")
    return replace(said, purpose=asked.purpose, origin=asked.origin)


def _changed_answer(answer: Generation, said: object) -> Generation | Veto:
    """Return a hook's version of an answer; its cost and its record stay."""
    if isinstance(said, Veto):
        return said
    if not isinstance(said, Generation):
        raise TypeError("a hook after a language model returns a Generation, a Veto or None")
    return replace(said, text=storable(said.text), usage=answer.usage, model=answer.model, sent=answer.sent)
