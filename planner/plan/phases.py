"""Phases and assumptions of a plan: their faults, the steps to run now, and the steps that a wrong one undoes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from turnloom.models.contracts.plan import Assumption, Fault, Phase, Plan, Step, implied_needs
from turnloom.planner.knowledge.graph import Knowledge, word
from turnloom.planner.knowledge.values import meaning

DONE = "done"
"""The `current_phase` of a plan whose success metrics are all met."""


def faults_of_phases(data: Mapping[str, Any], steps: Collection[Step], known: Collection[str]) -> Iterator[Fault]:
    """Yield the faults of phases and assumptions.

    `known`: ids of all steps of the turn, including those of earlier revisions.
    """
    yield from _faults_of_assumptions(data, steps)
    phases = _entries(data, "phases")
    if not phases:
        return
    names = [phase.get("id") for phase in phases]
    for step in steps:
        if step.phase is not None and step.phase not in names:
            message = f"step {step.id!r} belongs to the phase {step.phase!r}, which the plan does not list"
            yield Fault(step=step.id, code="dangling_phase", message=message, path=f"{step.id}.phase")
    current = data.get("current_phase")
    if current is not None and current not in [*names, DONE]:
        message = f"the current phase {current!r} is neither a phase of the plan nor {DONE!r}"
        yield Fault(step=None, code="dangling_phase", message=message, path="current_phase")
    for index, phase in enumerate(phases):
        for name in _steps_of(phase):
            if name not in known:
                message = f"the phase {phase.get('id')!r} lists {name!r}, which is not a step of this plan"
                yield Fault(step=None, code="dangling_phase", message=message, path=f"phases[{index}].steps")


def steps_now(plan: Plan, started: Collection[str] = ()) -> list[Step]:
    """Return the steps to run now: all but those of later phases and those that wait for them.

    Steps that have started early are included, whatever their phase. If no step could run, all steps are returned.
    """
    if plan.current_phase is None:
        return list(plan.steps)
    head = plan.model_dump(include={"phases", "current_phase"})
    later = {step.id for step in plan.steps if is_later(step, head)} - set(started)
    waiting = _with_followers(later, plan.steps) - set(started)
    return [step for step in plan.steps if step.id not in waiting] or list(plan.steps)


def is_later(step: Step, head: Mapping[str, Any]) -> bool:
    """Return whether a step belongs to a phase other than the current one. `head`: the plan's data before its steps."""
    listed = (phase.get("id") for phase in _entries(head, "phases") if step.id in _steps_of(phase))
    return (step.phase or next(listed, None)) not in (None, head.get("current_phase"))


def so_far(revisions: Sequence[Plan], ran: Collection[str]) -> Plan | None:
    """Return the last revision with the steps of earlier ones that have run; None if there is no revision."""
    if not revisions:
        return None
    *earlier, last = revisions
    listed = {step.id for step in last.steps}
    before = {step.id: step for plan in earlier for step in plan.steps if step.id in ran and step.id not in listed}
    return last.model_copy(update={"steps": [*before.values(), *last.steps]})


def kept(plan: Plan, ran: Collection[str], contradicted: Collection[str]) -> list[Step]:
    """Return the steps of a revision that have not run and that no wrong assumption undoes."""
    undone = affected_by(contradicted, plan, ran)
    return [step for step in plan.steps if step.id not in ran and step.id not in undone]


def with_kept(
    data: Mapping[str, Any], plan: Plan, ran: Collection[str], contradicted: Collection[str]
) -> dict[str, Any]:
    """Return the data of a new revision with the kept steps of the previous plan, unchanged.

    The plan's phases and remaining assumptions are added unless the revision lists them itself. If no assumption was
    contradicted, the data stays as it is.
    """
    steps = kept(plan, ran, contradicted)
    if not contradicted or not steps or not isinstance(data.get("steps"), list):
        return dict(data)
    names = [step.id for step in steps]
    new = [raw for raw in data["steps"] if not (isinstance(raw, Mapping) and raw.get("id") in names)]
    held = [step.model_dump(mode="json", exclude_defaults=True) for step in steps]
    standing = [one for one in plan.assumptions or [] if one.id not in contradicted]
    return {
        **data,
        "steps": [*new, *held],
        "assumptions": _joined(_entries(data, "assumptions"), standing),
        "phases": _joined(_entries(data, "phases"), plan.phases or []) or None,
    }


def contradicted(assumptions: Iterable[Assumption], knowledge: Knowledge) -> dict[str, str]:
    """Return the assumptions that the knowledge contradicts, each with the reason.

    Only an assumption that names subject, attribute and value can be compared. An unresolved value decides nothing.
    """
    found = {}
    for assumption in assumptions:
        entity = knowledge.get_entity(assumption.subject) if assumption.subject else None
        if entity is None or assumption.attribute is None or assumption.value is None:
            continue
        belief = knowledge.beliefs.get(entity.id, {}).get(word(assumption.attribute))
        if belief is None or belief.value is None or meaning(belief.value) == meaning(assumption.value):
            continue
        found[assumption.id] = f"{belief.attribute} of {entity.name} is {belief.value}, not {assumption.value}"
    return found


def affected_by(contradicted: Collection[str], plan: Plan, finished: Collection[str]) -> list[str]:
    """Return the steps that wrong assumptions undo, in the plan's order.

    These are the steps that rest on such an assumption, and all steps that wait for one of them, even through a step
    that has finished. Finished steps are not included.
    """
    resting = {step.id for step in plan.steps if not set(contradicted).isdisjoint(step.assumes)}
    tainted = _with_followers(resting, plan.steps)
    return [step.id for step in plan.steps if step.id in tainted and step.id not in finished]


def _with_followers(names: set[str], steps: Iterable[Step]) -> set[str]:
    """Return these steps and all steps that wait for one of them, directly or through others."""
    needs = {step.id: implied_needs(step) for step in steps}
    found, grown = set(names), True
    while grown:
        more = {name for name, wanted in needs.items() if not found.isdisjoint(wanted)} - found
        found |= more
        grown = bool(more)
    return found


def _joined(listed: list[Mapping[str, Any]], before: Iterable[Assumption | Phase]) -> list[Mapping[str, Any]]:
    names = [entry.get("id") for entry in listed]
    return [*listed, *(one.model_dump(mode="json") for one in before if one.id not in names)]


def _faults_of_assumptions(data: Mapping[str, Any], steps: Iterable[Step]) -> Iterator[Fault]:
    known = [entry.get("id") for entry in _entries(data, "assumptions")]
    for step in steps:
        for name in step.assumes:
            if name not in known:
                message = f"step {step.id!r} rests on the assumption {name!r}, which the plan does not list"
                yield Fault(step=step.id, code="dangling_assumption", message=message, path=f"{step.id}.assumes")


def _steps_of(phase: Mapping[str, Any]) -> list[str]:
    listed = phase.get("steps")
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []


def _entries(data: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    listed = data.get(name)
    return [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
