"""Compare which calls of two turns wait for which.

A call is known by its tool and arguments, not by its id, so other ids and another order of independent steps are no
difference. Only calls that both sides make are compared, and only what follows from no other edge is told. Pure.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from turnloom.models.contracts.replay import Difference, DifferenceKind, StepRecord
from turnloom.planner.plan.graph import fewest, transitive_closure
from turnloom.workers.replay.matching import Call, Matching

Edge = tuple[Hashable, Hashable]
"""The labels of a call and of one that waits for it."""


class _Order(NamedTuple):
    """The edges between labelled calls: all of them, and those that follow from no others."""

    all: set[Edge]
    direct: set[Edge]


def edge_differences(
    matching: Matching, recorded: Sequence[StepRecord], replayed: Sequence[StepRecord]
) -> Iterator[Difference]:
    """Yield calls that wait for another one on one side only."""
    labels = _labels(matching)
    was, now = _order(recorded, labels[0]), _order(replayed, labels[1])
    names = {labels[1][pair.replayed.step.id]: pair.replayed.step.tool for pair in matching.pairs}
    for before, after in _named(now.direct - was.all, names):
        yield _difference("added", before, after, f"{after} waits for {before}, did not")
    for before, after in _named(was.direct - now.all, names):
        yield _difference("removed", before, after, f"{after} does not wait for {before}, did")


def _difference(kind: DifferenceKind, before: str, after: str, text: str) -> Difference:
    return Difference(aspect="edges", kind=kind, subject=f"{before} -> {after}", text=text)


def _labels(matching: Matching) -> tuple[dict[str, Hashable], dict[str, Hashable]]:
    """Return step id -> label for both sides. Calls with the same arguments share a label, and so does a pair."""
    both: dict[Hashable, Hashable] = {pair.recorded.key: pair.recorded.key for pair in matching.pairs if pair.is_same}
    other = [pair for pair in matching.pairs if not pair.is_same]
    before = _labelled([*(pair.recorded for pair in matching.pairs), *matching.gone], both)
    after = _labelled([*(pair.replayed for pair in matching.pairs), *matching.new], both)
    before |= {pair.recorded.step.id: number for number, pair in enumerate(other)}
    after |= {pair.replayed.step.id: number for number, pair in enumerate(other)}
    return before, after


def _labelled(calls: Iterable[Call], labels: Mapping[Hashable, Hashable]) -> dict[str, Hashable]:
    return {call.step.id: labels[call.key] for call in calls if call.key in labels}


def _order(steps: Sequence[StepRecord], labels: Mapping[str, Hashable]) -> _Order:
    known = {step.id for step in steps}
    ancestors = transitive_closure({step.id: known.intersection(step.needs) for step in steps})
    kept = {step: {need for need in ancestors[step] if need in labels} for step in ancestors if step in labels}
    return _Order(
        {(labels[need], labels[step]) for step, needs in kept.items() for need in needs},
        {(labels[need], labels[step]) for step, needs in kept.items() for need in fewest(needs, kept)},
    )


def _named(edges: set[Edge], names: Mapping[Hashable, str]) -> list[tuple[str, str]]:
    return sorted({(names[before], names[after]) for before, after in edges})
