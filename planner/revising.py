"""Revise: what the steps that have ended mean for the next revision of their turn's plan.

They never run again. The next revision may refer to their results, and may list them once more, unchanged; a call
with an effect that was made is not made a second time under another id.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from models.contracts.plan import Fault, Plan, Step
from planner.loop import call_of
from planner.results import StepOutcome
from tools.registry import Registry

Done = Iterable[StepOutcome]


def steps_before(done: Done) -> dict[str, Step]:
    """Return the steps that have ended as a plan's steps, by id, to judge references and ids against."""
    return {step.id: Step(id=step.id, tool=step.tool, args=dict(step.args)) for step in done}


def without_repeats(data: Mapping[str, Any], done: Done) -> dict[str, Any]:
    """Return a plan's data without the steps that stand in it as they have run already."""
    calls = {step.id: call_of(step.tool, step.args) for step in done}
    listed = data.get("steps")
    steps = [step for step in listed if not _is_repeat(step, calls)] if isinstance(listed, list) else listed
    return {**data, "steps": steps}


def _is_repeat(raw: Any, calls: Mapping[str, str]) -> bool:
    if not isinstance(raw, Mapping):
        return False
    name = raw.get("id")
    return isinstance(name, str) and calls.get(name) == call_of(str(raw.get("tool")), raw.get("args") or {})


def effects_again(plan: Plan, done: Done, tools: Registry) -> list[Fault]:
    """Return a fault for each call with an effect that the turn has made, or may have made, before."""
    made = {call_of(step.tool, step.args): step.id for step in done if step.status in ("succeeded", "unknown")}
    faults = []
    for step in plan.steps:
        before = made.get(call_of(step.tool, step.args))
        if before is not None and tools.get(step.tool).effect != "read":
            message = f"step {step.id!r} would do again what step {before!r} has done: {step.tool} with these arguments"
            faults.append(Fault(step=step.id, code="repeated_effect", message=message))
    return faults
