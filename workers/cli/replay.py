"""Replay recorded conversations, and report what goes differently: `turnloom replay …`."""

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.base import rfc3339
from turnloom.models.contracts.replay import ReplayReport
from turnloom.models.contracts.replay_request import ReplayRequest, ReplayView
from turnloom.models.errors import Invalid
from turnloom.models.ledger import foreign, replays
from turnloom.models.ledger.replays import ReplayProgress
from turnloom.tools.command_output import json_option, print_json, print_rows
from turnloom.tools.enabled_tools import enabled_tools
from turnloom.workers.cli.replay_fork import fork
from turnloom.workers.cli.replay_options import read_choices, source_options, tenant_of, tenant_option
from turnloom.workers.replay import requests
from turnloom.workers.replay.foreign import began_at, read_lines
from turnloom.workers.replay.report import report_json
from turnloom.workers.replay.report_page import page
from turnloom.workers.replay.report_table import show_report
from turnloom.workers.replay.reports import report_of, view_of
from turnloom.workers.upkeep.living_processes import worker_slots

_LOOK_S = 0.5
_TELL_S = 10.0
"""Without a terminal, the progress is told once in this time."""
_COLUMNS = ["replay_id", "status", "done", "conversations", "tools", "created_at"]
_LISTED = 50
_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,4})?)%")

_replay_id = click.argument("replay_id", metavar="ID", type=click.UUID)


class _Share(click.ParamType[float]):
    """A share of turns, such as `5%`."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = _SHARE.fullmatch(value)
        if found is None or float(found[1]) > 100:
            self.fail(f"{value!r} is not a share; write 5% or 0.5%", param, ctx)
        return float(found[1]) / 100


class _Moment(click.ParamType[datetime]):
    """A time in RFC 3339, in UTC if it names no zone; a day means its beginning."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a time; write 2026-01-31 or 2026-01-31T08:00:00Z", param, ctx)
        return at if at.tzinfo else at.replace(tzinfo=UTC)


@click.group
def replay() -> None:
    """Replay recorded conversations with other prompts, another language model or other tools.

    Nothing is sent and nothing is changed: tool results come from the record. Workers of the queue `replay` do the
    work; the live queues are not used.
    """


replay.add_command(fork)


@replay.command
@click.option("--file", type=click.File("rb"), help="JSON lines of conversations that another system has recorded.")
@click.option("--since", type=_Moment(), help="Recorded conversations with turns from then on.")
@click.option("--until", type=_Moment(), help="Only turns before then.")
@click.option("--agent", help="Only what this agent has answered; for a file, who answers if a line names nobody.")
@click.option("--sample", type=click.IntRange(1), help="Only so many conversations, chosen by the seed.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample.")
@source_options
@click.option(
    "--repeat", type=click.IntRange(1, 20), default=1, show_default=True, help="Replays of each turn, to tell noise."
)
@click.option("--max-different", type=_Share(), help="Exit with 1 if a larger share of turns goes another way.")
@click.option("--detach", is_flag=True, help="Do not wait for the end.")
@tenant_option
@json_option
def run(
    tenant_name: str | None, detach: bool, as_json: bool, file: BinaryIO | None, prompts: Path | None, **options: Any
) -> None:
    """Replay conversations, and show the report.

    If the command is stopped, the replay goes on; `turnloom replay show` tells how far it is.
    """
    if (file is None) == (options["since"] is None):
        raise click.UsageError("give either --since or --file")
    request = {
        **options,
        "conversations": _conversations(file) if file else None,
        "prompts": requests.changed_texts(prompts) if prompts else {},
    }
    tenant_id = tenant_of(tenant_name)
    replay_id = requests.make(tenant_id, read_choices(ReplayRequest, request), by_operator=True)
    if detach:
        _show(_found(tenant_id, replay_id), as_json=as_json)
        return
    _wait(tenant_id, replay_id)
    _finish(*_report(tenant_id, replay_id), as_json=as_json)


@replay.command("list")
@tenant_option
@json_option
def list_replays(tenant_name: str | None, as_json: bool) -> None:
    """List the last fifty replays, the newest first."""
    tenant_id = tenant_of(tenant_name)
    with transaction(tenant_id) as db:
        found = [view_of(each).model_dump(mode="json") for each in replays.listed(db, tenant_id, _LISTED)]
    print_rows(_COLUMNS, found, as_json=as_json)


@replay.command
@_replay_id
@tenant_option
@json_option
def show(replay_id: UUID, tenant_name: str | None, as_json: bool) -> None:
    """Show a replay and how far it is."""
    _show(_found(tenant_of(tenant_name), replay_id), as_json=as_json)


@replay.command
@_replay_id
@click.option("--html", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="Write the page there.")
@tenant_option
@json_option
def report(replay_id: UUID, html: Path | None, tenant_name: str | None, as_json: bool) -> None:
    """Show the report of a replay that has ended, or write it as one HTML page.

    Exits with 1 if a larger share of turns went another way than the replay allows.
    """
    view, made = _report(tenant_of(tenant_name), replay_id)
    if html is not None:
        html.write_text(page(made), "utf-8")
        if not as_json:
            click.echo(f"the report is in {html}")
            raise SystemExit(0 if made.passed else 1)
    _finish(view, made, as_json=as_json)


@replay.command("import")
@click.argument("file", type=click.File("rb"))
@tenant_option
@json_option
def import_file(file: BinaryIO, tenant_name: str | None, as_json: bool) -> None:
    """Keep the conversations of FILE as recorded ones, for replays by time.

    FILE has JSON lines, as `run --file` takes them. It is taken whole or not at all. A conversation that is there
    already is replaced.
    """
    tenant_id, found = tenant_of(tenant_name), _conversations(file)
    with transaction(tenant_id) as db:
        foreign.keep(db, tenant_id, [(each, began_at(each)) for each in found])
    turns = sum(len(each.turns) for each in found)
    if as_json:
        print_json({"conversations": len(found), "turns": turns})
    else:
        click.echo(f"kept {len(found)} conversations with {turns} turns")


@replay.command
@_replay_id
@tenant_option
@json_option
def cancel(replay_id: UUID, tenant_name: str | None, as_json: bool) -> None:
    """Cancel a replay. What is done can be reported."""
    tenant_id = tenant_of(tenant_name)
    with transaction(tenant_id) as db:
        replays.cancel(db, tenant_id, replay_id)
    _show(_found(tenant_id, replay_id), as_json=as_json)


def _conversations(file: BinaryIO) -> list[Any]:
    try:
        return read_lines(file)
    except Invalid as error:
        for fault in error.faults:
            click.echo(fault["message"], err=True)
        raise


def _found(tenant_id: UUID, replay_id: UUID) -> ReplayProgress:
    with transaction(tenant_id) as db:
        return replays.progress(db, tenant_id, replay_id)


def _report(tenant_id: UUID, replay_id: UUID) -> tuple[ReplayView, ReplayReport]:
    found = _found(tenant_id, replay_id)
    return view_of(found), report_of(found, enabled_tools().tools)


def _show(found: ReplayProgress, *, as_json: bool) -> None:
    view = view_of(found)
    if as_json:
        print_json(view.model_dump(mode="json"))
        return
    rest = f", about {view.eta_s:.0f} s left" if view.eta_s is not None else ""
    click.echo(f"{view.replay_id} is {view.status}: {view.done} of {view.conversations} conversations{rest}")


def _finish(view: ReplayView, made: ReplayReport, *, as_json: bool) -> None:
    if as_json:
        click.echo(report_json(made))
    else:
        click.echo(f"replay {view.replay_id}, made {rfc3339(view.created_at)}")
        show_report(made)
    raise SystemExit(0 if made.passed else 1)


def _wait(tenant_id: UUID, replay_id: UUID) -> None:
    """Wait until a replay has ended, and tell how far it is."""
    if not worker_slots()["replay"]:
        click.echo("no worker replays: start `turnloom worker --queues replay`; this command waits", err=True)
    console = Console(stderr=True)
    if not console.is_terminal:
        _wait_in_lines(tenant_id, replay_id)
        return
    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as shown:
        bar = shown.add_task("replaying")
        for found in _looks(tenant_id, replay_id):
            shown.update(bar, total=found.conversations, completed=found.done)


def _wait_in_lines(tenant_id: UUID, replay_id: UUID) -> None:
    told_at = time.monotonic()
    for found in _looks(tenant_id, replay_id):
        if time.monotonic() - told_at >= _TELL_S:
            told_at = time.monotonic()
            click.echo(f"{found.done} of {found.conversations} conversations", err=True)


def _looks(tenant_id: UUID, replay_id: UUID) -> Iterator[ReplayProgress]:
    while (found := _found(tenant_id, replay_id)).replay.status == "running":
        yield found
        time.sleep(_LOOK_S)
