"""Phases and assumptions of a plan: do they fit the steps, what runs now, what does a wrong one undo."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from models.believing import comparable
from models.contracts.plan import Assumption, Fault, Phase, Plan, Step, implied_needs
from planner.knowledge import Knowledge, word

DONE = "done"
"""The current phase of a plan whose success metrics are all met."""


def faults_of_phases(data: Mapping[str, Any], steps: Collection[Step], known: Collection[str]) -> Iterator[Fault]:
    """Yield what is wrong with phases and assumptions. `known`: ids of the turn's steps, of earlier revisions too."""
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
        message = f"the current phase {current!r} is none of the plan's, and not {DONE!r}"
        yield Fault(step=None, code="dangling_phase", message=message, path="current_phase")
    for index, phase in enumerate(phases):
        for name in _steps_of(phase):
            if name not in known:
                message = f"the phase {phase.get('id')!r} lists {name!r}, which is not a step of this plan"
                yield Fault(step=None, code="dangling_phase", message=message, path=f"phases[{index}].steps")


def steps_now(plan: Plan, started: Collection[str] = ()) -> list[Step]:
    """Return the steps that are to be run now: not those of later phases, nor what waits for them.

    Steps that have started early are among them, whatever their phase. All are, where nothing could be run otherwise.
    """
    if plan.current_phase is None:
        return list(plan.steps)
    head = plan.model_dump(include={"phases", "current_phase"})
    later = {step.id for step in plan.steps if is_later(step, head)} - set(started)
    waiting = _with_followers(later, plan.steps) - set(started)
    return [step for step in plan.steps if step.id not in waiting] or list(plan.steps)


def is_later(step: Step, head: Mapping[str, Any]) -> bool:
    """Tell whether a step belongs to another phase than the current one. `head`: what a plan says before its steps."""
    listed = (phase.get("id") for phase in _entries(head, "phases") if step.id in _steps_of(phase))
    return (step.phase or next(listed, None)) not in (None, head.get("current_phase"))


def so_far(revisions: Sequence[Plan], ran: Collection[str]) -> Plan | None:
    """Return the last revision with the steps of earlier ones that have run: what it builds on. None: there is none."""
    if not revisions:
        return None
    *earlier, last = revisions
    listed = {step.id for step in last.steps}
    before = {step.id: step for plan in earlier for step in plan.steps if step.id in ran and step.id not in listed}
    return last.model_copy(update={"steps": [*before.values(), *last.steps]})


def kept(plan: Plan, ran: Collection[str], contradicted: Collection[str]) -> list[Step]:
    """Return the steps of a revision that wait for their phase and that wrong assumptions leave as they are."""
    undone = affected_by(contradicted, plan, ran)
    return [step for step in plan.steps if step.id not in ran and step.id not in undone]


def with_kept(
    data: Mapping[str, Any], plan: Plan, ran: Collection[str], contradicted: Collection[str]
) -> dict[str, Any]:
    """Return a new revision's data in which the kept steps of the plan before stand unchanged.

    Their phases and assumptions come with them, where the revision does not list these itself.
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
    """Return the assumptions that what is known contradicts, each with the reason.

    Only those that name subject, attribute and value can be told so; and a value that is itself unresolved decides
    nothing.
    """
    found = {}
    for assumption in assumptions:
        entity = knowledge.get_entity(assumption.subject) if assumption.subject else None
        if entity is None or assumption.attribute is None or assumption.value is None:
            continue
        belief = knowledge.beliefs.get(entity.id, {}).get(word(assumption.attribute))
        if belief is None or belief.value is None or comparable(belief.value) == comparable(assumption.value):
            continue
        found[assumption.id] = f"{belief.attribute} of {entity.name} is {belief.value}, not {assumption.value}"
    return found


def affected_by(contradicted: Collection[str], plan: Plan, finished: Collection[str]) -> list[str]:
    """Return the steps that wrong assumptions undo, in the plan's order.

    These are the steps that rest on them, and all that waits for such a step, as far as they have not run: also what
    waits for one that has.
    """
    resting = {step.id for step in plan.steps if not set(contradicted).isdisjoint(step.assumes)}
    tainted = _with_followers(resting, plan.steps)
    return [step.id for step in plan.steps if step.id in tainted and step.id not in finished]


def _with_followers(names: set[str], steps: Iterable[Step]) -> set[str]:
    """Return these steps and all that wait for one of them."""
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
