"""A fork is a replay of one turn from one of its steps: it is made here from a request, and run by a worker."""

from dataclasses import replace
from uuid import UUID

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.recorded import RecordedConversation
from turnloom.models.contracts.replay import ReplayedTurn
from turnloom.models.contracts.replay_request import ForkChanges, ForkedTurn, ForkRequest, ReplayOptions
from turnloom.models.errors import Conflict, Invalid, InvalidPlan, NotFound
from turnloom.models.ledger import replays
from turnloom.models.ledger.replays import NewConversation
from turnloom.tools.registry import Registry
from turnloom.workers.replay import requests
from turnloom.workers.replay.conversation_replay import not_replayed
from turnloom.workers.replay.recorded_turns import recorded_turn
from turnloom.workers.replay.rerun import rerun
from turnloom.workers.replay.setting import Setting
from turnloom.workers.replay.turn_changes import TurnChanges, changed_turn


def make(tenant_id: UUID, turn_id: str, request: ForkRequest, tools: Registry) -> UUID:
    """Record a fork and send it to the workers. Returns the id of its replay.

    Raises:
        NotFound: there is no such turn, or the turn has no such step.
        Conflict: the turn has not ended, or has no reply of an agent's own.
        InvalidPlan: the plan has faults; the error lists all of them.
        Invalid: a result is none of its step's tool, a text cannot be used, or no language model has the name.
    """
    texts, made = requests.texts_with(tenant_id, request.prompts)
    requests.check_model(request.model)
    conversation, turn = recorded_turn(tenant_id, turn_id, earlier=0)
    fork = ForkedTurn(turn_id=turn.turn_id, step=request.step)
    changes = ForkChanges(plan=request.plan, results=request.results)
    changed_turn(conversation, turn.turn_id, _changes(fork, changes), made.agents, tools)
    options = ReplayOptions(
        **request.model_dump(include={"tools", "faults", "model"}),
        texts=texts,
        changed=sorted(request.prompts),
        fork=fork,
    )
    with transaction(tenant_id) as db:
        new = NewConversation(conversation.conversation_id, changes)
        replay_id = replays.make(db, tenant_id, options.kept(), [new])
    requests.dispatch(replay_id, 1)
    return replay_id


def run(
    conversation: RecordedConversation, fork: ForkedTurn, changes: ForkChanges, setting: Setting, options: ReplayOptions
) -> list[ReplayedTurn]:
    """Run a fork. What does not fit any more, such as a plan with a tool that has gone since, fails the turn."""
    keeps_plans = changes.plan is not None or (options.model is None and not options.changed)
    try:
        return [
            rerun(
                conversation, fork.turn_id, _changes(fork, changes), replace(setting, keeps_plans=keeps_plans), options
            )
        ]
    except (NotFound, Conflict, Invalid, InvalidPlan) as error:
        return not_replayed(conversation, str(error))


def _changes(fork: ForkedTurn, changes: ForkChanges) -> TurnChanges:
    return TurnChanges(step=fork.step, plan=changes.plan, results=changes.results)
