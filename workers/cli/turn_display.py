"""Show a turn on a terminal while it happens: the plan, the steps with their timings, the reply and its artifacts."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import orjson
from pydantic import TypeAdapter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from turnloom.models.contracts.artifact import Artifact
from turnloom.planner.plan.graph import transitive_closure
from turnloom.planner.reply.rendering import render

_ARTIFACT: TypeAdapter[Artifact] = TypeAdapter(Artifact)
_BAR = 24
_COLOURS = {"succeeded": "green", "failed": "red", "unknown": "red", "needs_input": "yellow"}


def show_events(console: Console, events: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Print a turn's events until it is final."""
    start: datetime | None = None
    for kind, data in events:
        show = _SHOWN.get(kind)
        at = datetime.fromisoformat(data["at"]) if "at" in data else None
        start = start or at
        elapsed = f"{(at - start).total_seconds() * 1000:6.0f} ms" if at and start else " " * 9
        if show is not None:
            show(console, elapsed, data)


def show_turn(console: Console, turn: Mapping[str, Any]) -> None:
    """Print a finished turn: when and where its steps ran, the reply, the artifacts."""
    if turn["steps"]:
        _show_bars(console, turn["steps"])
    console.print()
    console.print(escape(turn["reply"]["text"]) if turn["reply"] else "(no reply)")
    for artifact in turn["reply"]["artifacts"] if turn["reply"] else ():
        console.print()
        show_artifact(console, artifact)
    timings = turn["timings"]
    facts = [f"{name.removesuffix('_ms')} {value:.0f} ms" for name, value in timings.items() if value is not None]
    colour = _COLOURS.get(turn["status"], "red")
    console.print(f"\n[{colour}]{turn['status']}[/] [dim]{' · '.join(facts)} · turn {turn['turn_id']}[/]")


def show_artifact(console: Console, artifact: Mapping[str, Any]) -> None:
    """Print one artifact."""
    console.print(escape(render(_ARTIFACT.validate_python(artifact), "plain")))


def show_plan_graph(console: Console, steps: Iterable[Mapping[str, Any]]) -> None:
    """Print a plan as a small graph. Steps on the same level may run side by side."""
    listed = list(steps)
    needs = {step["id"]: step["needs"] for step in listed}
    depth = {step: 0 for step, ancestors in transitive_closure(needs).items() if not ancestors}
    while len(depth) < len(needs):
        for step, direct in needs.items():
            if step not in depth and all(need in depth for need in direct):
                depth[step] = 1 + max(depth[need] for need in direct)
    for level in range(1 + max(depth.values(), default=-1)):
        row = [step for step in listed if depth[step["id"]] == level]
        for number, step in enumerate(row):
            mark = "─" if len(row) == 1 else "┌" if number == 0 else "└" if number == len(row) - 1 else "├"
            after = f" [dim]after {escape(', '.join(step['needs']))}[/]" if step["needs"] else ""
            console.print(f"  {'   ' * level}{mark} [bold]{escape(step['id'])}[/] {escape(step['tool'])}{after}")


def _show_plan(console: Console, _: str, data: Mapping[str, Any]) -> None:
    if data["steps"]:
        console.print(f"\n[bold]plan[/] {escape(data['action'] or '')}")
        show_plan_graph(console, data["steps"])
        console.print("[bold]steps[/]")


def _show_started(console: Console, elapsed: str, data: Mapping[str, Any]) -> None:
    console.print(f"  [dim]{elapsed}[/] {_name(data)} [dim]started on {escape(str(data['worker']))}[/]")


def _show_retry(console: Console, elapsed: str, data: Mapping[str, Any]) -> None:
    console.print(f"  [dim]{elapsed}[/] {_name(data)} [yellow]tries again: {escape(data['code'])}[/]")


def _show_request(console: Console, elapsed: str, data: Mapping[str, Any]) -> None:
    args = orjson.dumps(data["args"]).decode()
    console.print(f"  [dim]{elapsed}[/] {_name(data)} [yellow]waits for approval[/] of {escape(args)}")
    path = f"/v1/turns/{data['turn_id']}/approvals/{data['step']}"
    console.print(f'  {" " * 9} [dim]to decide: POST {escape(path)} {{"decision": "approve"}} or "reject"[/]')


def _show_finished(console: Console, elapsed: str, data: Mapping[str, Any]) -> None:
    colour = _COLOURS.get(data["status"], "yellow")
    took = f" in {data['duration_ms']:.0f} ms" if data.get("duration_ms") is not None else ""
    why = f" [dim]{escape(data['error']['message'])}[/]" if data.get("error") else ""
    console.print(f"  [dim]{elapsed}[/] {_name(data)} [{colour}]{data['status']}[/]{took}{why}")


def _show_bars(console: Console, steps: Iterable[Mapping[str, Any]]) -> None:
    """Print one bar per step on a common time axis. Steps whose bars overlap ran at the same time."""
    ran = [step for step in steps if step["started_at"] and step["finished_at"]]
    if not ran:
        return
    times = {s["id"]: [datetime.fromisoformat(s[field]) for field in ("started_at", "finished_at")] for s in ran}
    first, last = min(start for start, _ in times.values()), max(end for _, end in times.values())
    whole = max((last - first).total_seconds(), 1e-6)
    table = Table.grid(padding=(0, 2))
    for step in sorted(ran, key=lambda step: str(step["started_at"])):
        start, end = ((moment - first).total_seconds() for moment in times[step["id"]])
        offset = min(round(start / whole * _BAR), _BAR - 1)
        width = max(1, round((end - start) / whole * _BAR))
        bar = " " * offset + "█" * min(width, _BAR - offset)
        span = f"{start * 1000:.0f}-{end * 1000:.0f} ms"
        table.add_row(f"  {escape(step['id'])}", bar.ljust(_BAR), span, f"[dim]{escape(step['worker'] or '')}[/]")
    console.print("[bold]when[/]")
    console.print(table)


def _name(data: Mapping[str, Any]) -> str:
    return f"[bold]{escape(str(data['step']))}[/] {escape(str(data['tool']))}"


_SHOWN = {
    "plan.ready": _show_plan,
    "step.started": _show_started,
    "step.retry": _show_retry,
    "approval.requested": _show_request,
    "step.finished": _show_finished,
}
"""Functions that print an event, by its type."""
