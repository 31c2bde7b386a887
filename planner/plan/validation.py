"""Validate a plan: every fault is reported, and none hides another.

In: JSON data that a model drafted or a caller posted.  Out: a `Plan`, or `InvalidPlan` with all faults.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from pydantic import ValidationError

from turnloom.models.contracts.plan import (
    STEP_ID,
    Fault,
    FaultCode,
    Plan,
    Step,
    find_references,
    implied_needs,
    parse_reference,
)
from turnloom.models.errors import InvalidPlan
from turnloom.planner.memory.slot_state import read_slots
from turnloom.planner.plan.argument_faults import faults_of_arguments, faults_of_references_as_text
from turnloom.planner.plan.fallbacks import can_replace
from turnloom.planner.plan.limits import PlanLimits
from turnloom.planner.plan.phases import faults_of_phases
from turnloom.planner.plan.references import Schema, compatible, schema_at
from turnloom.tools.registry import Registry, Tool


def validate(
    data: Any,
    tools: Registry,
    limits: PlanLimits | None = None,
    before: Mapping[str, Step] | None = None,
    more: Iterable[Fault] = (),
) -> Plan:
    """Return the plan that the data describes.

    `before`: steps of earlier revisions, which the plan may refer to. `more`: faults that have been found already.

    Raises:
        InvalidPlan: the data has faults; the error lists all of them.
    """
    limits, before = limits or PlanLimits(), before or {}
    if not isinstance(data, Mapping) or not isinstance(data.get("steps"), list):
        message = "a plan must be an object with a list `steps`"
        raise _invalid([Fault(step=None, code="bad_shape", message=message, path="steps")])
    raw_steps = data["steps"]
    faults = [*more, *_shape_faults({**data, "steps": []}, Plan, None, "")]
    steps: list[Step] = []
    for index, raw in enumerate(raw_steps):
        found = list(_shape_faults(raw, Step, _raw_id(raw), f"steps[{index}]."))
        faults += found
        if not found:
            steps.append(Step.model_validate(raw))
    known = {name for raw in raw_steps if (name := _raw_id(raw)) is not None} | before.keys()
    faults += _faults_of_ids(raw_steps, limits, before)
    faults += _faults_of_edges(steps, known)
    by_id = {step.id: step for step in steps}
    for step in steps:
        faults += _faults_of_call(step, {**before, **by_id}, tools)
    faults += _faults_of_shape(by_id, limits)
    faults += faults_of_phases(data, steps, known)
    said, wrong = read_slots(data, limits.slots)
    faults += wrong
    if faults:
        raise _invalid(faults)
    return Plan.model_validate({**data, "slots": said or None} if limits.slots else data)


def validate_next(
    raw: Any, before: Mapping[str, Step], tools: Registry, limits: PlanLimits, done: Mapping[str, Step]
) -> Step:
    """Return the next step of a plan that is still being written. `done`: steps of earlier revisions.

    A step may need steps that come after it. Only the shape of such a step is checked here; the rest is checked with
    the whole plan.

    Raises:
        InvalidPlan: the plan will be refused, whatever else it holds.
    """
    faults = list(_shape_faults(raw, Step, _raw_id(raw), f"steps[{len(before)}]."))
    if faults:
        raise _invalid(faults)
    step = Step.model_validate(raw)
    faults += _faults_of_length(len(before) + 1, limits)
    faults += _faults_of_id(step.id, f"steps[{len(before)}].id", before)
    known = {**done, **before}
    if known.keys() >= set(implied_needs(step)):
        faults += _faults_of_call(step, known, tools)
    if faults:
        raise _invalid(faults)
    return step


def _invalid(faults: list[Fault]) -> InvalidPlan:
    first = faults[0].message
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return InvalidPlan(f"the plan is refused: {first}{more}", faults=[fault.model_dump() for fault in faults])


def _raw_id(raw: Any) -> str | None:
    name = raw.get("id") if isinstance(raw, Mapping) else None
    return name if isinstance(name, str) else None


def _shape_faults(raw: Any, model: type[Plan | Step], step: str | None, prefix: str) -> Iterator[Fault]:
    try:
        model.model_validate(raw)
    except ValidationError as error:
        for found in error.errors(include_url=False, include_context=False, include_input=False):
            where = ".".join(str(part) for part in found["loc"])
            code: FaultCode = "unknown_field" if found["type"] == "extra_forbidden" else "bad_shape"
            yield Fault(step=step, code=code, message=f"{prefix}{where}: {found['msg']}", path=prefix + where)


def _faults_of_ids(raw_steps: list[Any], limits: PlanLimits, before: Iterable[str]) -> Iterator[Fault]:
    yield from _faults_of_length(len(raw_steps), limits)
    seen = set(before)
    for index, raw in enumerate(raw_steps):
        name = _raw_id(raw)
        if name is not None:
            yield from _faults_of_id(name, f"steps[{index}].id", seen)
            seen.add(name)


def _faults_of_length(length: int, limits: PlanLimits) -> Iterator[Fault]:
    if length > limits.max_steps:
        message = f"{length} steps are more than the limit of {limits.max_steps}"
        yield Fault(step=None, code="too_many_steps", message=message, path="steps")


def _faults_of_id(name: str, path: str, seen: Container[str]) -> Iterator[Fault]:
    if not STEP_ID.fullmatch(name):
        message = f"the id {name[:80]!r} does not match [A-Za-z0-9_-]{{1,64}}"
        yield Fault(step=name, code="empty_id" if not name else "bad_id", message=message, path=path)
    if name in seen:
        message = f"two steps have the id {name!r}; ids of steps that have run stay taken"
        yield Fault(step=name, code="duplicate_id", message=message, path=path)


def _faults_of_edges(steps: list[Step], known: set[str]) -> Iterator[Fault]:
    for step in steps:
        for need in step.needs:
            if need == step.id:
                message = f"step {step.id!r} needs itself"
                yield Fault(step=step.id, code="self_dependency", message=message, path=f"{step.id}.needs")
            elif need not in known:
                message = f"step {step.id!r} needs {need!r}, which is not a step of this plan"
                yield Fault(step=step.id, code="dangling_need", message=message, path=f"{step.id}.needs")


def _faults_of_call(step: Step, by_id: Mapping[str, Step], tools: Registry) -> Iterator[Fault]:
    for place, name, args in _calls(step):
        tool = tools.tools.get(name)
        if tool is None:
            message = f"step {step.id!r} calls {name!r}, which is unknown or not allowed here"
            yield Fault(step=step.id, code="unknown_tool", message=message, path=f"{step.id}.{place}tool")
        else:
            yield from faults_of_arguments(step, f"{place}args", tool, args)
            yield from _faults_of_fallback(step, place, tool, tools)
        yield from faults_of_references_as_text(step, f"{place}args", args, by_id, tools)
        for path, reference in find_references(args):
            where = ".".join([step.id, f"{place}args", *map(str, path)])
            wanted = schema_at(tool.input_schema, path) if tool else None
            yield from _faults_of_reference(step, where, reference, wanted, by_id, tools)
    if step.run_if is not None:
        yield from _faults_of_condition(step, by_id, tools)


def _calls(step: Step) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the step's own call and its fallbacks: (place in the step, tool, arguments)."""
    yield "", step.tool, step.args
    for index, fallback in enumerate(step.fallbacks):
        yield f"fallbacks[{index}].", fallback.tool, fallback.args


def _faults_of_fallback(step: Step, place: str, tool: Tool, tools: Registry) -> Iterator[Fault]:
    main = tools.tools.get(step.tool)
    if place and main is not None and not can_replace(tool, main):
        rule = f"must only read, need no approval, and have the queue and result of {main.name}"
        message = f"step {step.id!r}: the fallback {tool.name} {rule}"
        yield Fault(step=step.id, code="bad_fallback", message=message, path=f"{step.id}.{place}tool")


def _faults_of_condition(step: Step, by_id: Mapping[str, Step], tools: Registry) -> Iterator[Fault]:
    condition, where = step.run_if or {}, f"{step.id}.run_if"
    if not ("$from" in condition and condition.keys() <= {"$from", "equals", "not"}):
        message = f'{where}: write a condition as {{"$from": "step.path"}}, optionally with "equals" or "not"'
        yield Fault(step=step.id, code="bad_condition", message=message, path=where)
        return
    yield from _faults_of_reference(step, where, {"$from": condition["$from"]}, None, by_id, tools)


def _faults_of_reference(
    step: Step, where: str, raw: dict[str, Any], wanted: Schema | None, by_id: Mapping[str, Step], tools: Registry
) -> Iterator[Fault]:
    reference = parse_reference(raw)
    code: FaultCode = "dangling_reference"
    message = None
    if reference is None:
        code, message = "bad_reference", f'{where}: write a reference as {{"$from": "step_id.path[0].field"}}'
    elif reference.step == step.id:
        code, message = "self_dependency", f"step {step.id!r} refers to its own result"
    elif reference.step not in by_id:
        message = f"{where} refers to {str(reference)!r}, but {reference.step!r} is not a (valid) step of this plan"
    elif (producer := tools.tools.get(by_id[reference.step].tool)) is not None:
        found = schema_at(producer.output_schema, reference.path)
        if found is None:
            message = f"{where} refers to {str(reference)!r}, which is no field of the result of {producer.name}"
        elif wanted and not compatible(found, wanted):
            code, message = "type_mismatch", f"{where}: {str(reference)!r} is not of the type that this argument takes"
    if message is not None:
        yield Fault(step=step.id, code=code, message=message, path=where)


def _faults_of_shape(by_id: Mapping[str, Step], limits: PlanLimits) -> Iterator[Fault]:
    needs = {
        name: [need for need in implied_needs(step) if need in by_id and need != name] for name, step in by_id.items()
    }
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        cycle = list(reversed(error.args[1]))
        message = f"the steps wait for each other: {' -> '.join(cycle)}"
        yield Fault(step=cycle[0], code="cycle", message=message, path="steps")
        return
    depth: dict[str, int] = {}
    for name in order:
        depth[name] = 1 + max((depth[need] for need in needs[name]), default=0)
    deepest = max(depth.values(), default=0)
    if limits.max_depth is not None and deepest > limits.max_depth:
        message = f"the longest path has {deepest} steps, more than the limit of {limits.max_depth}"
        yield Fault(step=None, code="too_deep", message=message, path="steps")
    followers = {name: sum(name in wanted for wanted in needs.values()) for name in needs}
    for name, count in followers.items():
        if limits.max_fan_out is not None and count > limits.max_fan_out:
            message = f"{count} steps need {name!r} directly, more than the limit of {limits.max_fan_out}"
            yield Fault(step=name, code="too_wide", message=message, path="steps")
