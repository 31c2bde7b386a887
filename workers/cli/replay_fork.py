"""Run one recorded turn again from one of its steps: `turnloom replay fork`."""

from pathlib import Path
from typing import IO, Any
from uuid import UUID

import click
import orjson

from turnloom.models.contracts.recorded import RecordedConversation
from turnloom.models.contracts.replay import ReplayedTurn
from turnloom.models.contracts.replay_request import ReplayOptions
from turnloom.models.errors import InvalidPlan
from turnloom.tools.command_output import json_option, print_json
from turnloom.workers.cli.replay_options import read_choices, source_options, tenant_of, tenant_option
from turnloom.workers.replay import requests
from turnloom.workers.replay.recorded_turns import recorded_turn
from turnloom.workers.replay.report_table import show_turn
from turnloom.workers.replay.rerun import rerun
from turnloom.workers.replay.setting import Setting
from turnloom.workers.replay.turn_changes import TurnChanges
from turnloom.workers.turns.process_parts import llm, registry


class _StepFile(click.ParamType[tuple[str, Any]]):
    """A step and the JSON value of a file, such as `rooms=rooms.json`."""

    name = "step=file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        step, is_there, path = value.partition("=")
        if not step or not is_there:
            self.fail(f"{value!r} is no result; write STEP=FILE, such as rooms=rooms.json", param, ctx)
        with click.File("rb").convert(path, param, ctx) as file:
            return step, _json(file, path, param, ctx)


class _JsonFile(click.ParamType[Any]):
    """The JSON value of a file."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        with click.File("rb").convert(value, param, ctx) as file:
            found = _json(file, value, param, ctx)
        if found is None:
            self.fail(f"{value} has no plan in it", param, ctx)
        return found


@click.command
@click.argument("turn_id", type=click.UUID)
@click.option("--from", "step", metavar="STEP", required=True, help="The step from which it runs again.")
@click.option("--plan", type=_JsonFile(), help="A JSON plan in place of the recorded one.")
@click.option(
    "--result", "results", type=_StepFile(), multiple=True, help="A JSON result in place of the recorded one."
)
@source_options
@tenant_option
@json_option
def fork(turn_id: UUID, tenant_name: str | None, as_json: bool, prompts: Path | None, **options: Any) -> None:
    """Run a turn again from one of its steps, in this process, and show what differs.

    STEP and what depends on it run again; all other steps keep their recorded results. With --prompts or --model the
    language model plans again, unless --plan is given. Nothing is sent and nothing is changed.

    Exits with 1 if the turn could not be run again.
    """
    tenant_id = tenant_of(tenant_name)
    changes = TurnChanges(step=options["step"], plan=options["plan"], results=dict(options["results"]))
    model = options["model"]
    chosen = read_choices(ReplayOptions, {"tools": options["tools"], "faults": options["faults"], "model": model})
    _, tailored = requests.texts_with(tenant_id, requests.changed_texts(prompts) if prompts else {})
    conversation, turn = recorded_turn(tenant_id, str(turn_id))
    setting = Setting(
        tenant_id=tenant_id,
        tailored=tailored,
        tools=registry(),
        llm=llm(),
        model=model,
        keeps_plans=changes.plan is not None or (model is None and prompts is None),
    )
    made = _made(conversation, turn.turn_id, changes, setting, chosen)
    for name in made.unused:
        click.echo(f"the result for step {name!r} was not used: the step made no call", err=True)
    if as_json:
        print_json(made.model_dump(mode="json"))
    else:
        show_turn(made)
    raise SystemExit(1 if made.outcome == "failed" else 0)


def _made(
    conversation: RecordedConversation, turn_id: str, changes: TurnChanges, setting: Setting, options: ReplayOptions
) -> ReplayedTurn:
    try:
        return rerun(conversation, turn_id, changes, setting, options)
    except InvalidPlan as error:
        for fault in error.faults:
            click.echo(f"{fault['path'] or 'the plan'}: {fault['message']}", err=True)
        raise


def _json(file: IO[Any], path: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
    try:
        return orjson.loads(file.read())
    except orjson.JSONDecodeError as error:
        raise click.BadParameter(f"{path} is not JSON: {error}", ctx, param) from error
