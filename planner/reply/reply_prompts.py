"""Write a reply from templates, or make the prompt with which the language model writes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnloom.models.contracts.artifact import Artifact
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Usage
from turnloom.models.runtime.logging import log
from turnloom.planner.draft.context import history_messages
from turnloom.planner.llm.protocol import PromptMessage
from turnloom.planner.prompts import Rendered
from turnloom.planner.reply.expiry import expiry
from turnloom.planner.reply.grounding import Violation
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.reply.result_fields import result_fields
from turnloom.planner.reply.template_choice import LAST_RESORT, Part
from turnloom.planner.voice import voice

NO_USAGE = Usage(cost=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyDraft:
    """A text that may become the reply."""

    text: str
    written_by: str
    """`template:NAME@VERSION` with all names, `llm:NAME`, or `planner`."""
    prompts: tuple[str, ...] = ()
    """`name@version` of everything rendered for it."""
    usage: Usage = NO_USAGE
    authored: str = ""
    """The templates' own words and counts, which may state what no result holds."""

    @property
    def is_templated(self) -> bool:
        """Whether a template wrote the text. A second try would write the same."""
        return self.written_by.startswith("template:")


def fill_templates(given: ReplyInput, parts: Sequence[Part], artifacts: Sequence[Artifact]) -> ReplyDraft:
    """Write the reply from templates, one for each part. What cannot be filled in is said by the last resort."""
    went_wrong = [_problem(step) for step in given.material.steps if _went_wrong(step)]
    problems = given.prompts.render("fragments/problems", steps=went_wrong, bound=given.bound)
    filling = _Filling(given, artifacts)
    written = [filling.written(part, parts, problems.text if part is parts[-1] else "") for part in parts]
    said = [rendered for rendered in written if rendered.text] or [
        filling.fill(Part(LAST_RESORT), parts, problems.text)
    ]
    sources = tuple(dict.fromkeys(rendered.source for rendered in said))
    return ReplyDraft(
        text="\n\n".join(rendered.text for rendered in said),
        written_by=f"template:{', '.join(sources)}",
        prompts=(*sources, problems.source),
        authored="\n".join(map(given.prompts.authored, said)),
    )


def preview(given: ReplyInput, template: str) -> str:
    """Return what one template says about all results, whether it would be chosen for them or not.

    Raises:
        Exception: the template cannot say them; it is data, so anything may be wrong.
    """
    part = Part(template, given.material.steps or given.recounted())
    return _Filling(given, ()).fill(part, [part], "").text


class _Filling:
    """The filling in of a reply's templates."""

    def __init__(self, given: ReplyInput, artifacts: Sequence[Artifact]) -> None:
        question, formatted = given.question(), given.formatted()
        self._given = given
        self._common = {
            "action": given.material.action,
            "results": given.results(),
            "slots": dict(given.slots),
            "output": formatted.result if formatted else None,
            "question": question.model_dump() if question else None,
            "artifacts": [{"kind": artifact.kind, "title": artifact.title} for artifact in artifacts],
            "locale": given.material.person.get("locale"),
        }

    def written(self, part: Part, parts: Sequence[Part], problems: str) -> Rendered:
        """Return the text of a part, that of the last resort if the part's template fails or has nothing to say."""
        try:
            rendered = self.fill(part, parts, problems)
        except Exception:  # a template is data, and results may have another shape than it was written for
            if part.template == LAST_RESORT:
                raise
            log.warning("template.failed", template=part.template, exc_info=True)
        else:
            if rendered.text or not part.says:
                return rendered
        return self.fill(Part(LAST_RESORT, part.says), parts, problems)

    def fill(self, part: Part, parts: Sequence[Part], problems: str) -> Rendered:
        """Return the text of a part. A template that says results does not see those that other parts say."""
        seen = self._given.material.steps or self._given.recounted()
        if part.template == LAST_RESORT:
            seen = [step for step in seen if step.status != "succeeded" or step in part.says]
        elif part.says:
            others = [step for other in parts if other is not part for step in other.says]
            seen = [step for step in seen if step not in others]
        inputs = {**self._common, "steps": [self._shown(step) for step in seen], "problems": problems}
        return self._given.prompts.render(part.template, **inputs)

    def _shown(self, step: StepResult) -> dict[str, Any]:
        tool = self._given.tools.tools.get(step.tool)
        language = self._given.prompts.language
        fields = result_fields(step.result, tool.output_schema if tool else {}, language)
        return {
            **shown(step),
            "label": language.text(_label(step)),
            "fields": [field._asdict() for field in fields],
            "named": self._named(step),
            "expires": expiry(step.result, self._given.now),
        }

    def _named(self, step: StepResult) -> list[str]:
        """Return the arguments of a failed step that are words of the user's message, such as a name."""
        values = [value for value in step.args.values() if isinstance(value, str) and value.strip()]
        message = self._given.material.message.casefold()
        return [value for value in values if step.status == "failed" and value.casefold() in message]


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


def _went_wrong(step: StepResult) -> bool:
    return step.status in ("running", "failed", "skipped", "cancelled", "unknown")


def _problem(step: StepResult) -> dict[str, Any]:
    error = (step.error or {}) if step.status == "failed" else {}
    seen = {"label": _label(step), "tool": step.tool, "status": step.status}
    return seen | {"code": error.get("code"), "cause": error.get("cause") or {}}


def shown(step: StepResult) -> dict[str, Any]:
    """Return a step as templates and language models see it."""
    code = (step.error or {}).get("code")
    seen = {"label": _label(step), "tool": step.tool, "status": step.status, "result": step.result}
    return seen | ({"error": code} if code else {})


def _label(step: StepResult) -> str:
    """Return a tool's name in words: `travel.lookup_weather` is "lookup weather"."""
    return step.tool.rsplit(".", 1)[-1].replace("_", " ")
