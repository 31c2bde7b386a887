"""Decide how a turn goes on when its steps have ended: plan again, or answer.

One loop serves all modes. `direct` never plans again. `plan` and `auto` plan again if failures block the answer.
`react` plans again after each step and `adaptive` after each phase, until the planner has nothing left to do or a bound
is reached.

In: the material of a turn's reply.  Out: the reason to plan again, or the reason to answer now.  Pure.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from turnloom.models.contracts.material import Material
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Again, Bound, Mode
from turnloom.planner.agents import AgentProfile

_SHORTEST_ROUND_MS = 1_000
"""With less time than this before its deadline, a turn is answered from the results so far."""
_REPETITIONS = 3
"""The same call this many times means that the planner is going in circles."""

_IDLE_ROUNDS = 2
"""After this many rounds in which no step succeeded, another round is useless."""

_OPEN_ENDED: frozenset[Mode] = frozenset({"react", "adaptive"})
_NOT_TO_REPEAT = frozenset({"REJECTED", "CANCELLED"})
"""Codes of failures that a person decided on."""


@dataclass(frozen=True, slots=True)
class Move:
    """The next move of a turn."""

    again: Again | None = None
    """Why to plan again; None if the turn is to be answered."""
    bound: Bound | None = None
    """The limit that prevents planning again."""


def next_move(material: Material, agent: AgentProfile) -> Move:
    """Return the next move of a turn."""
    reason = _reason(material, material.mode or agent.mode)
    if reason is None:
        return Move()
    bound = _bound(material, agent, reason)
    return Move(bound=bound) if bound else Move(again=reason)


def _reason(material: Material, mode: Mode) -> Again | None:
    last = [step for step in material.steps if step.revision == material.revision]
    if material.ending or material.has_fixed_plan or not last or any(map(_needs_people, material.steps)):
        return None
    fail_fast = material.on_error == "fail_fast"
    if mode in _OPEN_ENDED:
        return None if fail_fast and any(step.status == "failed" for step in last) else "observe"
    return "blocked" if not fail_fast and _is_blocked(last) else None


def _needs_people(step: StepResult) -> bool:
    """Return whether the next decision about a step belongs to the user, an operator or an approver."""
    was_unwanted = step.status == "failed" and (step.error or {}).get("code") in _NOT_TO_REPEAT
    return was_unwanted or step.status in ("needs_input", "unknown")


def _is_blocked(steps: Sequence[StepResult]) -> bool:
    """Return whether failures block the answer.

    They do if a critical step failed and every step that succeeded is needed by another step.
    """
    if not any(step.status == "failed" and step.critical for step in steps):
        return False
    needed = {need for step in steps for need in step.needs}
    return not any(step.status == "succeeded" for step in steps if step.id not in needed)


def _bound(material: Material, agent: AgentProfile, reason: Again) -> Bound | None:
    rounds = 1 + agent.max_replans if reason == "blocked" else agent.max_rounds
    if material.revision >= rounds:
        return "rounds"
    if material.left_ms < _SHORTEST_ROUND_MS or material.spent_ms > agent.max_duration_s * 1000:
        return "time"
    if agent.max_cost is not None and (material.usage.cost or 0.0) >= agent.max_cost:
        return "cost"
    if reason != "observe":
        return None
    return "repetition" if _repeats(material.steps) else "no_progress" if _stands_still(material) else None


def _repeats(steps: Sequence[StepResult]) -> bool:
    calls = Counter(call_of(step.tool, step.args) for step in steps)
    return max(calls.values(), default=0) >= _REPETITIONS


def _stands_still(material: Material) -> bool:
    """Return whether no step succeeded in the last two rounds."""
    recent = [step for step in material.steps if step.revision > material.revision - _IDLE_ROUNDS]
    return material.revision >= _IDLE_ROUNDS and not any(step.status == "succeeded" for step in recent)


def call_of(tool: str, args: Any) -> str:
    """Return a call as text. The same tool and arguments give the same text."""
    return f"{tool} {json.dumps(args, sort_keys=True, default=str)}"
