"""Print a report on a terminal, as tables; as lines with tabs where it is no terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from turnloom.models.contracts.replay import FigureChange, FigureName, ReplayReport, ReportedTurn
from turnloom.tools.command_output import print_rows

_MOST_CHANGES = 20
_MOST_TURNS = 50

UNITS: Mapping[FigureName, tuple[str, str]] = {
    "latency_ms": ("predicted latency", "{:,.0f} ms"),
    "tokens": ("tokens", "{:,.0f}"),
    "llm_calls": ("calls of the language model", "{:,.2g}"),
    "cost": ("cost", "${:,.6f}"),
}
"""How to name a figure and to write its values."""


def show_report(report: ReplayReport) -> None:
    """Print the report without the plans of its turns."""
    for title, value in report.about.items():
        click.echo(f"{title}: {_line(value)}")
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in report.outcomes.items())
    click.echo(f"{report.turns:,} turns of {report.conversations:,} conversations: {counts}")
    _section("differences", ["aspect", "turns", "share", "noisy"], _aspects(report))
    _section("figures", ["figure", "turns", "value", "before", "after", "change"], _figures(report.figures))
    _section("tools", ["tool", "before", "after", "failed", "turns"], _tools(report))
    _section("changes", ["aspect", "what", "how", "turns"], _changes(report))
    _section("turns", ["conversation", "turn", "outcome", "differences"], _turns(report.listed[:_MOST_TURNS]))
    if len(report.listed) > _MOST_TURNS:
        click.echo(f"… and {len(report.listed) - _MOST_TURNS:,} more; --json and --html show them")
    click.echo(f"\n{verdict_text(report)}")


def verdict_text(report: ReplayReport) -> str:
    """Return the verdict, with the interval of the share and how much of it is figures only."""
    low, high = report.different.low, report.different.high
    sentences = [report.verdict]
    if report.turns:
        sentences.append(f"With 95 % confidence the share is between {low:.1%} and {high:.1%}")
    if report.only_figures:
        sentences.append(f"{report.only_figures:,} differ in usage or predicted latency only")
    return ". ".join(sentences) + "."


def change_text(before: float, after: float) -> str:
    """Return by how much a value has changed, such as `+12.5%`; empty if it was 0."""
    return f"{after / before - 1:+.1%}" if before else ""


def _section(title: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        click.echo(f"\n{title}")
        print_rows(columns, rows, as_json=False)


def _aspects(report: ReplayReport) -> list[dict[str, Any]]:
    return [
        {
            "aspect": each.aspect,
            "turns": each.turns,
            "share": f"{each.turns / report.turns:.1%}",
            "noisy": each.noisy or None,
        }
        for each in report.aspects
        if each.turns or each.noisy
    ]


def _figures(figures: Sequence[FigureChange]) -> list[dict[str, Any]]:
    return [
        {
            "figure": UNITS[figure.name][0],
            "turns": figure.turns,
            "value": value,
            "before": UNITS[figure.name][1].format(getattr(figure.before, value)),
            "after": UNITS[figure.name][1].format(getattr(figure.after, value)),
            "change": change_text(getattr(figure.before, value), getattr(figure.after, value)),
        }
        for figure in figures
        for value in ("mean", "p50", "p95")
    ]


def _tools(report: ReplayReport) -> list[dict[str, Any]]:
    return [
        {
            "tool": _line(each.tool) or "(not recorded)",
            "before": each.before,
            "after": each.after,
            "failed": f"{each.failed_before} → {each.failed_after}",
            "turns": each.turns,
        }
        for each in report.tools
    ]


def _changes(report: ReplayReport) -> list[dict[str, Any]]:
    return [
        {"aspect": each.aspect, "what": _line(each.subject), "how": each.kind, "turns": each.turns}
        for each in report.changes[:_MOST_CHANGES]
    ]


def _turns(turns: Sequence[ReportedTurn]) -> list[dict[str, Any]]:
    return [
        {
            "conversation": _line(turn.conversation_id),
            "turn": turn.seq,
            "outcome": turn.outcome,
            "differences": _line("; ".join([*filter(None, [turn.reason]), *(each.text for each in turn.differences)])),
        }
        for turn in turns
    ]


def _line(text: str) -> str:
    """Return a text on one line, without what a terminal would obey."""
    return "".join(char if char.isprintable() else " " for char in text)
