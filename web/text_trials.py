"""Try a text without setting it: what it says, and what it changes of what a recorded turn's language model is sent."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.material import Material
from turnloom.models.contracts.own_texts import PromptChange, TextCheck, TextTrial
from turnloom.models.errors import Invalid, TurnloomError
from turnloom.models.ledger import replies, turns
from turnloom.models.runtime.settings import settings
from turnloom.planner.reply.reply_input import prepared
from turnloom.planner.reply.reply_prompts import preview
from turnloom.planner.tenant_texts import Tailored, previews, unsaid_texts
from turnloom.web.auth import caller
from turnloom.web.catalogue import catalogue
from turnloom.web.shared_reads import no_turn
from turnloom.workers.replay.prompt_preview import PromptPreview
from turnloom.workers.replay.recorded_turns import PAST, recorded_turn

_MOST_PREVIEWS = 3

_Filling = Callable[[Tailored], dict[str, list[str] | list[PromptChange]]]


def tried(before: Tailored, trial: TextTrial) -> TextCheck:
    """Try a text over those in effect. A text that cannot be used is no error: the outcome says why.

    Raises:
        NotFound: there is no such turn, or no such agent any more.
        Conflict: the turn has not ended, or has no reply of an agent's own.
        Invalid: the text is none that a turn shows.
    """
    try:
        after = before.with_text(trial.name, trial.text)
    except Invalid as error:
        return TextCheck(usable=False, reason=str(error), source=None, warnings=[], preview=[])
    found = TextCheck(
        usable=True,
        reason=None,
        source=after.source(trial.name),
        warnings=unsaid_texts(trial.name, trial.text, after),
        preview=[],
    )
    # In a turn the shipped text stands in for one that fails. Here its author is to know.
    after = replace(after, prompts=after.prompts.trying(trial.name))
    # What is read, and the prompts of today, are ours: a fault of theirs is none of the text.
    fill = _filling(before, after, trial)
    try:
        return found.model_copy(update=fill(after))
    except TurnloomError:
        raise
    except Exception as error:  # noqa: BLE001 - a template is data, and a turn may have other results than it is for
        unfit = f"{trial.name}: it cannot be filled in for this turn: {type(error).__name__}: {error}"
        return found.model_copy(update={"usable": False, "reason": unfit})


def _filling(before: Tailored, after: Tailored, trial: TextTrial) -> _Filling:
    """Return what fills in the text for the outcome of a trial. All that it needs is read."""
    if trial.turn_id is None:
        return lambda tailored: {"preview": previews(tailored, trial.name, _MOST_PREVIEWS)}
    folder = trial.name.partition("/")[0]
    if folder == "languages":
        raise Invalid("turn_id: a language's catalogue is not shown with a turn; try a template of replies with it")
    if folder == "responding" and after.prompts.in_effect(trial.name).is_for_people:
        material = _material(trial.turn_id)
        return lambda tailored: {"preview": [_said(tailored, trial.name, material)]}
    preview = _preview(before, trial.turn_id)
    return lambda tailored: {"prompts": preview.changes(tailored)}


def _said(tailored: Tailored, name: str, material: Material) -> str:
    """Return what a template says about a turn's results."""
    agent = tailored.agents.profiles.get(material.agent) or tailored.agents.get(settings().default_agent)
    return preview(prepared(material, agent, catalogue().registry, tailored), name)


def _preview(before: Tailored, turn_id: str) -> PromptPreview:
    conversation, turn = recorded_turn(caller().tenant_id, turn_id, earlier=PAST)
    return PromptPreview(conversation, turn, _material(turn_id), catalogue().registry, before)


def _material(turn_id: str) -> Material:
    with transaction(caller().tenant_id) as db:
        wanted: UUID = turns.of_tenant(db, caller().tenant_id, turn_id).id
    with statement([caller().tenant_id]) as connection:
        material = replies.gather(connection, wanted)
    if material is None:
        raise no_turn()
    return material
