"""Match the tool calls of a recorded turn with those of its replay.

In: the steps of both.  Out: pairs of calls of the same tool, and the calls without a partner. Ids and places do not
matter: calls with the same arguments are paired first, and the rest so that the fewest arguments differ in all. Pure.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from turnloom.models.contracts.plan import is_reference
from turnloom.models.contracts.replay import StepRecord
from turnloom.tools.call_identity import plain_numbers, read_values, with_defaults
from turnloom.tools.registry import Tool
from turnloom.workers.replay.assignment import assign

ABSENT: Any = object()
"""In place of a value that one side does not have."""

_MOST_ASSIGNED = 64
"""More calls of one tool than this are paired in their order, because the best pairs would cost too much to find."""
_PART = 1_000
"""The cost of a different part. The distance of the calls' places weighs less."""


class Call(NamedTuple):
    """A tool call and its arguments."""

    step: StepRecord
    raw: dict[str, Any]
    """The arguments as they are written. With defaults for those left out, if the tool is ours."""
    read: dict[str, Any] | None
    """The arguments as the tool reads them; None if it refuses them, or is not ours."""
    key: tuple[str, str]
    """The same for calls with the same arguments."""


class Pair(NamedTuple):
    """A recorded call and the replayed one that takes its place."""

    recorded: Call
    replayed: Call

    @property
    def is_same(self) -> bool:
        """Whether both have the same arguments."""
        return self.recorded.key == self.replayed.key

    def parts(self) -> list[tuple[str, Any, Any]]:
        """Return path, recorded and replayed value of each part of the arguments that differs."""
        if self.is_same or not self.recorded.step.tool:
            return []
        values = (self.recorded.read, self.replayed.read)
        both = (self.recorded.raw, self.replayed.raw) if None in values else values
        return [*different_parts(*both)]


class Matching(NamedTuple):
    """The calls of both sides, paired as well as it goes."""

    pairs: list[Pair]
    gone: list[Call]
    """Recorded calls that no replayed call matches."""
    new: list[Call]
    """Replayed calls that no recorded call matches."""


def match(recorded: Sequence[StepRecord], replayed: Sequence[StepRecord], tools: Mapping[str, Tool]) -> Matching:
    """Pair the calls of the same tool. What is left is paired with calls of which the record does not name the tool."""
    before, after = _by_tool(recorded, tools), _by_tool(replayed, tools)
    pairs: list[Pair] = []
    for tool in sorted(before.keys() & after.keys()):
        pairs += _same(before[tool], after[tool])
        pairs += _alike(before[tool], after[tool])
    left = [call for calls in after.values() for call in calls]
    nameless = before.get("", [])
    pairs += [Pair(nameless.pop(0), left.pop(0)) for _ in range(min(len(nameless), len(left)))]
    return Matching(pairs, [call for calls in before.values() for call in calls], left)


def different_parts(recorded: Any, replayed: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield path and both values of each part in which two JSON values differ. Lists of other lengths are one part."""
    if isinstance(recorded, dict) and isinstance(replayed, dict):
        for name in sorted(recorded.keys() | replayed.keys()):
            inner = f"{path}.{name}" if path else name
            yield from different_parts(recorded.get(name, ABSENT), replayed.get(name, ABSENT), inner)
    elif isinstance(recorded, list) and isinstance(replayed, list) and len(recorded) == len(replayed):
        for place, (one, other) in enumerate(zip(recorded, replayed, strict=True)):
            yield from different_parts(one, other, f"{path}[{place}]")
    elif ABSENT in (recorded, replayed) or canonical(recorded) != canonical(replayed):
        yield path, recorded, replayed


def canonical(value: Any) -> str:
    """Return a text that is the same for the same JSON value. True is not 1; 7.0 is 7 after `plain_numbers`."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _by_tool(steps: Sequence[StepRecord], tools: Mapping[str, Tool]) -> dict[str, list[Call]]:
    calls: dict[str, list[Call]] = defaultdict(list)
    names = {step.id: step.tool for step in steps}
    for step in steps:
        calls[step.tool].append(_call(step, tools.get(step.tool), names))
    return dict(calls)


def _call(step: StepRecord, tool: Tool | None, names: Mapping[str, str]) -> Call:
    args = _with_names(step.args, names)
    raw = with_defaults(tool, args) if tool else plain_numbers(args)
    read = read_values(tool, args) if tool else None
    return Call(step, raw, read, (step.tool, canonical(raw if read is None else read)))


def _with_names(value: Any, names: Mapping[str, str]) -> Any:
    """Return arguments in which references that were never filled in name the tool, because ids do not matter."""
    if is_reference(value):
        step, dot, path = str(value["$from"]).partition(".")
        return {**value, "$from": f"{names.get(step, step)}{dot}{path}"}
    if isinstance(value, dict):
        return {name: _with_names(inner, names) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_names(inner, names) for inner in value]
    return value


def _same(recorded: list[Call], replayed: list[Call]) -> Iterator[Pair]:
    """Take the calls with the same arguments out of both lists, in pairs."""
    waiting: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in replayed:
        waiting[call.key].append(call)
    for call in [*recorded]:
        if waiting[call.key]:
            partner = waiting[call.key].pop(0)
            recorded.remove(call)
            replayed.remove(partner)
            yield Pair(call, partner)


def _alike(recorded: list[Call], replayed: list[Call]) -> list[Pair]:
    """Take as many calls as possible out of both lists, in pairs that differ the least."""
    fewest = min(len(recorded), len(replayed))
    places = [(place, place) for place in range(fewest)]
    if fewest and max(len(recorded), len(replayed)) <= _MOST_ASSIGNED:
        columns_of = list(enumerate(replayed))
        places = assign([[_cost(one, row, other, at) for at, other in columns_of] for row, one in enumerate(recorded)])
    pairs = [Pair(recorded[row], replayed[column]) for row, column in places]
    rows, columns = {row for row, _ in places}, {column for _, column in places}
    recorded[:] = [call for row, call in enumerate(recorded) if row not in rows]
    replayed[:] = [call for column, call in enumerate(replayed) if column not in columns]
    return pairs


def _cost(recorded: Call, row: int, replayed: Call, column: int) -> int:
    return _PART * len(Pair(recorded, replayed).parts()) + abs(row - column)
