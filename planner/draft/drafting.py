"""Draft a plan: one language-model call, and a second one if its answer cannot be used.

In: a planning context.  Out: a valid plan (a direct reply is a plan without steps), or the faults of the last answer.
`Unavailable` passes through. The caller decides whether to try later.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from turnloom.models.contracts.plan import Fault, FaultCode, Plan
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Usage
from turnloom.models.errors import InvalidPlan, Unavailable
from turnloom.models.runtime.local_time import timezone_of
from turnloom.planner.agents import AgentProfile
from turnloom.planner.draft.context import PlanningContext, history_messages, known
from turnloom.planner.draft.fewer_tools import with_fewer_tools
from turnloom.planner.draft.packing import packed
from turnloom.planner.draft.prompts import Prompts, Rendered
from turnloom.planner.draft.streamed_plan import OnStep, PlanReader
from turnloom.planner.llm.decoding import decode
from turnloom.planner.llm.protocol import Generation, LanguageModel, OnDelta, PromptMessage, Purpose
from turnloom.planner.llm.schema import plan_schema
from turnloom.planner.llm.signatures import signature
from turnloom.planner.plan.expansion import Expansion, expand
from turnloom.planner.plan.limits import PlanLimits
from turnloom.planner.plan.phases import with_kept
from turnloom.planner.plan.revision import effects_again, steps_before, without_repeats
from turnloom.planner.plan.validation import validate
from turnloom.planner.reply.sentence_stream import direct_sentences
from turnloom.planner.voice import voice
from turnloom.tools.registry import Tool


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
    refused, before the second is asked for. `on_delta` gets the pieces of a reply in mode `direct`.

    Raises:
        Unavailable: the language model did not answer within the context's time.
    """
    if context.mode == "direct" or not context.tools.tools:
        return _draft_reply(context, llm, on_delta)
    end = time.monotonic() + context.timeout_s
    while True:
        try:
            return _draft_plan(context, llm, on_step, on_refused)
        except Unavailable as error:
            context = with_fewer_tools(context, error, end - time.monotonic())


def _draft_plan(
    context: PlanningContext, llm: LanguageModel, on_step: OnStep | None, on_refused: Callable[[], None] | None
) -> PlanDraft:
    end = time.monotonic() + context.timeout_s
    messages, prompts = planning_messages(context)
    purpose: Purpose = "revision" if context.revision else "plan"
    first = _judge(_ask(context, llm, messages, purpose, end, on_step), context)
    if first.plan is not None:
        return _drafted(first, first.generation.usage, prompts, repaired=False)
    if on_refused is not None:
        on_refused()
    repair = context.prompts.render("planning/repair", faults=first.faults)
    again: list[PromptMessage] = [
        *messages,
        {"role": "assistant", "content": first.generation.text or "(nothing)"},
        {"role": "user", "content": repair.text},
    ]
    second = _judge(_ask(context, llm, again, "repair", end, None), context)
    usage = first.generation.usage.plus(second.generation.usage)
    return _drafted(second, usage, (*prompts, repair.source), repaired=True)


def planning_messages(context: PlanningContext) -> tuple[list[PromptMessage], tuple[str, ...]]:
    """Return the prompt of a planning call, and `name@version` of its parts.

    The parts that change least come first, so that a provider's prompt cache serves them. The same context gives the
    same bytes.
    """
    rules = _Rules(
        prompts=context.prompts,
        profile=context.agent.model_dump_json(),
        agent=context.agent,
        tools=tuple(context.offered.tools.values()),
        phased=context.mode == "adaptive",
        locale=context.user.get("locale"),
        timezone=timezone_of(context.user),
    )
    return _messages(context, _planning_rules(rules))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """The inputs of the rules in a planning prompt."""

    prompts: Prompts
    profile: str
    """The agent's profile as JSON. The profile itself holds lists, which cannot be hashed."""
    agent: AgentProfile = field(compare=False)
    tools: tuple[Tool, ...]
    phased: bool
    locale: str | None
    timezone: str


@lru_cache(maxsize=128)
def _planning_rules(rules: _Rules) -> Sequence[Rendered]:
    """Return the rules and the parts that they were rendered from. They are cached: most messages share them."""
    agent = rules.agent
    spoken, parts = voice(agent, rules.prompts, {"locale": rules.locale, "timezone": rules.timezone})
    text = rules.prompts.render(
        "system/planning",
        **spoken,
        planning=agent.planning,
        slots=bool(agent.slots),
        hints=bool(agent.hints),
        phased=rules.phased,
        tools=_described(rules.tools),
    )
    return text, *parts


def _draft_reply(context: PlanningContext, llm: LanguageModel, on_delta: OnDelta | None) -> PlanDraft:
    spoken, parts = voice(context.agent, context.prompts, context.user)
    messages, prompts = _messages(context, [context.prompts.render("system/direct", **spoken), *parts])
    sentences = direct_sentences(context, on_delta or (lambda _: None))
    generation = llm.stream(messages, sentences, purpose="direct", model=context.agent.llm, timeout_s=context.timeout_s)
    if generation.finish_reason == "cut":
        raise Unavailable("the language model's answer broke off", code="llm_unreachable", passes=True)
    sentences.finish()
    text = generation.text.strip()
    faults = () if text else (_fault("empty_answer", "the language model wrote nothing"),)
    plan = Plan(reply=text, steps=[]) if text else None
    return _drafted(_Judged(generation, plan, faults), generation.usage, prompts, repaired=False)


def _messages(context: PlanningContext, system: Sequence[Rendered]) -> tuple[list[PromptMessage], tuple[str, ...]]:
    context = packed(context)
    past = history_messages(context.history, context.prompts)
    asked = context.prompts.render(
        "planning/message", message=context.message, user=context.user, now=context.now, mode=context.mode
    )
    parts = [*system, *known(context), asked, *_revision(context)]
    messages: list[PromptMessage] = [
        {"role": "system", "content": system[0].text},
        *past,
        {"role": "user", "content": "\n".join(part.text for part in parts[len(system) :])},
    ]
    return messages, tuple(part.source for part in parts)


def _revision(context: PlanningContext) -> list[Rendered]:
    """Return what a revision's prompt adds to the message: the steps so far, and the reason to plan again."""
    if not context.revision:
        return []
    done = [_observed(step) for step in context.done]
    return [context.prompts.render("planning/revision", again=context.again, mode=context.mode, done=done)]


def _observed(step: StepResult) -> dict[str, Any]:
    seen = {"id": step.id, "tool": step.tool, "args": step.args, "status": step.status, "result": step.result}
    return {name: value for name, value in {**seen, "error": step.error}.items() if value is not None}


def _described(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Describe the tools. A playbook has the result of one of its tools, and that schema is not shown twice."""
    first: dict[type[BaseModel], str] = {}
    for tool in tools:
        first.setdefault(tool.output, tool.name)
    return [_describe(tool, first[tool.output]) for tool in tools]


def _describe(tool: Tool, result_of: str) -> dict[str, Any]:
    return {
        "name": tool.name,
        "effect": tool.effect,
        "description": tool.description,
        "result": signature(tool.output_schema) if result_of == tool.name else None,
        "result_of": result_of,
    }


def _ask(
    context: PlanningContext,
    llm: LanguageModel,
    messages: list[PromptMessage],
    purpose: Purpose,
    end: float,
    on_step: OnStep | None,
) -> Generation:
    at_most, phased = 1 if context.mode == "react" else None, context.mode == "adaptive"
    schema = plan_schema(context.offered, at_most, context.agent, phased=phased)
    model, left_s = context.agent.llm, end - time.monotonic()
    if on_step is None:
        return llm.generate(messages, purpose=purpose, model=model, schema=schema, timeout_s=left_s)
    expansion = Expansion(context.playbooks, context.offered)
    reader = PlanReader(on_step, expansion, _limits(context), steps_before(context.done))
    return llm.stream(messages, reader, purpose=purpose, model=model, schema=schema, timeout_s=left_s)


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
