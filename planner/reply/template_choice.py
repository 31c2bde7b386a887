"""Choose the templates that write a reply, by the results that each of them words.

In: the input of a reply.  Out: its parts, or None if the language model should write it.

A template declares in its front matter the tools whose results it words (`from`). It is chosen only if these succeeded,
so that it has something to say. No result goes unsaid: what the hinted template does not say, others do.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.prompts import Prompt
from turnloom.planner.reply.reply_input import ReplyInput

LAST_RESORT = "responding/results"
"""The template that words any result."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a reply that one template writes."""

    template: str
    says: Sequence[StepResult] = ()
    """The results that it says."""


def template_parts(given: ReplyInput) -> list[Part] | None:
    """Return the parts of a reply that templates write; None if the language model should write it."""
    material = given.material
    if material.ending in ("cancelled", "superseded", "paused"):
        return [Part(f"responding/{material.ending}"), *parts_of_results(given)]
    if any(step.status == "needs_input" for step in material.steps):
        return [*_worded(given)[0], Part("responding/question")]
    return _refusal(given) or _hinted(given) or _collated(given)


def _collated(given: ReplyInput) -> list[Part] | None:
    """Return the parts of a reply for which no template was asked; None if the language model should write it."""
    material = given.material
    if given.formatted() is not None:
        return parts_of_results(given)
    if material.ending:
        return [Part("responding/late"), *parts_of_results(given)]
    nothing = bool(material.steps) and not given.done()
    is_templated = material.has_fixed_plan or nothing or given.agent.responder == "template"
    return last_resort(given) if is_templated else None


def last_resort(given: ReplyInput) -> list[Part]:
    """Return the parts that say all results, or that there are none."""
    return parts_of_results(given) or [Part(LAST_RESORT)]


def parts_of_results(given: ReplyInput) -> list[Part]:
    """Return the parts that say all results. Those that no template words come first."""
    worded, left = _worded(given)
    return [*([Part(LAST_RESORT, left)] if left else []), *worded]


def _hinted(given: ReplyInput) -> list[Part] | None:
    """Return the parts of the reply if the template that the plan asked for fits, and templates word all else."""
    name = f"responding/{given.material.synthesis_hint}"
    if given.material.synthesis_hint not in given.agent.hints or not given.prompts.has(name):
        return None
    worded, left = _worded(given)
    if not given.prompts.in_effect(name).words_of:
        is_free = all(step.status == "succeeded" and _is_working(step, given) for step in given.material.steps)
        return [Part(name)] if is_free else None
    said = [step.tool for part in worded for step in part.says]
    fits = not left and len(said) == len(set(said)) and any(part.template == name for part in worded)
    return worded if fits else None


def _worded(given: ReplyInput) -> tuple[list[Part], list[StepResult]]:
    """Return the parts that word the results, the hinted template's first, and the results that no template words."""
    parts, left = [], list(_results(given))
    for template in _templates(given) if left else ():
        while says := _first_of_each(template.words_of, left):
            says += [step for step in left if step.tool in template.beside]
            parts.append(Part(template.name, says))
            left = [step for step in left if step not in says]
    return parts, left


def _templates(given: ReplyInput) -> Iterable[Prompt]:
    """Return the templates that word results: the hinted one, the agent's others, then all others."""
    known = given.prompts.wordings()
    ordered = [f"responding/{hint}" for hint in (given.material.synthesis_hint, *given.agent.hints)]
    # A template beside which other results need no words comes before the templates of those results.
    others = sorted(known, key=lambda name: (not known[name].beside, name))
    return [known[name] for name in dict.fromkeys([*ordered, *others]) if name in known]


def _first_of_each(tools: Iterable[str], steps: Sequence[StepResult]) -> list[StepResult]:
    """Return the first step of each tool; none if a tool has no step."""
    found = {step.tool: step for step in reversed(steps)}
    return [found[tool] for tool in tools] if all(tool in found for tool in tools) else []


def _results(given: ReplyInput) -> Iterator[StepResult]:
    """Yield the steps whose results the reply has to say: those that succeeded and that no other step took up.

    In a reply without steps they are those of earlier turns that it words again.
    """
    steps, formatted = given.material.steps or given.recounted(), given.formatted()
    by_id = {step.id: step for step in steps}
    taken = {id_ for step in steps for id_ in step.refers_to if id_ in by_id and _takes(step, by_id[id_], given)}
    formatter = given.agent.formatter
    collated = formatter.sources if formatted and formatter and formatted.tool == formatter.tool else frozenset()
    for step in given.done() or given.recounted():
        if step.id not in taken and step.tool not in collated:
            yield step


def _takes(step: StepResult, source: StepResult, given: ReplyInput) -> bool:
    """Return whether a step took up a result, so that the reply need not say it too.

    A failed step took up nothing but the work of an inline tool, such as a resolved date.
    """
    return step.status == "succeeded" or _is_working(source, given)


def _refusal(given: ReplyInput) -> list[Part] | None:
    """Return the part that explains why nothing was achieved, if all failures have the same code.

    Results of inline tools, such as resolved dates, do not count as achieved.
    """
    if any(not _is_working(step, given) for step in given.done()):
        return None
    codes = {(step.error or {}).get("code") for step in given.material.steps if step.status == "failed"}
    name = f"responding/refused/{str(codes.pop()).lower()}" if len(codes) == 1 else None
    return [Part(name)] if name and given.prompts.has(name) else None


def _is_working(step: StepResult, given: ReplyInput) -> bool:
    tool = given.tools.tools.get(step.tool)
    return tool is not None and tool.inline and not tool.formatter
