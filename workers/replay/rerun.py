"""A rerun runs one recorded turn again from one of its steps, with a changed plan, results, texts or language model.

That step and what depends on it take their results from the source of the replay; all others keep the recorded ones.
It is a replay of one turn: nothing is sent, no effect is had, and the ledger is only read.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import ValidationError

from turnloom.models.contracts.plan import Plan, implied_needs
from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.contracts.replay import Aspect, ReplayedTurn, StepRecord
from turnloom.models.contracts.replay_request import ReplayOptions
from turnloom.models.errors import Invalid, NotFound
from turnloom.models.runtime.value_faults import faults_of
from turnloom.planner.plan.validation import validate
from turnloom.tools.call_identity import call_hash
from turnloom.tools.registry import Registry
from turnloom.workers.replay.conversation_replay import replay
from turnloom.workers.replay.past import Past
from turnloom.workers.replay.recorded_turns import turn_of
from turnloom.workers.replay.result_sources import results_over
from turnloom.workers.replay.setting import Setting
from turnloom.workers.replay.tool_results import CallOutcome, PlannedCall, RecordedResults, ToolResults

_PLANNING: list[Aspect] = ["policy", "usage", "latency"]
"""Aspects that planning has a part in. They say nothing of a turn for which no language model planned again."""


@dataclass(frozen=True, kw_only=True)
class TurnChanges:
    """The changes of a turn from one of its steps."""

    step: str
    plan: Any = None
    """The JSON plan that takes the place of the turn's; None: none does."""
    results: Mapping[str, Any] = field(default_factory=dict)
    """Step -> its JSON result in place of the recorded one."""


class RerunTurn(NamedTuple):
    """A turn that was run again."""

    turn: ReplayedTurn
    unused: list[str]
    """Steps with a given result that have made no call."""


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
) -> RerunTurn:
    """Run a turn again from a step. If the setting keeps plans, the given or the recorded ones are run.

    Raises:
        NotFound: the turn, the step, or a step with a given result does not exist.
        Conflict: the turn has no reply of an agent's own.
        InvalidPlan: the plan has faults; the error lists all of them.
        Invalid: a given result is none of the step's tool.
    """
    turn = _planned(turn_of(conversation, turn_id), changes, setting)
    steps = turn.record.steps
    _check_step(changes.step, [step.id for step in steps])
    plan = Plan.model_validate(changes.plan) if changes.plan is not None else None
    given = _given(changes.results, plan, steps, setting.tools)
    again = _with_followers(changes.step, {step.id: step.needs for step in steps})
    again |= _with_followers(changes.step, {step.id: implied_needs(step) for step in plan.steps}) if plan else set()
    made: list[RerunResults] = []

    def results_of(turn: RecordedTurn, past: Past) -> ToolResults:
        found = RecordedResults(steps, past.memory, setting.tools)
        source = results_over(found, options, setting, conversation, turn)
        made.append(RerunResults(given, [step for step in steps if step.id not in again], found, source))
        return made[-1]

    others = [each.model_copy(update={"is_replayed": False}) for each in conversation.turns if each.seq != turn.seq]
    [replayed] = replay(conversation.model_copy(update={"turns": [*others, turn]}), setting, results_of)
    return RerunTurn(replayed, sorted(made[-1].unused) if made else [])


def _planned(turn: RecordedTurn, changes: TurnChanges, setting: Setting) -> RecordedTurn:
    """Return a turn with the given plan, if there is one. All steps of that are run, whatever their phase."""
    plans = turn.plans
    if changes.plan is not None:
        agent = setting.agent_for(turn)
        plan = validate(changes.plan, setting.tools.allowed(agent.tools), agent.limits)
        plans = [plan.model_copy(update={"current_phase": None}).model_dump(mode="json")]
    is_planned_again = turn.submitted_plan is None and not setting.keeps_plans
    unrecorded = turn.record.unrecorded if is_planned_again else [*turn.record.unrecorded, *_PLANNING]
    record = turn.record.model_copy(update={"unrecorded": unrecorded})
    return turn.model_copy(update={"plans": plans, "record": record})


def _given(
    results: Mapping[str, Any], plan: Plan | None, steps: Sequence[StepRecord], tools: Registry
) -> dict[str, CallOutcome]:
    """Return the outcomes of the calls with given results. They last as long as the recorded calls."""
    tool_of = {step.id: step.tool for step in (plan.steps if plan else steps)}
    lasted = {step.id: step.duration_ms for step in steps}
    for name, result in results.items():
        _check_step(name, tool_of)
        try:
            tools.get(tool_of[name]).output.model_validate(result, by_name=True)
        except ValidationError as error:
            raise Invalid(
                f"the result for step {name!r} is none of {tool_of[name]}: {faults_of(error, 'it')}"
            ) from error
    return {
        name: CallOutcome(status="succeeded", result=result, duration_ms=lasted.get(name, 0.0))
        for name, result in results.items()
    }


def _check_step(name: str, known: Collection[str]) -> None:
    listed = ", ".join(known)
    if name not in known:
        raise NotFound(f"there is no step {name!r}; " + (f"the steps are: {listed}" if listed else "there are none"))


def _with_followers(step: str, needs: Mapping[str, Collection[str]]) -> set[str]:
    """Return a step and those that depend on it."""
    found = {step}
    while more := {name for name, needed in needs.items() if name not in found and found.intersection(needed)}:
        found |= more
    return found
