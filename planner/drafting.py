"""Draft a plan: one call of a language model, and one more where its answer cannot be used.

In: a planning context.  Out: a valid plan (a direct reply is a plan without steps), or the faults of the second try.
`Unavailable` passes through: whether to try later is not decided here.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from models.contracts.plan import Fault, FaultCode, Plan
from models.contracts.turn import Usage
from models.errors import InvalidPlan
from planner.context import PlanningContext, history_messages
from planner.llm.decoding import decode
from planner.llm.protocol import Generation, LanguageModel, Message, OnDelta
from planner.llm.schema import json_text_arguments, plan_schema
from planner.prompts import Rendered, render
from planner.streaming import OnStep, PlanReader
from planner.validation import validate
from tools.registry import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What came of planning."""

    plan: Plan | None
    """None where the repaired answer, too, could not be used."""
    faults: tuple[dict[str, Any], ...]
    """What is wrong with the last answer; empty where there is a plan."""
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


def draft(
    context: PlanningContext,
    llm: LanguageModel,
    *,
    on_step: OnStep | None = None,
    on_refused: Callable[[], None] | None = None,
    on_delta: OnDelta | None = None,
) -> Draft:
    """Ask for a plan and check it; ask once more, showing every fault, where it breaks a rule.

    `on_step` hears of each step of the first answer while the model writes, and `on_refused` that this answer is not
    taken, before the second is asked for. `on_delta` hears the pieces of a reply in mode `direct`.

    Raises:
        Unavailable: the language model cannot be reached in the context's time.
    """
    if context.mode == "direct":
        return _draft_reply(context, llm, on_delta)
    end = time.monotonic() + context.timeout_s
    messages, prompts = planning_messages(context)
    first = _judge(_ask(context, llm, messages, end, on_step), context)
    if first.plan is not None:
        return _drafted(first, first.generation.usage, prompts, repaired=False)
    if on_refused is not None:
        on_refused()
    repair = render("planning/repair", faults=first.faults)
    again: list[Message] = [
        *messages,
        {"role": "assistant", "content": first.generation.text or "(nothing)"},
        {"role": "user", "content": repair.text},
    ]
    second = _judge(_ask(context, llm, again, end, None), context)
    usage = first.generation.usage.plus(second.generation.usage)
    return _drafted(second, usage, (*prompts, repair.source), repaired=True)


def planning_messages(context: PlanningContext) -> tuple[list[Message], tuple[str, ...]]:
    """Return the prompt of a planning call, and `name@version` of its parts.

    What changes least stands first, so that a provider's prompt cache serves it; the same context gives the same bytes.
    """
    tools = [_describe(tool) for tool in context.tools.tools.values()]
    system = _system(context, "system/planning", planning=context.agent.planning, tools=tools)
    return _messages(context, system)


def _draft_reply(context: PlanningContext, llm: LanguageModel, on_delta: OnDelta | None) -> Draft:
    messages, prompts = _messages(context, _system(context, "system/direct"))
    generation = llm.stream(
        messages, on_delta or (lambda _: None), model=context.agent.llm, timeout_s=context.timeout_s
    )
    text = generation.text.strip()
    faults = () if text else (_fault("empty_answer", "the language model wrote nothing"),)
    plan = Plan(reply=text, steps=[]) if text else None
    return _drafted(_Judged(generation, plan, faults), generation.usage, prompts, repaired=False)


def _messages(context: PlanningContext, system: list[Rendered]) -> tuple[list[Message], tuple[str, ...]]:
    past = history_messages(context.history)
    asked = render(
        "planning/message", message=context.message, user=context.user, now=context.now, mode=context.mode
    )
    messages: list[Message] = [
        {"role": "system", "content": system[0].text},
        *past,
        {"role": "user", "content": asked.text},
    ]
    return messages, tuple(part.source for part in (*system, asked))


def _system(context: PlanningContext, name: str, **inputs: Any) -> list[Rendered]:
    style, safety = render(f"styles/{context.agent.style}"), render("fragments/safety")
    persona = context.agent.persona.strip()
    return [render(name, persona=persona, style=style.text, safety=safety.text, **inputs), style, safety]


def _describe(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "effect": tool.effect,
        "description": tool.description,
        "arguments": tool.input_schema,
        "result": tool.output_schema,
        "json_text": sorted(json_text_arguments(tool)),
    }


def _ask(
    context: PlanningContext, llm: LanguageModel, messages: list[Message], end: float, on_step: OnStep | None
) -> Generation:
    schema, model, left_s = plan_schema(context.tools), context.agent.llm, end - time.monotonic()
    if on_step is None:
        return llm.generate(messages, model=model, schema=schema, timeout_s=left_s)
    reader = PlanReader(on_step, context.tools, context.agent.limits)
    return llm.stream(messages, reader, model=model, schema=schema, timeout_s=left_s)


def _judge(generation: Generation, context: PlanningContext) -> _Judged:
    try:
        return _Judged(generation, _plan_in(generation, context))
    except InvalidPlan as error:
        faults = error.faults
        if generation.finish_reason in ("length", "cut"):
            faults = [_fault("cut_answer", "the answer ended in the middle; write a shorter one"), *faults]
        return _Judged(generation, None, tuple(faults))


def _plan_in(generation: Generation, context: PlanningContext) -> Plan:
    if generation.finish_reason == "refusal" and generation.text.strip():
        return Plan(reply=generation.text.strip(), steps=[])  # declining is an answer, and fit for the user
    agent = context.agent
    plan = validate(decode(generation.text, context.tools), context.tools, agent.limits)
    if context.mode == "plan" and not plan.steps:
        raise _invalid("no_steps", "this message is to be worked on with tools; the plan has no steps")
    if not plan.steps and not (plan.reply or "").strip():
        raise _invalid("empty_answer", "without steps, `reply` must hold the answer")
    return plan


def _drafted(judged: _Judged, usage: Usage, prompts: tuple[str, ...], *, repaired: bool) -> Draft:
    return Draft(
        plan=judged.plan,
        faults=judged.faults,
        text=judged.generation.text,
        usage=usage,
        model=judged.generation.model,
        prompts=prompts,
        repaired=repaired,
    )


def _fault(code: FaultCode, message: str) -> dict[str, Any]:
    return Fault(step=None, code=code, message=message).model_dump()


def _invalid(code: FaultCode, message: str) -> InvalidPlan:
    return InvalidPlan(message, faults=[_fault(code, message)])
