"""Make the artifacts of a reply from the results of steps, each as its tool declares, in the user's language.

A tool writes titles and labels in English. They may have places, such as `{check_in}`: fields of the result.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from turnloom.models.contracts.artifact import Artifact, Card, Comparison, Itinerary, ItineraryDay, Link, Table
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.runtime.logging import log
from turnloom.planner.languages.formats import dated, worded
from turnloom.planner.languages.language import Language
from turnloom.planner.reply.expiry import expiry
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.tools.registry import Tool


def artifacts_of(given: ReplyInput) -> list[Artifact]:
    """Return the artifacts of a reply, the formatter's first. Each names the steps that it was made from."""
    formatted = given.formatted()
    steps = [*([formatted] if formatted else []), *given.succeeded(), *given.recounted()]
    made = (
        _artifact(step, given.tools.tools[step.tool], given.prompts.language)
        for step in steps
        if step.tool in given.tools.tools
    )
    return [artifact for artifact in made if artifact is not None and not _has_run_out(artifact, given.now)]


def _has_run_out(artifact: Artifact, now: datetime) -> bool:
    ends = expiry(artifact.data.model_dump(), now)
    return ends is not None and ends["is_over"]


def _artifact(step: StepResult, tool: Tool, language: Language) -> Artifact | None:
    if tool.artifact is None:
        return None
    try:
        artifact = tool.artifact(tool.output.model_validate(step.result))
        spoken = artifact and _spoken(artifact, dict(_places(step.result, language)), language)
    except Exception:  # noqa: BLE001 - a pack's own code may fail; a reply without an artifact is better than none
        log.warning("artifact.failed", tool=tool.name, step_id=step.id, exc_info=True)
        return None
    return spoken and spoken.model_copy(update={"sources": [step.id, *step.refers_to]})


def _spoken(artifact: Artifact, places: Mapping[str, str], language: Language) -> Artifact:
    """Return an artifact with its title, its labels and those of its cells in a language that its catalogue has."""

    def say(text: str) -> str:
        return language.fill(language.text(text), places)

    data = _labelled(_celled(artifact.data, partial(worded, language)), say)
    return artifact.model_copy(update={"title": say(artifact.title), "data": data})


def _celled(data: Any, word: Callable[[str], str]) -> Any:
    match data:
        case Table():
            return data.model_copy(update={"rows": [[_cell(cell, word) for cell in row] for row in data.rows]})
        case Comparison():
            options = [
                {name: value if name == "name" else _cell(value, word) for name, value in option.items()}
                for option in data.options
            ]
            return data.model_copy(update={"options": options})
        case Itinerary():
            days = [day.model_copy(update=_words_of(day, word)) for day in data.days]
            return data.model_copy(
                update={"days": days, "stay": data.stay and word(data.stay), "notes": [*map(word, data.notes)]}
            )
    return data


def _words_of(day: ItineraryDay, word: Callable[[str], str]) -> dict[str, str]:
    return {name: word(value) for name, value in day if isinstance(value, str)}


def _cell(value: Any, word: Callable[[str], str]) -> Any:
    if isinstance(value, bool):
        return word("yes" if value else "no")
    return word(value) if isinstance(value, str) else value


def _labelled(data: Any, say: Callable[[str], str]) -> Any:
    match data:
        case Table():
            return data.model_copy(update={"columns": [*map(say, data.columns)]})
        case Comparison():
            said = {criterion: say(criterion) for criterion in data.criteria}
            options = [{said.get(name, name): value for name, value in option.items()} for option in data.options]
            return data.model_copy(update={"criteria": [*said.values()], "options": options})
        case Link():
            return data.model_copy(update={"label": say(data.label)})
        case Card():
            facts = [fact.model_copy(update={"label": say(fact.label)}) for fact in data.facts]
            return data.model_copy(update={"facts": facts})
    return data


def _places(result: Any, language: Language) -> Iterator[tuple[str, str]]:
    """Yield the texts in a result, and those in the objects that it has."""
    for name, value in result.items() if isinstance(result, dict) else ():
        if isinstance(value, str):
            yield name, dated(language, value)
        elif isinstance(value, dict):
            yield from ((inner, dated(language, text)) for inner, text in value.items() if isinstance(text, str))
