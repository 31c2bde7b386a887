"""Wording: the template that writes a reply and its inputs, or the language model's prompt if no template fits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnloom.models.contracts.artifact import Artifact
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Usage
from turnloom.planner.draft.context import history_messages
from turnloom.planner.llm.protocol import PromptMessage
from turnloom.planner.reply.grounding import Violation
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.voice import voice

NO_USAGE = Usage(cost=0.0)
LAST_RESORT = "responding/results"
"""The template that fits every reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyDraft:
    """A text that may become the reply."""

    text: str
    written_by: str
    """`template:NAME@VERSION`, `llm:NAME`, or `planner`."""
    prompts: tuple[str, ...] = ()
    """`name@version` of everything rendered for it."""
    usage: Usage = NO_USAGE

    @property
    def is_templated(self) -> bool:
        """Whether a template wrote the text. A second try would write the same."""
        return self.written_by.startswith("template:")


def template_for(given: ReplyInput) -> str | None:
    """Return the name of the template that fits; None if the language model should write."""
    material = given.material
    if material.ending in ("cancelled", "superseded"):
        return f"responding/{material.ending}"
    if any(step.status == "needs_input" for step in material.steps):
        return "responding/question"
    if fitting := _refusal(given) or _hinted(given):
        return fitting
    if given.formatted() is not None:
        return "responding/itinerary"
    if material.ending:
        return "responding/late"
    nothing = not any(step.status == "succeeded" for step in material.steps)
    return LAST_RESORT if material.has_fixed_plan or nothing or given.agent.responder == "template" else None


def fill_template(given: ReplyInput, template: str, artifacts: Sequence[Artifact]) -> ReplyDraft:
    """Write the reply from a template."""
    render, material = given.prompts.render, given.material
    went_wrong = [_problem(step) for step in material.steps if _went_wrong(step)]
    problems = render("fragments/problems", steps=went_wrong, bound=given.bound)
    question, formatted = given.question(), given.formatted()
    text = render(
        template,
        action=material.action,
        steps=[shown(step) for step in material.steps],
        results=given.results(),
        slots=dict(given.slots),
        problems=problems.text,
        output=formatted.result if formatted else None,
        question=question.model_dump() if question else None,
        artifacts=[{"kind": artifact.kind, "title": artifact.title} for artifact in artifacts],
        locale=material.person.get("locale"),
    )
    return ReplyDraft(text=text.text, written_by=f"template:{text.source}", prompts=(text.source, problems.source))


def responding_messages(given: ReplyInput) -> tuple[list[PromptMessage], tuple[str, ...]]:
    """Return the prompt of a responding call, and `name@version` of its parts."""
    render, material = given.prompts.render, given.material
    inputs, spoken = voice(given.agent, given.prompts, material.person)
    system = render("system/responding", **inputs)
    steps = [{key: value for key, value in shown(step).items() if key != "label"} for step in material.steps]
    results = render(
        "fragments/results", message=material.message, action=material.action, steps=steps, bound=given.bound
    )
    messages: list[PromptMessage] = [
        {"role": "system", "content": system.text},
        *history_messages(material.history, given.prompts),
        {"role": "user", "content": results.text},
    ]
    return messages, tuple(part.source for part in (system, *spoken, results))


def rewriting_messages(
    given: ReplyInput, draft: ReplyDraft, violations: Sequence[Violation]
) -> tuple[list[PromptMessage], tuple[str, ...]]:
    """Return the prompt of a second try: the first prompt, the draft, and the violations in it."""
    messages, prompts = responding_messages(given)
    named = [{"text": found.text, "kind": found.kind, "reason": found.reason} for found in violations]
    regenerate = given.prompts.render("responding/regenerate", violations=named)
    messages += [{"role": "assistant", "content": draft.text}, {"role": "user", "content": regenerate.text}]
    return messages, (*prompts, regenerate.source)


def revising_messages(
    given: ReplyInput, draft: ReplyDraft, judgement: Mapping[str, Any]
) -> tuple[list[PromptMessage], tuple[str, ...]]:
    """Return the prompt of a second try: the first prompt, the draft, and a critic's judgement of it."""
    messages, prompts = responding_messages(given)
    revise = given.prompts.render("responding/revise", **judgement)
    messages += [{"role": "assistant", "content": draft.text}, {"role": "user", "content": revise.text}]
    return messages, (*prompts, revise.source)


def authored(given: ReplyInput, draft: ReplyDraft) -> str:
    """Return the template's own words if a template wrote the draft. They may state what no result holds."""
    if not draft.is_templated:
        return ""
    name = draft.written_by.removeprefix("template:").partition("@")[0]
    return given.prompts.in_effect(name).words


def _refusal(given: ReplyInput) -> str | None:
    """Return the template that explains why nothing was achieved, if all failures have the same code.

    Results of inline tools, such as resolved dates, do not count as achieved.
    """
    steps = given.material.steps
    workings = {tool.name for tool in given.tools.tools.values() if tool.inline and not tool.formatter}
    if any(step.status == "succeeded" and step.tool not in workings for step in steps):
        return None
    codes = {(step.error or {}).get("code") for step in steps if step.status == "failed"}
    name = f"responding/refused/{str(codes.pop()).lower()}" if len(codes) == 1 else None
    return name if name and given.prompts.has(name) else None


def _hinted(given: ReplyInput) -> str | None:
    """Return the template that the plan asked for, if it exists and there are results to fill it with."""
    hint, formatter = given.material.synthesis_hint, given.agent.formatter
    name = f"responding/{hint}"
    if hint not in given.agent.hints or not given.prompts.has(name):
        return None
    if formatter is not None and hint == formatter.hint:
        return name if given.formatted() is not None else None
    steps = given.material.steps
    return name if not steps or any(step.status == "succeeded" for step in steps) else None


def _went_wrong(step: StepResult) -> bool:
    return step.status in ("running", "failed", "skipped", "cancelled", "unknown")


def _problem(step: StepResult) -> dict[str, Any]:
    code = (step.error or {}).get("code") if step.status == "failed" else None
    return {"label": _label(step), "status": step.status, "code": code}


def shown(step: StepResult) -> dict[str, Any]:
    """Return a step as templates and language models see it."""
    code = (step.error or {}).get("code")
    seen = {"label": _label(step), "tool": step.tool, "status": step.status, "result": step.result}
    return seen | ({"error": code} if code else {})


def _label(step: StepResult) -> str:
    """Return a tool's name in words: `travel.lookup_weather` is "lookup weather"."""
    return step.tool.rsplit(".", 1)[-1].replace("_", " ")
