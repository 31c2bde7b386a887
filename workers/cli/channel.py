"""Manage accounts with providers of messages: `turnloom channel …`."""

import time
from typing import IO, Any

import click
import orjson

from turnloom.models.connections.database import transaction
from turnloom.models.errors import Invalid, PolicyDenied, ToolFailed, Unavailable
from turnloom.models.ledger import channel_accounts, channel_items, tenants
from turnloom.models.ledger.channel_accounts import ChannelAccount
from turnloom.models.runtime.settings import settings
from turnloom.planner.agents import load_agents
from turnloom.tools.command_output import json_option, print_json, print_rows
from turnloom.tools.http.upstream import exchange
from turnloom.workers.channels import adapter
from turnloom.workers.channels.accounts import is_account_name, open_account, read_config
from turnloom.workers.channels.protocol import CHANNELS

_COLUMNS = ["channel", "account", "tenant", "agent", "webhook", "updated_at"]
_PROBE_S = 10.0

_channel = click.argument("channel", type=click.Choice(CHANNELS))
_of_tenant = click.option("--tenant", "tenant_name", required=True, help="Tenant that the account belongs to.")


@click.group
def channel() -> None:
    """Manage accounts with WhatsApp, Telegram, Slack and Twilio."""


def _name(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not is_account_name(value):
        raise click.BadParameter("write 1 to 48 letters, digits, `_`, `.` or `-`")
    return value


_account = click.argument("account", callback=_name)


@channel.command("set")
@_channel
@_account
@_of_tenant
@click.option("--agent", required=True, help="Agent that answers.")
@click.option(
    "--config",
    required=True,
    type=click.File(encoding="utf-8"),
    help="A file with the configuration as a JSON object; `-` reads it from standard input.",
)
@json_option
def set_account(channel: str, account: str, tenant_name: str, agent: str, config: IO[str], as_json: bool) -> None:
    """Set an account, or replace it. Its configuration is kept encrypted and never shown again."""
    given = _object(config.read())
    read_config(adapter(channel), given)
    load_agents(settings().prompts_dir / "agents").get(agent)
    with transaction() as db:
        channel_accounts.put(db, tenants.find(db, tenant_name).id, channel, account, agent, given)
    if as_json:
        print_json({"channel": channel, "account": account, "webhook": _webhook(channel, account)})
    else:
        click.echo(f"set {channel} account {account}; the provider's webhook is {_webhook(channel, account)}")


@channel.command("list")
@click.option("--tenant", "tenant_name", default=None, help="Only this tenant's.  [default: all]")
@json_option
def list_accounts(tenant_name: str | None, as_json: bool) -> None:
    """List accounts, without their configuration."""
    with transaction() as db:
        found = channel_accounts.listed(db, tenants.find(db, tenant_name).id if tenant_name else None)
    print_rows(_COLUMNS, [_shown(each) for each in found], as_json=as_json)


@channel.command("show")
@_channel
@_account
@_of_tenant
@json_option
def show_account(channel: str, account: str, tenant_name: str, as_json: bool) -> None:
    """Show an account: which fields its configuration has, but none of their values."""
    stored = _stored(channel, account, tenant_name)
    shown = _shown(stored) | {"fields": sorted(stored.config)}
    if as_json:
        print_json(shown)
    else:
        print_rows(["what", "value"], [{"what": name, "value": value} for name, value in shown.items()], as_json=False)


@channel.command("remove")
@_channel
@_account
@_of_tenant
def remove_account(channel: str, account: str, tenant_name: str) -> None:
    """Forget an account and its secrets. Replies that are still to be sent on it fail."""
    with transaction() as db:
        channel_accounts.remove(db, tenants.find(db, tenant_name).id, channel, account)
    click.echo(f"removed {channel} account {account}")


@channel.command("check")
@_channel
@_account
@_of_tenant
def check_account(channel: str, account: str, tenant_name: str) -> None:
    """Ask the provider whether the account works. Nothing is sent to anybody."""
    probe(_stored(channel, account, tenant_name))
    click.echo(f"{channel} account {account} works")


@channel.command("kept")
@_of_tenant
@click.option("--account", "key", default=None, metavar="CHANNEL:ACCOUNT", help="Only this account's.  [default: all]")
@click.option("--bodies", is_flag=True, help="Also show the bodies of the requests, as they came.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(min=1), help="Lines, at most.")
@json_option
def list_kept(tenant_name: str, key: str | None, bodies: bool, limit: int, as_json: bool) -> None:
    """List what providers posted and nobody answers: unknown kinds, edits without a message, the unreadable."""
    with transaction() as db:
        found = channel_items.kept(db, tenants.find(db, tenant_name).id, key, limit)
    columns = ["at", "account", "kind", "why", *(["body"] if bodies else [])]
    rows = [
        {
            "at": item.created_at,
            "account": item.channel,
            "kind": item.detail.get("kind"),
            "why": item.detail.get("why"),
            "body": body.decode(errors="replace"),
        }
        for item, body in found
    ]
    print_rows(columns, rows, as_json=as_json)


def probe(stored: ChannelAccount) -> None:
    """Ask the provider whether an account works.

    Raises:
        Unavailable: it does not, or the provider cannot be asked; the error says why.
    """
    opened = open_account(stored)
    try:
        answer = exchange(opened.adapter.probe(opened.account), time.monotonic() + _PROBE_S)
    except (PolicyDenied, ToolFailed, TimeoutError) as error:
        raise Unavailable(str(error), code="provider_unreachable") from error
    if fault := opened.adapter.fault(answer):
        raise Unavailable(fault, code="account_faulty")


def _stored(channel: str, account: str, tenant_name: str) -> ChannelAccount:
    with transaction() as db:
        return channel_accounts.get(db, tenants.find(db, tenant_name).id, channel, account)


def _shown(stored: ChannelAccount) -> dict[str, Any]:
    return {
        "channel": stored.channel,
        "account": stored.name,
        "tenant": stored.tenant,
        "agent": stored.agent,
        "webhook": _webhook(stored.channel, stored.name),
        "updated_at": stored.updated_at,
    }


def _webhook(channel: str, account: str) -> str:
    return f"/v1/channels/{channel}/{account}"


def _object(text: str) -> dict[str, Any]:
    try:
        read = orjson.loads(text)
    except orjson.JSONDecodeError:
        read = None
    if not isinstance(read, dict):
        raise Invalid('the configuration is not a JSON object; write one such as {"bot_token": "…", …}')
    return read
