"""The source of a replay's tool results is made here, as the options of the replay choose it."""

import time
from functools import partial

from turnloom.models.contracts.envelope import Envelope
from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.contracts.replay_request import ReplayOptions
from turnloom.tools import runner
from turnloom.tools.context import ToolContext
from turnloom.tools.guards import Guards
from turnloom.workers.replay.conversation_replay import ResultsOf
from turnloom.workers.replay.past import Past
from turnloom.workers.replay.setting import Setting
from turnloom.workers.replay.tool_results import LiveReads, PlannedCall, RecordedResults, SimulatedResults, ToolResults
from turnloom.workers.turns.tool_availability import access_for


def results_of(options: ReplayOptions, setting: Setting, conversation: RecordedConversation) -> ResultsOf:
    """Return what makes the source of a turn's tool results."""

    def of_turn(turn: RecordedTurn, past: Past) -> ToolResults:
        found = RecordedResults(turn.record.steps, past.memory, setting.tools)
        return results_over(found, options, setting, conversation, turn)

    return of_turn


def results_over(
    found: RecordedResults,
    options: ReplayOptions,
    setting: Setting,
    conversation: RecordedConversation,
    turn: RecordedTurn,
) -> ToolResults:
    """Return the source of a turn's tool results, over its recorded ones."""
    if options.tools == "live-read":
        return LiveReads(found, partial(_read_now, setting, conversation, turn))
    if options.faults is not None:
        return SimulatedResults(found, options.faults, f"{conversation.conversation_id}/{turn.seq}")
    return found


def _read_now(setting: Setting, conversation: RecordedConversation, turn: RecordedTurn, call: PlannedCall) -> Envelope:
    """Call a tool that reads, as a live turn does."""
    assert call.tool.effect == "read"
    access = access_for(setting.tenant_id, turn.person.get("id"), setting.tools)
    context = ToolContext(
        tenant_id=setting.tenant_id,
        conversation_id=conversation.conversation_id,
        turn_id=turn.key(conversation.conversation_id),
        step_id=call.step,
        attempt=1,
        idempotency_key=f"replay/{conversation.conversation_id}/{turn.seq}/{call.step}",
        deadline=time.monotonic() + call.tool.timeout_s,
        user=turn.person,
        agent=turn.record.agent,
        scopes=access.scopes,
        accounts=access.accounts,
    )
    return runner.run(call.tool, call.args, context, guards=Guards(longest_wait_s=call.tool.timeout_s))
