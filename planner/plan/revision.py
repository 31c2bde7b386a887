"""Revise: the rules for a plan's next revision about the steps that have ended.

Steps that have ended never run again. The next revision may refer to their results, and may list them again unchanged.
A call with an effect is not made a second time, neither under another id nor twice in one revision.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from turnloom.models.contracts.plan import Fault, Plan, Step
from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.loop import call_of
from turnloom.tools.call_identity import call_hash
from turnloom.tools.registry import Registry

Done = Iterable[StepResult]


def steps_before(done: Done) -> dict[str, Step]:
    """Return the steps that have ended as plan steps by id, to check references and ids against."""
    return {step.id: Step(id=step.id, tool=step.tool, args=dict(step.args)) for step in done}


def without_repeats(data: Mapping[str, Any], done: Done) -> dict[str, Any]:
    """Return a plan's data without the steps that have ended with the same id, tool and arguments."""
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
    """Return a fault for each call with an effect that the plan repeats, or that the turn has or may have made."""
    made = {_call(step, tools): step.id for step in done if step.status in ("succeeded", "unknown")}
    faults = []
    for step in plan.steps:
        if tools.get(step.tool).effect == "read":
            continue
        call = _call(step, tools)
        if (before := made.get(call)) is None:
            made |= {call: step.id} if step.run_if is None else {}
        else:
            message = f"step {step.id!r} repeats step {before!r}: call {step.tool} only once with these arguments"
            faults.append(Fault(step=step.id, code="repeated_effect", message=message))
    return faults


def _call(step: Step | StepResult, tools: Registry) -> str:
    """Return a text that identifies a call: a hash, or the call itself if its tool cannot read the arguments."""
    tool = tools.tools.get(step.tool)
    return (call_hash(tool, dict(step.args)) if tool else None) or call_of(step.tool, step.args)
