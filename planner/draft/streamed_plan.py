"""A streamed plan is read while it is written: which steps are complete, and which need not wait for the rest.

In: the pieces of the model's answer.  Out: its steps, one by one. A step may start early if it only reads, nothing is
wrong with it or with any step before it, it is of no later phase, and all that it needs may start early too. The plan
may still be refused in the end.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from turnloom.models.contracts.plan import Step, implied_needs
from turnloom.models.errors import InvalidPlan
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.llm.decoding import decode_step
from turnloom.planner.llm.json_object import check_storable
from turnloom.planner.llm.schema import SEARCH
from turnloom.planner.plan.expansion import Expansion
from turnloom.planner.plan.limits import PlanLimits
from turnloom.planner.plan.phases import is_later
from turnloom.planner.plan.revision import steps_before
from turnloom.planner.plan.validation import validate_next


@dataclass(frozen=True, slots=True)
class WrittenStep:
    """A step that is complete, while the rest of its plan may not be."""

    raw: dict[str, Any]
    """As the model wrote it, unchecked: to show."""
    position: int
    """Place in the plan's list."""
    early: Step | None
    """To run now; None where it has to wait for the whole plan."""


_BEGIN = re.compile(r'\{\s{0,20}["}]')
"""How an object begins. A brace in the prose before the plan is followed by something else."""
_LONGEST_BEGIN = 22

OnStep = Callable[[WrittenStep], None]
"""Takes each step when it is complete, in the plan's order."""


class PlanReader:
    """Takes the pieces of an answer, and tells of each step that is complete."""

    def __init__(
        self, on_step: OnStep, expansion: Expansion, limits: PlanLimits, done: Mapping[str, Step] | None = None
    ) -> None:
        """`expansion`: that of the plan. `done`: the steps of earlier revisions, which never run again."""
        self._on_step = on_step
        self._expansion = expansion
        self._tools = expansion.tools
        self._limits = limits
        self._text = ""
        self._has_begun = False
        self._ends = _Ends()
        self._read = 0
        self._told = 0
        self._head: Mapping[str, Any] = {}
        self._done = done or {}
        self._before: dict[str, Step] = {}
        self._early: set[str] = set(self._done)
        self._has_faults = False

    def __call__(self, piece: str) -> None:
        self._text += piece
        if not self._has_begun:
            begin = _BEGIN.search(self._text)
            self._has_begun = begin is not None
            self._text = self._text[begin.start() :] if begin else self._text[-_LONGEST_BEGIN:]
        if not self._has_begun:
            return
        end = self._ends.last(self._text)
        if end is not None:
            self._read_steps(self._text[:end])

    def _read_steps(self, text: str) -> None:
        """Tell of the steps in a text that ends where an object ends, so that none of them is half a step."""
        try:
            plan = from_json(text, allow_partial=True, allow_inf_nan=False)
        except ValueError:
            return
        self._head = plan
        steps = plan.get("steps")
        for step in steps[self._read :] if isinstance(steps, list) else ():
            self._tell(step)
            self._read += 1

    def _tell(self, written: Any) -> None:
        try:
            check_storable(written)
            decoded = decode_step(written, self._tools) if isinstance(written, dict) else None
        except InvalidPlan:
            decoded = None
        if decoded is None or decoded.get("tool") == SEARCH:  # after a search the model writes another plan
            self._has_faults = True
            return
        for raw in self._expansion.steps(decoded):
            self._has_faults |= bool(self._expansion.faults)
            self._on_step(WrittenStep(raw, self._told, self._early_step(raw)))
            self._told += 1

    def _early_step(self, raw: dict[str, Any]) -> Step | None:
        if self._has_faults:
            return None
        if raw.get("id") in self._done:
            return None  # it has run, or the plan will be refused
        try:
            step = validate_next(raw, self._before, self._tools, self._limits, self._done)
        except InvalidPlan:
            self._has_faults = True
            return None
        self._before[step.id] = step
        if not (self._early.issuperset(implied_needs(step)) and self._only_reads(step)) or is_later(step, self._head):
            return None
        self._early.add(step.id)
        return step

    def _only_reads(self, step: Step) -> bool:
        """Tell whether nobody minds the calls of a step if they turn out not to have been wanted."""
        names = [step.tool, *(fallback.tool for fallback in step.fallbacks)]
        tools = [self._tools.get(name) for name in names]
        return all(tool.effect == "read" and not tool.requires_approval for tool in tools)


def step_reader(context: PlanningContext, limits: PlanLimits, on_step: OnStep | None) -> PlanReader | None:
    """Return the reader of the steps of a plan for this context; None if nobody wants them."""
    if on_step is None:
        return None
    return PlanReader(on_step, Expansion(context.playbooks, context.offered), limits, steps_before(context.done))


_MARKS = re.compile(r'\\.|["{}\[\]]', re.DOTALL)
"""What structure is made of, and what may hide it: a character after a backslash is no mark."""


class _Ends:
    """Finds where the objects end that stand in a list of the outermost object, in a text that grows."""

    def __init__(self) -> None:
        self._scanned = 0
        self._depth = 0
        self._in_string = False

    def last(self, text: str) -> int | None:
        """Return the last such end in what has been added to the text, if there is one."""
        end = None
        for match in _MARKS.finditer(text, self._scanned):
            self._scanned, mark = match.end(), match[0]
            if mark == '"':
                self._in_string = not self._in_string
            elif not self._in_string and mark in "{[":
                self._depth += 1
            elif not self._in_string and mark in "]}":
                self._depth -= 1
                if self._depth == 2 and mark == "}":  # the outermost object, and the list
                    end = self._scanned
        return end
