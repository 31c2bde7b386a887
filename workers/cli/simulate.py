"""Play a provider against a deployment: `turnloom simulate`."""

import random
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import click
from rich.console import Console
from rich.progress import Progress

from turnloom.models.connections.database import transaction
from turnloom.models.errors import NotFound, Unavailable
from turnloom.models.ledger import channel_accounts
from turnloom.models.ledger.channel_accounts import ChannelAccount
from turnloom.models.ledger.channel_answers import AnsweredMessage, answers
from turnloom.tools.command_output import json_option, print_json
from turnloom.workers.channels.accounts import OpenAccount, open_account
from turnloom.workers.channels.protocol import CHANNELS, ProviderAccount
from turnloom.workers.cli.chat import find_url
from turnloom.workers.simulator.dialects import dialect
from turnloom.workers.simulator.play import Play, Script
from turnloom.workers.simulator.provider import Provider, ProviderServer
from turnloom.workers.simulator.verdict import RunVerdict, judge
from turnloom.workers.simulator.windows import ServiceWindows

_HOST = "127.0.0.1"
_CHANGE_HOLDS_S = 6.0
"""After this, every process knows a change of an account."""
_PATIENCE_S = 30.0
_SETTLE_S = 120.0
"""How long to wait at the end for replies that are still on their way."""
_TOLD = {"edited": "edits", "closed_windows": "closed_windows", "templates": "closed_windows"}
"""Counts that are told beside the verdict, and the option that makes them of interest."""
_share = click.FloatRange(0, 1)


@click.command
@click.argument("channel", type=click.Choice(CHANNELS))
@click.option("--account", required=True, help="The account whose provider is played. It must exist.")
@click.option("--users", type=click.IntRange(1, 99_999), default=10, show_default=True, help="People who write.")
@click.option("--messages", type=click.IntRange(1, 999_999), default=100, show_default=True, help="Messages in all.")
@click.option("--duplicates", type=_share, default=0.1, show_default=True, help="Share of posts that are repeated.")
@click.option("--disorder", type=_share, default=0.1, show_default=True, help="Share of messages that come late.")
@click.option("--send-errors", type=_share, default=0.2, show_default=True, help="Share of sends that are refused.")
@click.option("--edits", type=_share, default=0, show_default=True, help="Share of messages that are edited.")
@click.option(
    "--closed-windows",
    type=_share,
    default=0,
    show_default=True,
    help="Share of replies that find the person's window closed. The account needs a `template`.",
)
@click.option("--seed", type=int, default=None, help="Makes the same choices again.  [default: by chance]")
@click.option("--base-url", default=None, help="URL of the API.  [default: TURNLOOM_API_URL, or the stack's here]")
@json_option
def simulate(channel: str, account: str, base_url: str | None, as_json: bool, **options: Any) -> None:
    """Play a channel's provider on both sides: post messages of simulated people, and take the replies.

    The provider signs, repeats, swaps and batches what it posts, answers sends with rate codes, closes windows, and
    sends receipts. If the account's `api_base` is not on this machine, the account is pointed at the simulator for the
    run, so use one for tests. The workers' TURNLOOM_ALLOWED_HOSTS must have 127.0.0.1. Exits with 1 if a message was
    not answered exactly once, or out of order.
    """
    stored = _stored(channel, account)
    opened = open_account(stored)
    if options["closed_windows"]:
        _check_template(opened)
    seed = options.pop("seed")
    script = Script(
        people=min(options.pop("users"), options["messages"]),
        seed=secrets.randbelow(1_000_000) if seed is None else seed,
        run=f"{int(time.time()) % 1_000_000:06}",
        patience_s=_PATIENCE_S,
        **options,
    )
    verdict, seen = _simulated(stored, opened.account, script, find_url(base_url))
    if as_json:
        print_json({"channel": channel, "account": account, "seed": script.seed, **verdict.counts(), **seen})
    else:
        told = {**verdict.counts(), **{name: seen[name] for name in _TOLD if getattr(script, _TOLD[name])}}
        click.echo("\n".join(f"{name.replace('_', ' ')}: {number}" for name, number in told.items()))
    raise SystemExit(0 if verdict.is_good else 1)


def _check_template(opened: OpenAccount) -> None:
    its = opened.account
    if dialect(its).closed_window() is None:
        raise click.UsageError("--closed-windows: the account's channel has no window in which it must answer")
    if opened.adapter.template(its) is None:
        raise click.UsageError("--closed-windows: give the account a `template`, which may be sent in a closed window")


def _simulated(
    stored: ChannelAccount, account: ProviderAccount, script: Script, url: str
) -> tuple[RunVerdict, dict[str, int]]:
    its, chance = dialect(account), random.Random(script.seed + 1)  # noqa: S311 - not for secrets
    windows = ServiceWindows(script.closed_windows, random.Random(script.seed + 2))  # noqa: S311 - the same
    play = Play(script, its, f"{url.rstrip('/')}/v1/channels/{account.channel}/{account.id}", windows)
    provider = Provider(its, script.send_errors, chance, play.take, windows, play.fail)
    with (
        _serving(provider, account) as server,
        _pointed(stored, account, server.url),
        _progress(script.messages) as tell,
    ):
        click.echo(f"the provider listens on {server.url}; seed {script.seed}", err=True)
        play.run(tell)
        found = _settled(stored, [*(message.id for message in play.messages), *play.edit_ids])
    if not provider.taken and not provider.refused:
        click.echo("no reply came: do the workers run, and does their TURNLOOM_ALLOWED_HOSTS have 127.0.0.1?", err=True)
    counts = play.counts
    seen = {"posts": counts.posts, "repeated": counts.repeated}
    seen |= {"failed_posts": counts.failed_posts, "replies": len(provider.taken), "send_errors": provider.refused}
    seen |= {"edited": counts.edited, "closed_windows": windows.refused, "templates": provider.templates}
    return judge(play.messages, counts.accepted, provider.taken, found), seen


def _stored(channel: str, account: str) -> ChannelAccount:
    with transaction() as db:
        found = channel_accounts.find(db, channel, account)
    if found is None:
        raise NotFound(f"there is no account {account!r} on {channel}; `turnloom channel set` makes one")
    return found


@contextmanager
def _serving(provider: Provider, account: ProviderAccount) -> Iterator[ProviderServer]:
    address = _local(account) or (_HOST, 0)
    try:
        server = ProviderServer(provider, address)
    except OSError as error:
        raise Unavailable(f"the account's api_base cannot be served here: {error.strerror}") from None
    thread = threading.Thread(target=server.serve_forever, name="provider", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def _pointed(stored: ChannelAccount, account: ProviderAccount, url: str) -> Iterator[None]:
    """Point the account at the simulator while the block runs, unless it already is."""
    if _local(account) is not None:
        yield
        return
    _put(stored, {**stored.config, "api_base": url})
    try:
        time.sleep(_CHANGE_HOLDS_S)
        yield
    finally:
        _put(stored, dict(stored.config))


def _put(stored: ChannelAccount, config: dict[str, Any]) -> None:
    with transaction() as db:
        channel_accounts.put(db, stored.tenant_id, stored.channel, stored.name, stored.agent, config)


def _local(account: ProviderAccount) -> tuple[str, int] | None:
    """Return the host and port of an `api_base` on this machine; None if the account has another or none."""
    parts = urlsplit(account.config.api_base or "")
    with suppress(ValueError):  # a name, or no port
        if parts.port and ip_address(parts.hostname or "").is_loopback:
            return str(parts.hostname), parts.port
    return None


def _settled(stored: ChannelAccount, ids: list[str]) -> dict[str, AnsweredMessage]:
    """Return what became of the messages when nothing more is on its way, or when that takes too long."""
    until = time.monotonic() + _SETTLE_S
    while True:
        with transaction() as db:
            found = answers(db, stored.tenant_id, f"{stored.channel}:{stored.name}", ids)
        if all(answer.is_settled for answer in found.values()) or time.monotonic() > until:
            return found
        time.sleep(0.5)


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    """Show how many messages were written: a bar on a terminal, otherwise a line for each tenth."""
    console = Console(stderr=True)
    if console.is_terminal:
        with Progress(console=console) as bar:
            task = bar.add_task("written", total=total)
            yield lambda number: bar.update(task, completed=number)
        return
    shown = [0]

    def tell(number: int) -> None:
        if number * 10 // total > shown[0]:
            shown[0] = number * 10 // total
            click.echo(f"{number} of {total} messages written", err=True)

    yield tell
