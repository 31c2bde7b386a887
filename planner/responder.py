"""Compose the reply from what the steps brought: from a template where one fits, else by the language model.

In: the outcome of a turn.  Out: the reply with its artifacts, and who wrote it.  What failed is said in plain words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from models.contracts.artifact import Artifact
from models.contracts.plan import StepStatus, find_references, parse_reference
from models.contracts.turn import Question, Reply, Stop, Usage
from models.errors import Unavailable
from models.logging import log
from planner.agents import AgentProfile
from planner.context import Exchange, history_messages
from planner.llm.protocol import Generation, LanguageModel, Message, OnDelta
from planner.prompts import render, shipped
from tools.registry import Registry, Tool

_HINT = re.compile(r"[a-z][a-z_]{0,63}")
_NO_USAGE = Usage(cost=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """How one step ended."""

    id: str
    tool: str
    args: Mapping[str, Any]
    """As in the plan: with references."""
    status: StepStatus
    result: Any = None
    error: Mapping[str, Any] | None = None
    """`{code, message}` of a failed step."""
    needs: Mapping[str, bool | list[Any]] | None = None
    """What a step that ended `needs_input` asks of the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What there is to reply from."""

    agent: AgentProfile
    tools: Registry
    message: str
    steps: Sequence[StepOutcome]
    """In the plan's order."""
    timeout_s: float
    """Time for a call of the language model."""
    submitted: bool = False
    """Whether the plan was the caller's own: then no language model is called."""
    stop: Stop | None = None
    """Why the work ended before it was done: then no language model is called either."""
    action: str | None = None
    synthesis_hint: str | None = None
    user: Mapping[str, Any] = field(default_factory=dict)
    history: Sequence[Exchange] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A reply, and where it comes from."""

    reply: Reply
    output: Any
    """The formatter's result, where the plan has one."""
    usage: Usage
    written_by: str
    """`template:NAME@VERSION` or `llm:NAME`."""
    prompts: tuple[str, ...]
    """`name@version` of everything rendered for it."""


def compose(outcome: Outcome, llm: LanguageModel, on_delta: OnDelta | None = None) -> Composed:
    """Write the reply. Never fails for want of a language model: the results' template stands in.

    `on_delta` hears the pieces that the language model writes; the reply returned is what counts.
    """
    template = _template(outcome)
    if template is not None:
        return _from_template(outcome, template)
    return _from_llm(outcome, llm, on_delta or (lambda _: None)) or _from_template(outcome, "responding/results")


def _template(outcome: Outcome) -> str | None:
    """Name the template that fits, None where the language model is to write."""
    if outcome.stop in ("cancelled", "superseded"):
        return f"responding/{outcome.stop}"
    if any(step.status == "needs_input" for step in outcome.steps):
        return "responding/question"
    hint = f"responding/{outcome.synthesis_hint}"
    if outcome.synthesis_hint and _HINT.fullmatch(outcome.synthesis_hint) and shipped().has(hint):
        return hint
    if _formatted(outcome) is not None:
        return "responding/itinerary"
    if outcome.stop:
        return "responding/late"
    nothing = not any(step.status == "succeeded" for step in outcome.steps)
    return "responding/results" if outcome.submitted or nothing or outcome.agent.responder == "template" else None


def _from_template(outcome: Outcome, template: str) -> Composed:
    problems = render("fragments/problems", steps=[_problem(step) for step in outcome.steps if _went_wrong(step)])
    question = _question(outcome)
    formatted = _formatted(outcome)
    text = render(
        template,
        action=outcome.action,
        steps=[_shown(step) for step in outcome.steps],
        problems=problems.text,
        output=formatted.result if formatted else None,
        question=question.model_dump() if question else None,
    )
    return _composed(outcome, text.text, f"template:{text.source}", (text.source, problems.source), _NO_USAGE)


def _from_llm(outcome: Outcome, llm: LanguageModel, on_delta: OnDelta) -> Composed | None:
    """Let the language model write; None where it is out, or left nothing that can be sent."""
    messages, prompts = responding_messages(outcome)
    try:
        generation = llm.stream(messages, on_delta, model=outcome.agent.llm, timeout_s=outcome.timeout_s)
    except Unavailable as error:
        log.warning("reply.downgraded", code=error.code)
        return None
    if not _is_usable(generation):
        log.warning("reply.downgraded", code=generation.finish_reason)
        return None
    return _composed(outcome, generation.text.strip(), f"llm:{generation.model}", prompts, generation.usage)


def responding_messages(outcome: Outcome) -> tuple[list[Message], tuple[str, ...]]:
    """Return the prompt of a responding call, and `name@version` of its parts."""
    style, safety = render(f"styles/{outcome.agent.style}"), render("fragments/safety")
    persona = outcome.agent.persona.strip()
    system = render("system/responding", persona=persona, style=style.text, safety=safety.text)
    steps = [{key: value for key, value in _shown(step).items() if key != "label"} for step in outcome.steps]
    results = render("fragments/results", message=outcome.message, action=outcome.action, steps=steps)
    messages: list[Message] = [
        {"role": "system", "content": system.text},
        *history_messages(outcome.history),
        {"role": "user", "content": results.text},
    ]
    return messages, (system.source, style.source, safety.source, results.source)


def _is_usable(generation: Generation) -> bool:
    return generation.finish_reason in ("stop", "length") and bool(generation.text.strip())


def _composed(outcome: Outcome, text: str, written_by: str, prompts: tuple[str, ...], usage: Usage) -> Composed:
    formatted = _formatted(outcome)
    reply = Reply(text=text, artifacts=_artifacts(outcome), question=_question(outcome))
    output = formatted.result if formatted else None
    return Composed(reply=reply, output=output, usage=usage, written_by=written_by, prompts=prompts)


def _formatted(outcome: Outcome) -> StepOutcome | None:
    """Return the last formatter that succeeded."""
    return next((step for step in reversed(outcome.steps) if _succeeded(step, outcome, formatter=True)), None)


def _succeeded(step: StepOutcome, outcome: Outcome, *, formatter: bool) -> bool:
    tool = outcome.tools.tools.get(step.tool)
    return step.status == "succeeded" and tool is not None and tool.formatter == formatter


def _artifacts(outcome: Outcome) -> list[Artifact]:
    formatted = _formatted(outcome)
    steps = [formatted] if formatted else []
    steps += [step for step in outcome.steps if _succeeded(step, outcome, formatter=False)]
    made = (_artifact(step, outcome.tools.get(step.tool)) for step in steps)
    return [artifact for artifact in made if artifact is not None]


def _artifact(step: StepOutcome, tool: Tool) -> Artifact | None:
    if tool.artifact is None:
        return None
    try:
        artifact = tool.artifact(tool.output.model_validate(step.result))
    except Exception:  # noqa: BLE001 - a pack's own code; a reply without its artifact beats no reply
        log.warning("artifact.failed", tool=tool.name, step_id=step.id, exc_info=True)
        return None
    return artifact.model_copy(update={"sources": [step.id, *_referred(step)]})


def _referred(step: StepOutcome) -> list[str]:
    found = (parse_reference(reference) for _, reference in find_references(dict(step.args)))
    return list(dict.fromkeys(reference.step for reference in found if reference))


def _question(outcome: Outcome) -> Question | None:
    needs = {name: choices for step in outcome.steps for name, choices in (step.needs or {}).items()}
    choices = {name: options for name, options in needs.items() if isinstance(options, list)}
    return Question(fields=sorted(needs), choices=choices) if needs else None


def _went_wrong(step: StepOutcome) -> bool:
    return step.status in ("running", "failed", "skipped", "cancelled", "unknown")


def _problem(step: StepOutcome) -> dict[str, Any]:
    code = (step.error or {}).get("code") if step.status == "failed" else None
    return {"label": _label(step), "status": step.status, "code": code}


def _shown(step: StepOutcome) -> dict[str, Any]:
    code = (step.error or {}).get("code")
    shown = {"label": _label(step), "tool": step.tool, "status": step.status, "result": step.result}
    return shown | ({"error": code} if code else {})


def _label(step: StepOutcome) -> str:
    """Say a tool's name in words: `travel.lookup_weather` is "lookup weather"."""
    return step.tool.rsplit(".", 1)[-1].replace("_", " ")
