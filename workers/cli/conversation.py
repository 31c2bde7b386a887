"""Take a conversation over and hand it back: `turnloom conversation …`."""

from typing import Any

import click
from pydantic import ValidationError

from turnloom.models.connections.database import Transaction, statement, transaction
from turnloom.models.contracts.takeover import PersonMessage
from turnloom.models.errors import Invalid
from turnloom.models.ledger import conversations, takeover, tenants
from turnloom.models.runtime.operators import Operator
from turnloom.models.runtime.value_faults import faults_of
from turnloom.models.tables.conversations import ConversationRow
from turnloom.models.tables.replies import ReplyRow
from turnloom.models.tables.turns import TurnRow
from turnloom.tools.command_output import json_option, print_json, print_rows
from turnloom.workers.cli.user_name import user_name
from turnloom.workers.dispatch import dispatch_deliveries, dispatch_reply

_COLUMNS = ["seq", "at", "status", "who", "text"]
_SHOWN = ("agent", "channel", "paused_at", "paused_by", "updated_at", "erased_at")

_conversation = click.argument("conversation_id", metavar="CONVERSATION")
_of_tenant = click.option("--tenant", "tenant_name", required=True, help="Tenant that the conversation belongs to.")
_by = click.option("--by", default=user_name, show_default="your user name", help="Who you are; kept in the audit log.")


@click.group
def conversation() -> None:
    """Take a conversation over, write in it in place of its agent, and hand it back."""


@conversation.command("pause")
@_conversation
@_of_tenant
@_by
@json_option
def pause(conversation_id: str, tenant_name: str, by: str, as_json: bool) -> None:
    """Pause a conversation: its turns are recorded and not answered, until it is resumed."""
    tenant_id = _tenant(tenant_name)
    with statement() as db:
        paused = takeover.pause(db, tenant_id, conversation_id, Operator(name=by))
    for turn in paused.closed:
        dispatch_reply(turn)
    ended = [str(turn.id) for turn in paused.closed]
    if as_json:
        print_json({"conversation_id": conversation_id, "paused": True, "changed": paused.is_new, "closed": ended})
    else:
        done = f"paused {conversation_id}; turns closed: {len(ended)}"
        click.echo(done if paused.is_new else f"{conversation_id} was paused already")


@conversation.command("resume")
@_conversation
@_of_tenant
@_by
@json_option
def resume(conversation_id: str, tenant_name: str, by: str, as_json: bool) -> None:
    """Hand a conversation back to its agent, which answers from the next message on."""
    tenant_id = _tenant(tenant_name)
    with statement() as db:
        was_paused = takeover.resume(db, tenant_id, conversation_id, Operator(name=by))
    if as_json:
        print_json({"conversation_id": conversation_id, "paused": False, "changed": was_paused})
    else:
        click.echo(f"resumed {conversation_id}" if was_paused else f"{conversation_id} was not paused")


@conversation.command("say")
@_conversation
@click.argument("message")
@_of_tenant
@click.option("--author", default=None, help="Who writes, as the agent is told.  [default: as --by]")
@click.option("--message-id", default=None, help="Id of the message: the same one is not sent again.")
@_by
@json_option
def say(conversation_id: str, tenant_name: str, by: str, as_json: bool, **written: Any) -> None:
    """Write to the user in place of the agent. On a channel the message is sent there."""
    tenant_id = _tenant(tenant_name)
    with statement() as db:
        done = takeover.write(db, tenant_id, conversation_id, _message(written), Operator(name=by))
    if done.deliver:
        dispatch_deliveries([done.turn_id])
    if as_json:
        print_json({"conversation_id": conversation_id, "turn_id": done.turn_id, "outcome": done.outcome})
    else:
        click.echo(f"{done.outcome} as turn {done.turn_id}" + (", to be sent on its channel" if done.deliver else ""))


@conversation.command("show")
@_conversation
@_of_tenant
@click.option("--turns", default=20, show_default=True, type=click.IntRange(min=0), help="Last turns to show, at most.")
@json_option
def show(conversation_id: str, tenant_name: str, turns: int, as_json: bool) -> None:
    """Show a conversation: whether a person writes in it, and what was said last."""
    tenant_id = _tenant(tenant_name)
    with transaction() as db:
        row = conversations.get(db, tenant_id, conversation_id)
        facts = {"conversation_id": row.id, **{name: getattr(row, name) for name in _SHOWN}}
        said = _said(db, row, turns)
    if as_json:
        print_json({**facts, "said": said})
        return
    print_rows(["what", "value"], [{"what": name, "value": value} for name, value in facts.items()], as_json=False)
    print_rows(_COLUMNS, said, as_json=False)


def _tenant(name: str) -> Any:
    with transaction() as db:
        return tenants.find(db, name).id


def _message(written: dict[str, Any]) -> PersonMessage:
    try:
        return PersonMessage.model_validate(written)
    except ValidationError as error:
        raise Invalid(faults_of(error)) from None


def _said(db: Transaction, row: ConversationRow, turns: int) -> list[dict[str, Any]]:
    listed = conversations.turns_of(db, row.tenant_id, row.id, max(0, row.last_seq - turns), turns)
    return [line for turn, reply in listed for line in _lines(turn, reply)]


def _lines(turn: TurnRow, reply: ReplyRow | None) -> list[dict[str, Any]]:
    """Return what the user wrote and what was answered. What was made while a person writes was not said."""
    of_turn = {"seq": turn.seq, "status": turn.status}
    lines = []
    if turn.message:
        lines.append({**of_turn, "at": turn.created_at, "who": "user", "text": turn.message})
    if reply is not None and turn.ending != "paused":
        lines.append({**of_turn, "at": turn.finished_at, "who": turn.author or turn.agent, "text": reply.text})
    return lines
