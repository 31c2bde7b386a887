"""The changes with which a recorded turn is run again, checked against the turn. Pure.

In: a recorded conversation and the changes of one of its turns.  Out: that turn, and what the changes mean for it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import ValidationError

from turnloom.models.contracts.plan import Plan, implied_needs
from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.contracts.replay import StepRecord
from turnloom.models.errors import Invalid, NotFound
from turnloom.models.runtime.value_faults import faults_of
from turnloom.planner.agents import Agents
from turnloom.planner.plan.validation import validate
from turnloom.tools.registry import Registry
from turnloom.workers.replay.recorded_turns import turn_of
from turnloom.workers.replay.tool_results import CallOutcome


@dataclass(frozen=True, kw_only=True)
class TurnChanges:
    """The changes of a turn from one of its steps."""

    step: str
    plan: Any = None
    """The JSON plan that takes the place of the turn's; None: none does."""
    results: Mapping[str, Any] = field(default_factory=dict)
    """Step -> its JSON result in place of the recorded one."""


class ChangedTurn(NamedTuple):
    """A recorded turn, and what its changes mean for it."""

    turn: RecordedTurn
    """With the given plan, if there is one. All steps of that are run, whatever their phase."""
    given: dict[str, CallOutcome]
    """The outcomes of the steps with given results. They last as long as the recorded calls."""
    again: set[str]
    """The steps that run again; all others keep their recorded results."""


def changed_turn(
    conversation: RecordedConversation, turn_id: str, changes: TurnChanges, agents: Agents, tools: Registry
) -> ChangedTurn:
    """Return a turn with its changes.

    Raises:
        NotFound: the turn, the step, or a step with a given result does not exist; or the agent of a given plan.
        Conflict: the turn has no reply of an agent's own.
        InvalidPlan: the plan has faults; the error lists all of them.
        Invalid: a given result is none of the step's tool.
    """
    turn = turn_of(conversation, turn_id)
    steps = turn.record.steps
    plan = _plan(turn, changes.plan, agents, tools)
    _check_step(changes.step, [step.id for step in steps])
    again = _with_followers(changes.step, {step.id: step.needs for step in steps})
    again |= _with_followers(changes.step, {step.id: implied_needs(step) for step in plan.steps}) if plan else set()
    planned = turn.model_copy(update={"plans": [plan.model_dump(mode="json")]}) if plan else turn
    return ChangedTurn(planned, _given(changes.results, plan, steps, tools), again)


def _plan(turn: RecordedTurn, given: Any, agents: Agents, tools: Registry) -> Plan | None:
    if given is None:
        return None
    agent = agents.get(turn.record.agent)
    plan = validate(given, tools.allowed(agent.tools), agent.limits)
    return plan.model_copy(update={"current_phase": None})


def _given(
    results: Mapping[str, Any], plan: Plan | None, steps: Sequence[StepRecord], tools: Registry
) -> dict[str, CallOutcome]:
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
