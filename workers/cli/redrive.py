"""Decide what only an operator can find out, and send again what was not sent: `turnloom redrive`."""

from typing import Any, get_args
from uuid import UUID

import click
import orjson
from pydantic import ValidationError

from turnloom.models.connections.database import snapshot, statement, transaction
from turnloom.models.contracts.dead_letter import DeadLetter, DeadLetterKind, StepDecision
from turnloom.models.errors import NotFound
from turnloom.models.ledger import callbacks, dead_letters, deliveries, tenants, turns
from turnloom.models.runtime.operators import Operator
from turnloom.models.runtime.value_faults import faults_of
from turnloom.tools.command_output import json_option, print_json, print_rows
from turnloom.workers.cli.user_name import user_name
from turnloom.workers.dispatch import dispatch_deliveries, send
from turnloom.workers.turns import step_decision
from turnloom.workers.turns.called_step import called_step
from turnloom.workers.turns.process_parts import registry
from turnloom.workers.turns.turn_events import committing


@click.group
def redrive() -> None:
    """List dead letters, decide steps that ended without a known outcome, and send again what was not sent."""


@redrive.command("list")
@click.option("--tenant", "tenant_name", default=None, help="Only this tenant's.  [default: all]")
@click.option("--kind", default=None, type=click.Choice(get_args(DeadLetterKind)), help="Only these.  [default: all]")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(min=1), help="Lines, at most.")
@json_option
def list_dead_letters(tenant_name: str | None, kind: DeadLetterKind | None, limit: int, as_json: bool) -> None:
    """List dead letters: what can be decided or sent again, then turns, each the newest first.

    These are steps whose outcome is unknown, parts of replies that were not sent, or of which nobody knows whether they
    were, callbacks that were given up, and turns that failed because of an error of ours.
    """
    with transaction() as db:
        tenant_id = tenants.find(db, tenant_name).id if tenant_name else None
        found = dead_letters.listed(db, tenant_id, limit, kind)
    print_rows([*DeadLetter.model_fields], [letter.model_dump(mode="json") for letter in found], as_json=as_json)


@redrive.command("show")
@click.argument("turn_id", metavar="TURN", type=click.UUID)
@click.argument("step_id", metavar="STEP")
@json_option
def show_step(turn_id: UUID, step_id: str, as_json: bool) -> None:
    """Show a step, with the arguments and the idempotency key of the call to its backend."""
    with snapshot() as db:
        turn = turns.get(db, turn_id)
        if turn is None:
            raise NotFound(f"there is no turn {turn_id}")
        shown = called_step(db, turn, step_id).model_dump(mode="json")
    if as_json:
        print_json(shown)
        return
    rows = [{"field": name, "value": _readable(value)} for name, value in shown.items()]
    print_rows(["field", "value"], rows, as_json=False)


def _readable(value: Any) -> Any:
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else value


def _result(_context: click.Context, _parameter: click.Parameter, value: str | None) -> dict[str, Any] | None:
    if value is None:
        return None
    try:
        read = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise click.BadParameter(f"this is not JSON: {error}") from error
    if not isinstance(read, dict):
        raise click.BadParameter("write a JSON object, as the tool would return it")
    return read


@redrive.command("decide")
@click.argument("turn_id", metavar="TURN", type=click.UUID)
@click.argument("step_id", metavar="STEP")
@click.option("--as", "status", required=True, type=click.Choice(["succeeded", "failed"]), help="How the step ended.")
@click.option("--result", default=None, callback=_result, help="JSON object that the tool would have returned.")
@click.option("--note", default=None, help="How you found out; kept in the audit log.")
@click.option("--by", default=user_name, show_default="your user name", help="Who decides; kept in the audit log.")
@json_option
def decide_step(turn_id: UUID, step_id: str, *, by: str, as_json: bool, **found_out: Any) -> None:
    """Record the outcome of a step whose outcome is unknown. This calls nothing again and changes no reply."""
    try:
        decision = StepDecision(**found_out)
    except ValidationError as error:
        raise click.UsageError(faults_of(error, "the decision")) from None
    with committing(turn_id) as committed, transaction() as db:
        committed(step_decision.decide(db, turn_id, step_id, decision, Operator(name=by), registry))
    if as_json:
        print_json({"turn_id": turn_id, "step": step_id, "status": decision.status})
    else:
        click.echo(f"step {step_id} of turn {turn_id}: {decision.status}")


@redrive.command("send")
@click.argument("turn_id", metavar="TURN", type=click.UUID)
@click.argument("part", metavar="PART", type=click.IntRange(min=1))
@click.option("--by", default=user_name, show_default="your user name", help="Who decides; kept in the audit log.")
@json_option
def send_part(turn_id: UUID, part: int, by: str, as_json: bool) -> None:
    """Send a part of a channel's reply again, after it has failed or its outcome was unknown.

    Parts after it that were withheld because of it follow. One of unknown outcome may have arrived: ask the person
    first.
    """
    with statement() as db:
        deliveries.redrive(db, turn_id, part, Operator(name=by))
    dispatch_deliveries([turn_id])
    if as_json:
        print_json({"turn_id": turn_id, "part": part, "status": "pending"})
    else:
        click.echo(f"part {part} of turn {turn_id} is sent again")


@redrive.command("callback")
@click.argument("turn_id", metavar="TURN", type=click.UUID)
@click.option("--by", default=user_name, show_default="your user name", help="Who decides; kept in the audit log.")
@json_option
def send_callback(turn_id: UUID, by: str, as_json: bool) -> None:
    """Send the callback of a turn again, after it was given up. It is tried for another day."""
    with statement() as db:
        callbacks.redrive(db, turn_id, Operator(name=by))
    send("call_back", turn_id, queue="deliver")
    if as_json:
        print_json({"turn_id": turn_id, "status": "pending"})
    else:
        click.echo(f"the callback of turn {turn_id} is sent again")
