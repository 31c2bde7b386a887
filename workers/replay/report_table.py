"""Print a report on a terminal, as tables; as lines with tabs where it is no terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from turnloom.models.contracts.replay import FigureChange, ReplayedTurn, ReplayReport, ReportedTurn
from turnloom.tools.command_output import print_rows
from turnloom.workers.replay.report_words import UNITS, change_text, verdict_text

_MOST_CHANGES = 20
_MOST_TURNS = 50


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


def show_turn(turn: ReplayedTurn) -> None:
    """Print how one turn went, its steps, how it differs from the record, and the new reply."""
    reason = f": {_line(turn.reason)}" if turn.reason else ""
    click.echo(f"turn {turn.seq} of {_line(turn.conversation_id)}: {turn.outcome}{reason}")
    steps = turn.replayed.steps if turn.replayed else []
    _section("steps", ["step", "tool", "status"], [{"step": s.id, "tool": s.tool, "status": s.status} for s in steps])
    differences = [{"aspect": each.aspect, "difference": _line(each.text)} for each in turn.differences]
    _section("differences", ["aspect", "difference"], differences)
    if turn.replayed and turn.replayed.reply:
        lines = turn.replayed.reply.splitlines()
        click.echo("\nreply\n" + "\n".join(map(_line, lines)))


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
        {"aspect": each.aspect, "what": _line(each.subject) or "the turn", "how": each.kind, "turns": each.turns}
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
