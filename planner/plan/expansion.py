"""Expand a plan's calls of playbooks into the steps that they stand for, before the plan is validated.

The ids of these steps begin with the id of the call. Other steps that refer to the call, or wait for it, get its result
step instead. An argument that nothing fills is left out, and so is a step whose `run_if` nothing fills.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from turnloom.models.contracts.plan import Fault, FaultCode, Plan, Step, find_references, is_reference
from turnloom.models.errors import InvalidPlan
from turnloom.models.runtime.logging import log
from turnloom.planner.plan.argument_faults import faults_of_arguments
from turnloom.planner.plan.limits import PlanLimits
from turnloom.planner.plan.playbooks import PREFIX, VARIABLE, Playbooks, called_name
from turnloom.planner.plan.references import resolve
from turnloom.planner.plan.validation import validate
from turnloom.tools.registry import Registry

_PASSED_ON = ("reason", "critical", "assumes", "parallel_group", "phase", "purpose", "timeout_ms")
_ABSENT: Any = object()

Raw = dict[str, Any]
"""A step as data."""


class Expansion:
    """An expander of the playbook calls in one plan. It takes the plan's steps one by one."""

    def __init__(self, playbooks: Playbooks, tools: Registry) -> None:
        self.faults: list[Fault] = []
        """The faults of the calls so far."""
        self.used: dict[str, None] = {}
        """`name@version` of each playbook called so far."""
        self.tools = tools
        """The tools that a step may call, with the playbooks among them."""
        self._playbooks = playbooks
        self._results: dict[str, str] = {}

    def hear(self, raw: Any) -> None:
        """Note a step, so that other steps may refer to it before it is expanded."""
        if (call := self._call(raw)) is not None:
            self._results[call.id] = self._result(call.id, call.tool)

    def steps(self, raw: Any) -> list[Any]:
        """Return the steps that a step stands for. A step that is not a valid call of a playbook stands for itself."""
        self.hear(raw)
        raw = self._renamed(raw)
        call = self._call(raw)
        if call is None:
            return [raw]
        self.faults += self._faults(call)
        passed = {name: raw[name] for name in _PASSED_ON if raw.get(name) is not None}
        before = {"needs": call.needs, "on_need_error": call.on_need_error} if call.needs else {}
        unfolded = list(self._unfolded(call.id, call.tool, call.args))
        own = {step["id"] for step in unfolded}
        return [{**step, **passed, **({} if _waits(step, own) else before)} for step in unfolded]

    def hint(self, raw: Any) -> str | None:
        """Return the reply template that a step's playbook names; None if the step calls no playbook."""
        call = self._call(raw)
        return self._playbooks.books[call.tool.removeprefix(PREFIX)].synthesis_hint if call else None

    def _call(self, raw: Any) -> Step | None:
        """Return a step that calls a playbook; None if it is another kind of step, or not a valid step."""
        name = raw.get("tool") if isinstance(raw, dict) else None
        if not isinstance(name, str) or called_name(name) not in self._playbooks.offered:
            return None
        try:
            return Step.model_validate(raw)
        except ValidationError:
            return None  # validation reports what is wrong with it

    def _faults(self, call: Step) -> Iterator[Fault]:
        yield from faults_of_arguments(call, "args", self.tools.get(call.tool), call.args)
        code: FaultCode
        for code, field, given in (
            ("bad_condition", "run_if", call.run_if is not None),
            ("bad_fallback", "fallbacks", bool(call.fallbacks)),
        ):
            if given:
                message = f"step {call.id!r}: a call of a playbook takes no `{field}`"
                yield Fault(step=call.id, code=code, message=message, path=f"{call.id}.{field}")

    def _result(self, call_id: str, tool: str) -> str:
        name = called_name(tool)
        if name is None:
            return call_id
        step = self._playbooks.books[name].result_step
        return self._result(f"{call_id}-{step.id}", step.tool)

    def _unfolded(self, call_id: str, tool: str, args: Mapping[str, Any]) -> Iterator[Raw]:
        book = self._playbooks.books[tool.removeprefix(PREFIX)]
        self.used[book.source] = None
        scope = {name: slot.default for name, slot in book.inputs.items()} | dict(args)
        known = {name: value for name, value in scope.items() if value is not None}
        for step in book.steps:
            condition = True if step.run_if is None else _filled(step.run_if, known)
            if condition is _ABSENT or not condition:
                continue
            step_id, filled = f"{call_id}-{step.id}", _filled(step.args, known)
            if called_name(step.tool) is not None:
                yield from self._unfolded(step_id, step.tool, filled)
            else:
                kept = step.model_dump(include={"tool", "on_need_error", "critical", "reason"}, exclude_none=True)
                needs = [known[need]["$from"] for need in step.needs if is_reference(known.get(need))]
                run_if = {"run_if": condition} if is_reference(condition) else {}
                yield {**kept, "id": step_id, "args": filled, "needs": needs, **run_if}
            known[step.id] = {"$from": self._result(step_id, step.tool)}

    def _renamed(self, value: Any) -> Any:
        """Return a step, or a part of one, that refers to the result steps of calls and not to the calls."""
        if isinstance(value, list):
            return [self._renamed(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        renamed = {key: self._renamed(inner) for key, inner in value.items()}
        if isinstance(source := value.get("$from"), str):
            name = source.replace("[", ".").split(".")[0]
            renamed["$from"] = self._results.get(name, name) + source[len(name) :]
        if isinstance(needs := value.get("needs"), list) and "tool" in value:
            renamed["needs"] = [self._results.get(need, need) if isinstance(need, str) else need for need in needs]
        return renamed


def expand(data: Mapping[str, Any], expansion: Expansion) -> dict[str, Any]:
    """Return a plan's data with its calls of playbooks replaced by their steps.

    A plan that is a single call and names no template gets the playbook's template.
    """
    listed = data.get("steps")
    if not isinstance(listed, list):
        return dict(data)
    for raw in listed:
        expansion.hear(raw)
    steps = [step for raw in listed for step in expansion.steps(raw)]
    hint = data.get("synthesis_hint") or (expansion.hint(listed[0]) if len(listed) == 1 else None)
    return {**data, "synthesis_hint": hint, "steps": steps}


@dataclass(frozen=True, slots=True)
class StandIn:
    """A plan made from a playbook because no language model gave one."""

    plan: Plan
    source: str
    """`name@version` of the playbook."""


def stand_in(playbooks: Playbooks, known: Mapping[str, Any], tools: Registry, limits: PlanLimits) -> StandIn | None:
    """Return a plan from the first playbook whose inputs are known and that only reads; None if there is none.

    Nobody has understood the message, so nothing may have an effect. `known`: slots, and what is known of the user.
    """
    offered = playbooks.beside(tools)
    for name in playbooks.offered:
        book, tool = playbooks.books[name], offered.get(PREFIX + name)
        is_known = all(known.get(each) is not None for each in book.when)
        if not (book.when and is_known) or tool.effect != "read" or tool.requires_approval:
            continue
        args = {each: known[each] for each in book.inputs if known.get(each) is not None}
        expansion = Expansion(playbooks, offered)
        steps = expansion.steps({"id": name, "tool": tool.name, "args": args})
        data = {"action": book.action, "synthesis_hint": book.synthesis_hint, "steps": steps}
        try:
            return StandIn(validate(data, tools, limits), book.source)
        except InvalidPlan as error:
            log.warning("playbook.refused", playbook=book.source, faults=[fault["code"] for fault in error.faults])
    return None


def _filled(value: Any, known: Mapping[str, Any]) -> Any:
    """Return a playbook's value with each `${...}` replaced by a value or a reference."""
    if isinstance(value, str) and (variable := VARIABLE.fullmatch(value)):
        return _at(known.get(variable[1], _ABSENT), variable[2])
    if isinstance(value, list):
        return [filled for inner in value if (filled := _filled(inner, known)) is not _ABSENT]
    if isinstance(value, dict):
        filled = {name: _filled(inner, known) for name, inner in value.items()}
        return {name: inner for name, inner in filled.items() if inner is not _ABSENT}
    return value


def _at(found: Any, path: str) -> Any:
    if found is _ABSENT or not path:
        return found
    if is_reference(found):
        return {"$from": found["$from"] + path}
    try:
        return resolve({"$from": f"input{path}"}, {"input": found})
    except LookupError:
        return _ABSENT


def _waits(step: Raw, own: set[str]) -> bool:
    """Return whether a step waits for another step of its playbook."""
    references = find_references([step["args"], {"$from": step["run_if"]["$from"]} if "run_if" in step else None])
    return bool(step["needs"]) or any(_source(reference) in own for _, reference in references)


def _source(reference: Mapping[str, Any]) -> str:
    return str(reference["$from"]).replace("[", ".").split(".")[0]
