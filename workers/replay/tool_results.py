"""Tool results of a replay: the only thing in a replay that answers a tool call.

`recorded` takes each result from the record: that of the same tool with the same arguments, as its input model reads
them; otherwise that of the tool's call at the same place. Nothing is called.
`live-read` calls tools that only read, as the runner does, and takes everything else from the record.
`simulated` takes them from the record, with the delays and failures of a fault file.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from pydantic import ValidationError

from turnloom.models.contracts.envelope import Envelope
from turnloom.models.contracts.fault_file import FaultError, FaultFile, ToolFault
from turnloom.models.contracts.memory import RecalledResult
from turnloom.models.contracts.replay import StepRecord
from turnloom.tools.attempts import BREAKDOWNS
from turnloom.tools.call_identity import call_hash
from turnloom.tools.registry import Registry, Tool

_CALLED = frozenset({"succeeded", "needs_input", "failed", "unknown"})
"""The statuses of a recorded step whose call has an outcome."""


class PlannedCall(NamedTuple):
    """A call that a replayed step makes."""

    step: str
    tool: Tool
    args: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class CallOutcome:
    """The outcome of a call in a replay."""

    status: str
    result: Any = None
    error: Mapping[str, Any] | None = None
    duration_ms: float = 0.0
    recorded: str | None = None
    """The id of the recorded step whose result it is."""
    is_delayed: bool = False
    """Whether a fault has made it last longer than it was recorded to."""


class ToolResults(Protocol):
    """A source of tool results for one turn."""

    def of(self, call: PlannedCall) -> CallOutcome | None:
        """Return the outcome of a call; None if there is none. Then the turn has diverged."""


class RecordedResults:
    """The results that were recorded in a turn, and those that its conversation remembered then."""

    def __init__(self, steps: Sequence[StepRecord], memory: Sequence[RecalledResult], tools: Registry) -> None:
        self._steps = [step for step in steps if step.status in _CALLED and step.tool in tools.tools]
        self._keys = [call_hash(tools.tools[step.tool], step.args) for step in self._steps]
        self._memory = memory
        self._used: set[int] = set()

    def of(self, call: PlannedCall) -> CallOutcome | None:
        """Return the recorded outcome of a call; None if there is none, or it does not fit the tool any more."""
        place = self._same(call)
        if place is None and (known := self._remembered(call)) is not None:
            return known
        place = self._at_its_place(call) if place is None else place
        if place is None:
            return None
        self._used.add(place)
        found = self._steps[place]
        if found.status == "succeeded" and not fits(call.tool, found.result):
            return None
        return CallOutcome(
            status=found.status,
            result=found.result,
            error=found.error,
            duration_ms=found.duration_ms,
            recorded=found.id,
        )

    def _same(self, call: PlannedCall) -> int | None:
        """Return the place of the same call, if possible of one that no step of the replay has taken."""
        key = call_hash(call.tool, call.args)
        places = [place for place, each in enumerate(self._keys) if key is not None and each == key]
        return next((place for place in places if place not in self._used), places[0] if places else None)

    def _at_its_place(self, call: PlannedCall) -> int | None:
        """Return the first place of a call of the same tool that is not taken, if possible that of the same step."""
        left = [
            place for place, step in enumerate(self._steps) if step.tool == call.tool.name and place not in self._used
        ]
        named = (place for place in left if self._steps[place].id == call.step)
        return next(named, left[0] if left else None)

    def _remembered(self, call: PlannedCall) -> CallOutcome | None:
        tool = call.tool
        if tool.effect != "read" or tool.requires_approval or tool.inline or tool.always_made:
            return None
        key = call_hash(tool, call.args)
        for entry in self._memory:
            is_same = entry.holds and entry.tool == tool.name and call_hash(tool, dict(entry.args)) == key
            if key is not None and is_same and fits(tool, entry.result):
                return CallOutcome(status="succeeded", result=entry.result, recorded=entry.step)
        return None


class LiveReads:
    """Results of calls that are made now if the tool only reads; all others are recorded ones."""

    def __init__(self, recorded: RecordedResults, make: Callable[[PlannedCall], Envelope]) -> None:
        """`make` runs a tool."""
        self._recorded = recorded
        self._make = make

    def of(self, call: PlannedCall) -> CallOutcome | None:
        """Return the outcome of a call; None if it has an effect and there is no recorded one.

        The duration is the recorded one, if there is one, so that the predicted latency can be compared.
        """
        recorded = self._recorded.of(call)
        if call.tool.effect != "read" or call.tool.requires_approval:
            return recorded
        made = outcome_of(self._make(call))
        return replace(made, duration_ms=recorded.duration_ms, recorded=recorded.recorded) if recorded else made


class SimulatedResults:
    """Recorded results with the faults of a fault file. A fault strikes a call as a whole, after its retries."""

    def __init__(self, recorded: RecordedResults, faults: FaultFile, turn: str) -> None:
        """`turn` names the turn, the same in each replay."""
        self._recorded = recorded
        self._faults = faults
        self._turn = turn
        self._calls: Counter[int] = Counter()

    def of(self, call: PlannedCall) -> CallOutcome | None:
        """Return the recorded outcome of a call with the faults that strike it; None if there is none."""
        outcome = self._recorded.of(call)
        if outcome is None:
            return None
        struck = list(self._striking(call.tool.name))
        if delay_ms := sum(fault.delay_ms or 0 for fault in struck):
            outcome = replace(outcome, duration_ms=outcome.duration_ms + delay_ms, is_delayed=True)
        failing = next((fault for fault in struck if fault.error or fault.malformed), None)
        return outcome if failing is None else _failed(outcome, failing, call.tool)

    def _striking(self, tool: str) -> Iterator[ToolFault]:
        for place, fault in self._faults.matching(tool):
            self._calls[place] += 1
            number = self._calls[place]
            if fault.strikes(f"{self._turn}|{place}|{number}", number, self._faults.seed):
                yield fault


def _failed(outcome: CallOutcome, fault: ToolFault, tool: Tool) -> CallOutcome:
    """Return the outcome of a call that fails. Of one with an effect nobody knows the outcome, if it broke down."""
    message = f"{tool.name} returned data that its output model refuses"
    error = fault.error or FaultError(code="INTERNAL_ERROR", message=message)
    is_unsure = tool.effect != "read" and error.code in BREAKDOWNS
    status = "unknown" if is_unsure else "failed"
    return replace(outcome, status=status, result=None, error=error.model_dump(mode="json"))


def outcome_of(envelope: Envelope) -> CallOutcome:
    """Return the outcome that a tool's envelope states. It is that of a read."""
    if envelope.ok:
        return CallOutcome(status="succeeded", result=envelope.data)
    if envelope.needs is not None:
        return CallOutcome(status="needs_input", result={"needs": envelope.needs})
    assert envelope.error is not None
    status = "cancelled" if envelope.error.code == "CANCELLED" else "failed"
    return CallOutcome(status=status, error=envelope.error.model_dump(mode="json", exclude_none=True))


def fits(tool: Tool, result: Any) -> bool:
    """Return whether a recorded result is one of the tool as it is now."""
    try:
        tool.output.model_validate(result, by_name=True)
    except ValidationError:
        return False
    return True
