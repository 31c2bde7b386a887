"""Draft a plan: one language-model call, and a second one if its answer cannot be used.

In: a planning context.  Out: a valid plan (a direct reply is a plan without steps), or the faults of the last answer.
`Unavailable` passes through. The caller decides whether to try later.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnloom.models.contracts.plan import Fault, FaultCode, Plan
from turnloom.models.contracts.turn import Usage
from turnloom.models.errors import InvalidPlan, Unavailable
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.fewer_tools import with_fewer_tools
from turnloom.planner.draft.planning_prompt import direct_messages, plan_form, planning_messages
from turnloom.planner.draft.streamed_plan import OnStep, step_reader
from turnloom.planner.draft.streamed_reply import reply_reader
from turnloom.planner.draft.tool_choice import searches_in
from turnloom.planner.llm.decoding import decode
from turnloom.planner.llm.protocol import Generation, LanguageModel, OnDelta, PromptMessage, Purpose
from turnloom.planner.plan.expansion import Expansion, expand
from turnloom.planner.plan.limits import PlanLimits
from turnloom.planner.plan.phases import with_kept
from turnloom.planner.plan.revision import effects_again, steps_before, without_repeats
from turnloom.planner.plan.validation import validate
from turnloom.planner.reply.sentence_stream import direct_sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDraft:
    """The result of planning."""

    plan: Plan | None
    """The plan; None if the repaired answer could not be used either."""
    faults: tuple[dict[str, Any], ...]
    """The faults of the last answer; empty if there is a plan."""
    text: str
    """The last answer as the model wrote it, kept for the trace."""
    usage: Usage
    model: str
    """The language model that answered."""
    prompts: tuple[str, ...]
    """`name@version` of every prompt used."""
    repaired: bool
    """Whether a second call was needed."""


@dataclass(frozen=True, slots=True)
class _Judged:
    """An answer, and the plan or the faults in it."""

    generation: Generation
    plan: Plan | None
    faults: tuple[dict[str, Any], ...] = ()
    playbooks: tuple[str, ...] = ()
    """`name@version` of the playbooks that the plan called."""


def draft(
    context: PlanningContext,
    llm: LanguageModel,
    *,
    on_step: OnStep | None = None,
    on_refused: Callable[[], None] | None = None,
    on_delta: OnDelta | None = None,
) -> PlanDraft:
    """Ask for a plan and check it. If it has faults, show them all and ask once more.

    `on_step` gets each step of the first answer while the model writes. `on_refused` is called if that answer is
    refused, before the second is asked for. `on_delta` gets the sentences of a direct reply while it is written.

    Raises:
        Unavailable: the language model did not answer within the context's time.
    """
    if context.mode == "direct" or not context.tools.tools:
        return _draft_reply(context, llm, on_delta)
    end = time.monotonic() + context.timeout_s
    while True:
        try:
            return _draft_plan(context, llm, on_step, on_refused, on_delta)
        except Unavailable as error:
            context = with_fewer_tools(context, error, end - time.monotonic())


def _draft_plan(
    context: PlanningContext,
    llm: LanguageModel,
    on_step: OnStep | None,
    on_refused: Callable[[], None] | None,
    on_delta: OnDelta | None,
) -> PlanDraft:
    end = time.monotonic() + context.timeout_s
    messages, prompts = planning_messages(context)
    steps, reply = step_reader(context, _limits(context), on_step), reply_reader(context, on_delta)
    answer = _ask(context, llm, messages, end, [reader for reader in (steps, reply) if reader])
    if searched := searches_in(answer.text, context.offered):
        _refuse(on_refused)
        context = replace(context, searched=searched)
        messages, prompts = planning_messages(context)
        reply = reply_reader(context, on_delta)
        found = _ask(context, llm, messages, end, [reply] if reply else [])
        answer = replace(found, usage=answer.usage.plus(found.usage))
    first = _judge(answer, context)
    if first.plan is not None:
        if reply is not None and not first.plan.steps:
            reply.finish(first.plan.reply or "")
        return _drafted(first, first.generation.usage, prompts, repaired=False)
    _refuse(on_refused)
    repair = context.prompts.render("planning/repair", faults=first.faults)
    again: list[PromptMessage] = [
        *messages,
        {"role": "assistant", "content": first.generation.text or "(nothing)"},
        {"role": "user", "content": repair.text},
    ]
    second = _judge(_ask(context, llm, again, end, purpose="repair"), context)
    usage = first.generation.usage.plus(second.generation.usage)
    return _drafted(second, usage, (*prompts, repair.source), repaired=True)


def _draft_reply(context: PlanningContext, llm: LanguageModel, on_delta: OnDelta | None) -> PlanDraft:
    messages, prompts = direct_messages(context)
    sentences = direct_sentences(context, on_delta or (lambda _: None))
    generation = llm.stream(messages, sentences, purpose="direct", model=context.agent.llm, timeout_s=context.timeout_s)
    if generation.finish_reason == "cut":
        raise Unavailable("the language model's answer broke off", code="llm_unreachable", passes=True)
    sentences.finish()
    text = generation.text.strip()
    faults = () if text else (_fault("empty_answer", "the language model wrote nothing"),)
    plan = Plan(reply=text, steps=[]) if text else None
    return _drafted(_Judged(generation, plan, faults), generation.usage, prompts, repaired=False)


def _ask(
    context: PlanningContext,
    llm: LanguageModel,
    messages: list[PromptMessage],
    end: float,
    readers: Sequence[OnDelta] = (),
    purpose: Purpose | None = None,
) -> Generation:
    purpose = purpose or ("revision" if context.revision else "plan")
    schema = plan_form(context)
    model, left_s = context.agent.llm, end - time.monotonic()
    if not readers:
        return llm.generate(messages, purpose=purpose, model=model, schema=schema, timeout_s=left_s)

    def on_piece(piece: str) -> None:
        for reader in readers:
            reader(piece)

    return llm.stream(messages, on_piece, purpose=purpose, model=model, schema=schema, timeout_s=left_s)


def _refuse(on_refused: Callable[[], None] | None) -> None:
    if on_refused is not None:
        on_refused()


def _limits(context: PlanningContext) -> PlanLimits:
    limits = context.agent.limits
    return replace(limits, max_steps=1) if context.mode == "react" else limits


def _judge(generation: Generation, context: PlanningContext) -> _Judged:
    expansion = Expansion(context.playbooks, context.offered)
    try:
        return _Judged(generation, _plan_in(generation, context, expansion), playbooks=tuple(expansion.used))
    except InvalidPlan as error:
        faults = error.faults
        if generation.finish_reason in ("length", "cut"):
            faults = [_fault("cut_answer", "the answer ended in the middle; write a shorter one"), *faults]
        return _Judged(generation, None, tuple(faults))


def _plan_in(generation: Generation, context: PlanningContext, expansion: Expansion) -> Plan:
    if generation.finish_reason == "refusal" and generation.text.strip():
        return Plan(reply=generation.text.strip(), steps=[])  # a refusal is an answer that the user may see
    data = without_repeats(expand(decode(generation.text, expansion.tools), expansion), context.done)
    if context.last is not None:
        data = with_kept(data, context.last, {step.id for step in context.done}, context.contradicted)
    plan = validate(data, context.tools, _limits(context), steps_before(context.done), expansion.faults)
    if again := effects_again(plan, context.done, context.tools):
        raise InvalidPlan(again[0].message, faults=[fault.model_dump() for fault in again])
    if context.revision:
        return plan  # a revision without steps says that the work is done
    if context.mode == "plan" and not plan.steps:
        raise _invalid("no_steps", "this message must be worked on with tools, but the plan has no steps")
    answered = (plan.reply or "").strip() or plan.synthesis_hint in context.agent.hints
    if not plan.steps and not answered:
        raise _invalid("empty_answer", "without steps, `reply` must hold the answer")
    return plan


def _drafted(judged: _Judged, usage: Usage, prompts: tuple[str, ...], *, repaired: bool) -> PlanDraft:
    return PlanDraft(
        plan=judged.plan,
        faults=judged.faults,
        text=judged.generation.text,
        usage=usage,
        model=judged.generation.model,
        prompts=(*prompts, *judged.playbooks),
        repaired=repaired,
    )


def _fault(code: FaultCode, message: str) -> dict[str, Any]:
    return Fault(step=None, code=code, message=message).model_dump()


def _invalid(code: FaultCode, message: str) -> InvalidPlan:
    return InvalidPlan(message, faults=[_fault(code, message)])
