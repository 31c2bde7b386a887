"""Report what a replay has shown.

In: replayed turns, one at a time and in any order.  Out: counts, distributions, and the turns that did not go the same
way. Of a turn that went the same way only its numbers are kept. Pure: the same turns make the same bytes.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import get_args

import orjson

from turnloom.models.contracts.replay import (
    Aspect,
    AspectCount,
    ChangeCount,
    Difference,
    DifferenceKind,
    FigureChange,
    FigureName,
    Proportion,
    ReplayedOutcome,
    ReplayedTurn,
    ReplayReport,
    ReportedTurn,
    StepRecord,
    ToolChange,
    TurnRecord,
)
from turnloom.tools.registry import Tool
from turnloom.workers.replay.distributions import bin_bounds, proportion, spread
from turnloom.workers.replay.reported_turns import reported_turn

_ONLY_FIGURES: frozenset[Aspect] = frozenset({"usage", "latency"})
_NARROWEST: Mapping[FigureName, float] = {"llm_calls": 1.0, "tokens": 1.0}
"""The narrowest bins of figures that are whole numbers."""
_FAILED = frozenset({"failed", "unknown"})


def report(
    turns: Iterable[ReplayedTurn],
    tools: Mapping[str, Tool] = MappingProxyType({}),
    about: Mapping[str, str] = MappingProxyType({}),
    max_different: float | None = None,
    *,
    shows_same: bool = False,
) -> ReplayReport:
    """Return the report of a replay.

    Args:
        turns: an iterator will do; they are read once.
        tools: ours, by name, as in `comparison.compare`.
        about: what was replayed and changed, as titles and values for the reader.
        max_different: the largest share of turns that may go another way; None for any.
        shows_same: list the turns that go the same way, too.
    """
    tally = _Tally(tools, shows_same=shows_same)
    for turn in turns:
        tally.add(turn)
    return tally.report(dict(about), max_different)


def report_json(report: ReplayReport) -> bytes:
    """Return the report as JSON with sorted keys. Equal reports are equal bytes."""
    return orjson.dumps(report.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2)


class _Tally:
    """Sums over turns, and the turns that are listed."""

    def __init__(self, tools: Mapping[str, Tool], *, shows_same: bool) -> None:
        self._our_tools, self._shows_same = tools, shows_same
        self._conversations: set[str] = set()
        self._outcomes = Counter[ReplayedOutcome](dict.fromkeys(get_args(ReplayedOutcome), 0))
        self._only_figures = 0
        self._aspects = Counter[Aspect]()
        self._noisy = Counter[Aspect]()
        self._changes = Counter[tuple[Aspect, str, DifferenceKind]]()
        self._figures: dict[FigureName, tuple[array[float], array[float]]] = {
            name: (array("d"), array("d")) for name in get_args(FigureName)
        }
        self._tools: dict[str, Counter[str]] = defaultdict(Counter)
        self._listed: list[ReportedTurn] = []

    def add(self, turn: ReplayedTurn) -> None:
        self._conversations.add(turn.conversation_id)
        self._outcomes[turn.outcome] += 1
        aspects = {each.aspect for each in turn.differences}
        self._only_figures += turn.outcome == "different" and aspects <= _ONLY_FIGURES
        self._aspects.update(aspects)
        self._noisy.update(set(turn.noise))
        self._changes.update({(each.aspect, each.subject, each.kind) for each in turn.differences})
        if turn.replayed is not None:
            self._add_figures(turn.recorded, turn.replayed)
            self._add_tools(turn.recorded.steps, turn.replayed.steps, turn.differences)
        if turn.outcome != "same" or self._shows_same:
            self._listed.append(reported_turn(turn, self._our_tools))

    def report(self, about: dict[str, str], max_different: float | None) -> ReplayReport:
        turns = self._outcomes.total()
        different = proportion(turns - self._outcomes["same"], turns)
        passed = max_different is None or (different.share is not None and different.share <= max_different)
        return ReplayReport(
            about=about,
            conversations=len(self._conversations),
            turns=turns,
            outcomes=dict(self._outcomes),
            different=different,
            only_figures=self._only_figures,
            aspects=[
                AspectCount(aspect=aspect, turns=self._aspects[aspect], noisy=self._noisy[aspect])
                for aspect in get_args(Aspect)
            ],
            changes=self._change_counts(),
            figures=[*self._figure_changes()],
            tools=[_tool_change(tool, counts) for tool, counts in sorted(self._tools.items())],
            listed=sorted(self._listed, key=lambda turn: (turn.conversation_id, turn.seq)),
            max_different=max_different,
            passed=passed,
            verdict=_verdict(different, max_different, passed=passed),
        )

    def _change_counts(self) -> list[ChangeCount]:
        ordered = sorted(self._changes.items(), key=lambda item: (-item[1], item[0]))
        return [
            ChangeCount(aspect=aspect, subject=subject, kind=kind, turns=turns)
            for (aspect, subject, kind), turns in ordered
        ]

    def _figure_changes(self) -> Iterator[FigureChange]:
        for name, (before, after) in self._figures.items():
            if before:
                bounds = bin_bounds(before, after, least=_NARROWEST.get(name, 0.0))
                sides = {"before": spread(before, bounds), "after": spread(after, bounds)}
                yield FigureChange(name=name, turns=len(before), bounds=bounds, **sides)

    def _add_figures(self, recorded: TurnRecord, replayed: TurnRecord) -> None:
        """Keep the figures that both sides have, so that the same turns are before and after."""
        was, now = _figures(recorded), _figures(replayed)
        for name, (before, after) in self._figures.items():
            one, other = was[name], now[name]
            if one is not None and other is not None:
                before.append(one)
                after.append(other)

    def _add_tools(
        self, recorded: Sequence[StepRecord], replayed: Sequence[StepRecord], differences: Sequence[Difference]
    ) -> None:
        for steps, side in ((recorded, "before"), (replayed, "after")):
            for step in steps:
                self._tools[step.tool][side] += 1
                self._tools[step.tool][f"failed_{side}"] += step.status in _FAILED
        for tool in {step.tool for step in (*recorded, *replayed)}:
            self._tools[tool]["turns"] += any(_concerns(each, tool) for each in differences)


def _tool_change(tool: str, counts: Counter[str]) -> ToolChange:
    return ToolChange(
        tool=tool,
        before=counts["before"],
        after=counts["after"],
        failed_before=counts["failed_before"],
        failed_after=counts["failed_after"],
        turns=counts["turns"],
    )


def _concerns(difference: Difference, tool: str) -> bool:
    """Return whether a difference is about a tool's calls or their arguments."""
    if difference.aspect == "arguments":
        return difference.text.startswith(f"{tool}: ")
    return difference.aspect == "tools" and difference.subject == tool


def _figures(turn: TurnRecord) -> dict[FigureName, float | None]:
    usage = turn.usage
    return {
        "latency_ms": turn.latency_ms,
        "tokens": usage.tokens if usage else None,
        "llm_calls": usage.llm_calls if usage else None,
        "cost": usage.cost if usage else None,
    }


def _verdict(different: Proportion, max_different: float | None, *, passed: bool) -> str:
    if different.share is None:
        return "no turn was replayed, so nothing is known"
    said = f"{different.count:,} of {different.of:,} turns ({different.share:.1%}) did not go the same way"
    if max_different is None:
        return said
    return f"{said}; the limit is {max_different:.1%}: {'passed' if passed else 'failed'}"
