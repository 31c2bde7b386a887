"""A planning call gets the conversation's knowledge, after it has learned from the new results.

The turn's planner learns under its fence. One commit records the knowledge with a lesson that names the revision, so
that a planner that follows a lost one learns nothing twice.
"""

import time
from dataclasses import replace

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.knowledge import Lesson
from turnloom.models.contracts.plan import Plan
from turnloom.models.ledger import knowledge as ledger
from turnloom.models.ledger import plans
from turnloom.models.ledger.knowledge import Known, Learned
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.logging import log
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.knowledge.graph import Knowledge, key_of, recalled
from turnloom.planner.knowledge.learning import Observation, Round, learn, shown
from turnloom.planner.llm.protocol import LanguageModel
from turnloom.planner.plan.phases import so_far


def with_knowledge(turn: ClaimedTurn, context: PlanningContext, llm: LanguageModel) -> PlanningContext | None:
    """Return the context; in mode `adaptive` with the conversation's knowledge, including the last revision's results.

    None: this process may no longer plan the turn.

    Raises:
        Unavailable: Postgres does not answer.
    """
    if context.mode != "adaptive":
        return context
    began = time.monotonic()
    with transaction() as db:
        held = ledger.load(db, turn.tenant_id, turn.conversation_id)
        revisions = plans.of_turn(db, turn.id)
    ran = {step.id for step in context.done}
    last = so_far([Plan.model_validate(revision.document) for revision in revisions], ran)
    context = replace(context, last=last)
    known = recalled(held.items, held.undone)
    lesson = held.lessons.get((str(turn.id), turn.revision))
    if turn.revision and lesson is None:
        learned = _learn(turn, held, known, context, llm)
        if learned is None:
            return None
        known, lesson = learned
    left_s = max(0.0, context.timeout_s - (time.monotonic() - began))
    return replace(context, knowledge=shown(known, context), lesson=lesson, timeout_s=left_s)


def _learn(
    turn: ClaimedTurn, held: Known, known: Knowledge, context: PlanningContext, llm: LanguageModel
) -> tuple[Knowledge, Lesson] | None:
    after, lesson = learn(known, _round(turn, held, context), context, llm)
    before = {key_of(item): item for item in held.items}
    put = {key: item for key, item in after.items.items() if before.get(key) != item}
    learned = Learned(turn.revision, lesson, put, forgotten=before.keys() - after.items.keys())
    reach("context.learned")
    with transaction() as db:
        if not ledger.record(db, turn, learned):
            log.warning("context.fenced", turn_id=str(turn.id))
            return None
    log.info(
        "context.updated",
        turn_id=str(turn.id),
        revision=turn.revision,
        new_facts=lesson.new_facts,
        contradicted=len(lesson.contradicted),
    )
    return after, lesson


def _round(turn: ClaimedTurn, held: Known, context: PlanningContext) -> Round:
    """Return the results that no lesson of this turn has read."""
    read = {step for (of, _), lesson in held.lessons.items() if of == str(turn.id) for step in lesson.steps}
    new = [step for step in context.done if step.status == "succeeded" and step.id not in read]
    return Round(
        turn=str(turn.id),
        at=context.now,
        observations=[Observation(step=one.id, tool=one.tool, args=one.args, result=one.result) for one in new],
        assumptions=(context.last.assumptions or []) if context.last else [],
    )
