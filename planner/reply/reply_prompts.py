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
from turnloom.planner.reply.reply_input import Outcome
from turnloom.planner.voice import voice

NO_USAGE = Usage(cost=0.0)
LAST_RESORT = "responding/results"
"""The template that fits every outcome."""


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


def template_for(outcome: Outcome) -> str | None:
    """Return the name of the template that fits; None if the language model should write."""
    if outcome.stop in ("cancelled", "superseded"):
        return f"responding/{outcome.stop}"
    if any(step.status == "needs_input" for step in outcome.steps):
        return "responding/question"
    if fitting := _refusal(outcome) or _hinted(outcome):
        return fitting
    if outcome.formatted() is not None:
        return "responding/itinerary"
    if outcome.stop:
        return "responding/late"
    nothing = not any(step.status == "succeeded" for step in outcome.steps)
    return LAST_RESORT if outcome.submitted or nothing or outcome.agent.responder == "template" else None


def fill_template(outcome: Outcome, template: str, artifacts: Sequence[Artifact]) -> ReplyDraft:
    """Write the reply from a template."""
    render = outcome.prompts.render
    went_wrong = [_problem(step) for step in outcome.steps if _went_wrong(step)]
    problems = render("fragments/problems", steps=went_wrong, bound=outcome.bound)
    question, formatted = outcome.question(), outcome.formatted()
    text = render(
        template,
        action=outcome.action,
        steps=[shown(step) for step in outcome.steps],
        results=outcome.results(),
        slots=dict(outcome.slots),
        problems=problems.text,
        output=formatted.result if formatted else None,
        question=question.model_dump() if question else None,
        artifacts=[{"kind": artifact.kind, "title": artifact.title} for artifact in artifacts],
        locale=outcome.user.get("locale"),
    )
    return ReplyDraft(text=text.text, written_by=f"template:{text.source}", prompts=(text.source, problems.source))


def responding_messages(outcome: Outcome) -> tuple[list[PromptMessage], tuple[str, ...]]:
    """Return the prompt of a responding call, and `name@version` of its parts."""
    render = outcome.prompts.render
    inputs, spoken = voice(outcome.agent, outcome.prompts, outcome.user)
    system = render("system/responding", **inputs)
    steps = [{key: value for key, value in shown(step).items() if key != "label"} for step in outcome.steps]
    results = render(
        "fragments/results", message=outcome.message, action=outcome.action, steps=steps, bound=outcome.bound
    )
    messages: list[PromptMessage] = [
        {"role": "system", "content": system.text},
        *history_messages(outcome.history, outcome.prompts),
        {"role": "user", "content": results.text},
    ]
    return messages, tuple(part.source for part in (system, *spoken, results))


def rewriting_messages(
    outcome: Outcome, draft: ReplyDraft, violations: Sequence[Violation]
) -> tuple[list[PromptMessage], tuple[str, ...]]:
    """Return the prompt of a second try: the first prompt, the draft, and the violations in it."""
    messages, prompts = responding_messages(outcome)
    named = [{"text": found.text, "kind": found.kind, "reason": found.reason} for found in violations]
    regenerate = outcome.prompts.render("responding/regenerate", violations=named)
    messages += [{"role": "assistant", "content": draft.text}, {"role": "user", "content": regenerate.text}]
    return messages, (*prompts, regenerate.source)


def revising_messages(
    outcome: Outcome, draft: ReplyDraft, judgement: Mapping[str, Any]
) -> tuple[list[PromptMessage], tuple[str, ...]]:
    """Return the prompt of a second try: the first prompt, the draft, and a critic's judgement of it."""
    messages, prompts = responding_messages(outcome)
    revise = outcome.prompts.render("responding/revise", **judgement)
    messages += [{"role": "assistant", "content": draft.text}, {"role": "user", "content": revise.text}]
    return messages, (*prompts, revise.source)


def authored(outcome: Outcome, draft: ReplyDraft) -> str:
    """Return the template's own words if a template wrote the draft. They may state what no result holds."""
    if not draft.is_templated:
        return ""
    name = draft.written_by.removeprefix("template:").partition("@")[0]
    return outcome.prompts.in_effect(name).words


def _refusal(outcome: Outcome) -> str | None:
    """Return the template that explains why nothing was achieved, if all failures have the same code.

    Results of inline tools, such as resolved dates, do not count as achieved.
    """
    workings = {tool.name for tool in outcome.tools.tools.values() if tool.inline and not tool.formatter}
    if any(step.status == "succeeded" and step.tool not in workings for step in outcome.steps):
        return None
    codes = {(step.error or {}).get("code") for step in outcome.steps if step.status == "failed"}
    name = f"responding/refused/{str(codes.pop()).lower()}" if len(codes) == 1 else None
    return name if name and outcome.prompts.has(name) else None


def _hinted(outcome: Outcome) -> str | None:
    """Return the template that the plan asked for, if it exists and there are results to fill it with."""
    hint, formatter = outcome.synthesis_hint, outcome.agent.formatter
    name = f"responding/{hint}"
    if hint not in outcome.agent.hints or not outcome.prompts.has(name):
        return None
    if formatter is not None and hint == formatter.hint:
        return name if outcome.formatted() is not None else None
    return name if not outcome.steps or any(step.status == "succeeded" for step in outcome.steps) else None


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
