"""A plan as data: the planner writes it, a caller may post it, the ledger stores it.

A plan is a DAG of steps, each one tool call. An argument is a literal or a reference
`{"$from": "step_id.path[0].field"}`; a reference is a dependency, `needs` only adds order without data.
"""

import re
from collections.abc import Iterator, Sized
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from turnloom.models.contracts.base import Confidence, Contract

PLAN_FORMAT = 1
"""Version of this format, stored with every plan."""

Effect = Literal["read", "write", "spend"]
"""The effect of a call. `read` may run again; `write` changes something; `spend` costs money."""

FinalStepStatus = Literal["succeeded", "needs_input", "failed", "skipped", "cancelled", "unknown"]
"""The statuses of a step that has ended; `hot.is_final` has the same."""
FINAL_STEP_STATUSES: frozenset[str] = frozenset(get_args(FinalStepStatus))

StepStatus = Literal["pending", "queued", "running", "waiting_approval", FinalStepStatus]

FaultCode = Literal[
    "bad_shape",
    "unknown_field",
    "too_many_steps",
    "empty_id",
    "bad_id",
    "duplicate_id",
    "self_dependency",
    "dangling_need",
    "unknown_tool",
    "bad_condition",
    "bad_fallback",
    "bad_argument",
    "bad_reference",
    "dangling_reference",
    "type_mismatch",
    "cycle",
    "too_deep",
    "too_wide",
    "dangling_assumption",
    "dangling_phase",
    "bad_slot",
    "not_json",
    "empty_answer",
    "cut_answer",
    "no_steps",
    "repeated_effect",
]
"""The codes of faults in a plan. A closed list."""

PLAN_FAULTS: dict[FaultCode, str] = {
    "bad_shape": "A field is missing, or its value is of another type or range than the plan format wants.",
    "unknown_field": "A field that the plan format does not know.",
    "too_many_steps": "More steps than `TURNLOOM_PLAN_MAX_STEPS`.",
    "empty_id": "A step's id is empty.",
    "bad_id": "A step's id does not match `[A-Za-z0-9_-]{1,64}`.",
    "duplicate_id": "Two steps have the same id.",
    "self_dependency": "A step needs itself, or refers to its own result.",
    "dangling_need": "`needs` names a step that the plan does not have.",
    "unknown_tool": "The tool does not exist, its pack is not enabled, or the agent may not use it.",
    "bad_condition": "`run_if` cannot be read.",
    "bad_fallback": "A fallback wants another queue, does not only read, needs approval, or its result is of another "
    "shape.",
    "bad_argument": "The tool's input model refuses a literal, or an argument is missing.",
    "bad_reference": "A reference that cannot be read.",
    "dangling_reference": "A reference to a step that the plan does not have, or to no field of that step's result.",
    "type_mismatch": "A reference to a result of another type than the argument's.",
    "cycle": "Steps wait for each other; the message names them in order.",
    "too_deep": "The longest path has more steps than the agent allows.",
    "too_wide": "More steps need one step directly than the agent allows.",
    "dangling_assumption": "`assumes` names an assumption that the plan does not list.",
    "dangling_phase": "A phase that the plan does not list, or a step of a phase that is none of the turn's.",
    "bad_slot": "A slot that the agent does not have, or a value of another type or range than its profile wants.",
    "not_json": "The language model's answer holds no JSON object.",
    "empty_answer": "The language model wrote neither steps nor a reply.",
    "cut_answer": "The language model's answer ended in the middle.",
    "no_steps": "The turn's mode asks for steps and the plan has none.",
    "repeated_effect": "The same call with an effect stands in the plan twice, or its turn has made it before.",
}
"""Code of a fault -> when it is reported. The last five are faults in a language model's output."""

STEP_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

_REFERENCE = re.compile(r"([A-Za-z0-9_-]{1,64})((?:\.[A-Za-z0-9_-]{1,200}|\[[0-9]{1,9}\])*)")
_PART = re.compile(r"\.([A-Za-z0-9_-]+)|\[([0-9]+)\]")


def _or_absent(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """Leave out a decoration that cannot be read: a plan does not fail for it."""
    try:
        return read(value)
    except ValidationError:
        return None


class Fallback(Contract):
    """A call that takes the place of a failed one. It only reads, has the same queue and a fitting result."""

    tool: str
    args: dict[str, Any] = Field(default_factory=dict)


class Step(Contract):
    """One tool call of a plan."""

    id: str
    """Unique in the plan; matches `[A-Za-z0-9_-]{1,64}`."""
    tool: str
    """Dotted name, such as `travel.lookup_weather`."""
    args: dict[str, Any] = Field(default_factory=dict)
    """Arguments by name: literals, or references to results of other steps."""
    needs: list[str] = Field(default_factory=list)
    """Steps that must end first, beside those that the arguments refer to."""
    reason: str | None = None
    """Why the planner wants this step."""
    parallel_group: str | None = None
    """A label shown with the plan; no effect on the order."""
    run_if: dict[str, Any] | None = None
    """A condition on an earlier result, `{"$from": "step.path"}`; if it is false, the step is skipped. It is true if
    the value there is not missing, null, false, zero or empty. `"equals": VALUE` compares the value, `"not": true`
    negates the condition."""
    fallbacks: list[Fallback] = Field(default_factory=list)
    """Calls to try instead, in order, if this one fails. Each has the step's full time."""
    on_need_error: Literal["skip", "run"] = "skip"
    """What happens if a needed step did not succeed."""
    critical: bool = True
    """Whether a failure here stops a `fail_fast` turn."""
    assumes: list[str] = Field(default_factory=list)
    """Ids of the assumptions that this step rests on."""
    timeout_ms: int | None = Field(None, ge=1, le=3_600_000)
    """Time for the call with its retries; if absent, the tool's own timeout."""
    phase: str | None = None
    """The phase this step belongs to."""
    purpose: str | None = None
    """What its result is for."""


def call_limit_ms(timeout_ms: int, fallbacks: Sized) -> int:
    """Return the time limit of a step's call together with those of its fallbacks: each has the step's full time."""
    return timeout_ms * (1 + len(fallbacks))


class Assumption(Contract):
    """Something the plan takes for granted."""

    id: str
    text: str
    subject: str | None = None
    """Name or id of the entity in the knowledge graph that it gives an attribute's value for. Then new facts can
    contradict it without asking a language model."""
    attribute: str | None = None
    value: str | int | float | bool | None = None


class Phase(Contract):
    """A part of the way to the goal. Its findings may change the phases after it."""

    id: str
    objective: str
    success_metrics: list[str] = Field(default_factory=list)
    """Signs that the objective is reached."""
    steps: list[str] = Field(default_factory=list)
    """Ids of its steps: of this plan, or of an earlier revision."""
    rationale: str | None = None
    """Why it is needed."""


class Plan(Contract):
    """A DAG of steps and the thinking behind it. Without steps, `reply` is the whole answer."""

    thought: str | None = None
    """The planner's reasoning, for operators."""
    action: str | None = None
    """The current action, in one phrase for people."""
    confidence: Annotated[Confidence | None, WrapValidator(_or_absent)] = None
    """How sure the planner is, from 0 to 1."""
    slots: dict[str, Any] | None = None
    """Values from the message, as typed values of the agent's slots."""
    forget: list[str] | None = None
    """Slots that the message takes back."""
    synthesis_hint: str | None = None
    """Name of the template that makes the reply from the results."""
    reply: str | None = None
    """The reply itself, if no tool is needed."""
    assumptions: list[Assumption] | None = None
    phases: list[Phase] | None = None
    """The way to the goal, in order."""
    current_phase: str | None = None
    """The next phase, or `done` if every success metric of every phase is met."""
    steps: list[Step]
    """The nodes of the DAG, in any order."""


class Fault(Contract):
    """One thing wrong with a plan, and how to mend it."""

    step: str | None
    """Id of the step, if the fault is in one."""
    code: FaultCode
    """Stable name; `PLAN_FAULTS` says what each means."""
    message: str
    """A sentence that names the thing."""
    path: str | None = None
    """Where in the plan, such as `steps[2].args.city`."""


class Reference(NamedTuple):
    """A pointer into another step's result, parsed from `{"$from": "step.path[0].field"}`."""

    step: str
    path: tuple[str | int, ...]

    def __str__(self) -> str:
        return self.step + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)


def is_reference(value: object) -> bool:
    """Return whether an argument's value refers to another step's result."""
    return isinstance(value, dict) and "$from" in value


def parse_reference(value: dict[str, Any]) -> Reference | None:
    """Read a reference; None if this format does not know it."""
    text = value["$from"]
    match = _REFERENCE.fullmatch(text) if isinstance(text, str) and len(value) == 1 else None
    if match is None:
        return None
    path = tuple(name or int(index) for name, index in _PART.findall(match[2]))
    return Reference(match[1], path)


def find_references(
    value: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Yield every reference inside an argument with its place: (path, reference object)."""
    if is_reference(value):
        yield path, value
        return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from find_references(inner, (*path, key))


def references_of(step: Step) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Yield every reference in a step's arguments, fallbacks and condition, with its place."""
    yield from find_references(step.args, ("args",))
    for index, fallback in enumerate(step.fallbacks):
        yield from find_references(fallback.args, ("fallbacks", index, "args"))
    if step.run_if and is_reference(step.run_if):
        yield ("run_if",), {"$from": step.run_if["$from"]}


def implied_inputs(step: Step) -> list[str]:
    """Return the steps whose results this one refers to."""
    found = (parse_reference(raw) for _, raw in references_of(step))
    return list(dict.fromkeys(reference.step for reference in found if reference))


def implied_needs(step: Step) -> list[str]:
    """Return the steps that must end before this one: its `needs`, then those it refers to."""
    return list(dict.fromkeys([*step.needs, *implied_inputs(step)]))
