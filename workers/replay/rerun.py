"""A rerun runs one recorded turn again from one of its steps, with a changed plan, results, texts or language model.

That step and what depends on it take their results from the source of the replay; all others keep the recorded ones.
It is a replay of one turn: nothing is sent, no effect is had, and the ledger is only read.
"""

from collections.abc import Mapping, Sequence

from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.contracts.replay import Aspect, ReplayedTurn, StepRecord
from turnloom.models.contracts.replay_request import ReplayOptions
from turnloom.tools.call_identity import call_hash
from turnloom.workers.replay.conversation_replay import replay
from turnloom.workers.replay.past import Past
from turnloom.workers.replay.result_sources import results_over
from turnloom.workers.replay.setting import Setting
from turnloom.workers.replay.tool_results import CallOutcome, PlannedCall, RecordedResults, ToolResults
from turnloom.workers.replay.turn_changes import TurnChanges, changed_turn

_PLANNING: list[Aspect] = ["policy", "usage", "latency"]
"""Aspects that planning has a part in. They say nothing of a turn for which no language model planned again."""


class RerunResults:
    """The given results, the recorded ones of the steps that are kept, and those of a source for the rest."""

    def __init__(
        self, given: Mapping[str, CallOutcome], kept: Sequence[StepRecord], found: RecordedResults, source: ToolResults
    ) -> None:
        """`source` is over `found`, so that the rest does not get the result of a kept step in place of its own."""
        self.unused = set(given)
        self._given, self._found, self._source = given, found, source
        self._kept = {step.id: step for step in kept}

    def of(self, call: PlannedCall) -> CallOutcome | None:
        """Return the outcome of a call; None if there is none. Then the turn has diverged."""
        if call.step in self._given:
            self.unused.discard(call.step)
            return self._given[call.step]
        return (self._found if self._is_kept(call) else self._source).of(call)

    def _is_kept(self, call: PlannedCall) -> bool:
        """Return whether it is the recorded call of a kept step. With other arguments it is another one."""
        step = self._kept.get(call.step)
        if step is None or step.tool != call.tool.name:
            return False
        key = call_hash(call.tool, call.args)
        return key is not None and key == call_hash(call.tool, step.args)


def rerun(
    conversation: RecordedConversation, turn_id: str, changes: TurnChanges, setting: Setting, options: ReplayOptions
) -> ReplayedTurn:
    """Run a turn again from a step. If the setting keeps plans, the given or the recorded ones are run.

    Raises:
        NotFound, Conflict, InvalidPlan, Invalid: the changes do not fit the turn; as `changed_turn` does.
    """
    changed = changed_turn(conversation, turn_id, changes, setting.tailored.agents, setting.tools)
    turn = _compared(changed.turn, setting)
    steps = turn.record.steps
    made: list[RerunResults] = []

    def results_of(turn: RecordedTurn, past: Past) -> ToolResults:
        found = RecordedResults(steps, past.memory, setting.tools)
        source = results_over(found, options, setting, conversation, turn)
        kept = [step for step in steps if step.id not in changed.again]
        made.append(RerunResults(changed.given, kept, found, source))
        return made[-1]

    others = [each.model_copy(update={"is_replayed": False}) for each in conversation.turns if each.seq != turn.seq]
    [replayed] = replay(conversation.model_copy(update={"turns": [*others, turn]}), setting, results_of)
    return replayed.model_copy(update={"unused": sorted(made[-1].unused) if made else []})


def _compared(turn: RecordedTurn, setting: Setting) -> RecordedTurn:
    """Return a turn that is compared in what its rerun can be like: planning is left out if it is not planned again."""
    if turn.submitted_plan is None and not setting.keeps_plans:
        return turn
    record = turn.record.model_copy(update={"unrecorded": [*turn.record.unrecorded, *_PLANNING]})
    return turn.model_copy(update={"record": record})
