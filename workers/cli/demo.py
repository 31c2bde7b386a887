"""Hold one conversation with each shipped agent, then keep the stack running to play with: `turnloom demo`."""

import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import click
import yaml
from rich.console import Console

from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import settings
from turnloom.workers.cli.chat import answer
from turnloom.workers.cli.client import Api
from turnloom.workers.cli.up import banner, show_part
from turnloom.workers.embedded.foreground import foreground
from turnloom.workers.embedded.stack import StackOptions

_CONVERSATIONS = Path(__file__).parent / "demo.yaml"
_LATENCY_MS = 300
"""The shipped travel data answers at once. A provider's delay makes it visible which steps run side by side."""


@click.command
@click.option("--once", is_flag=True, help="End after the conversations; exit 1 if any of them failed.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port of the API.")
def demo(once: bool, port: int) -> None:
    """Show each agent at work on a throw-away stack on this machine."""
    console = Console(soft_wrap=True)
    began = time.monotonic()
    latency = {"TURNLOOM_TRAVEL_LATENCY_MS": str(_LATENCY_MS)}
    options = StackOptions(data_dir=None, port=0 if once else port, settings=latency)
    failed = 0
    with suppress(KeyboardInterrupt), foreground(options, show_part) as stack:
        console.print(banner(stack, ready_in_s=time.monotonic() - began))
        if settings().offline:
            console.print(
                "\nThis runs on the [bold]offline model[/]: a small deterministic stand-in that speaks the OpenAI"
                " protocol and knows the demo's domains only. It is for demos, tests and benchmarks, never for"
                " production. Set OPENAI_API_KEY or OPENAI_BASE_URL for a real one."
            )
        console.print(f"The travel tools answer from shipped data, {_LATENCY_MS} ms late, as a provider would.")
        with Api(stack.url, stack.dev_key) as api:
            for agent, conversation in yaml.safe_load(_CONVERSATIONS.read_text("utf-8")).items():
                failed += _converse(console, api, agent, **conversation)
        console.print(f"\n{'all turns succeeded' if not failed else f'{failed} turns failed'}")
        if not once:
            console.print(f"The console: {stack.url}/   Ctrl-C stops")
            while True:
                signal.pause()
    raise SystemExit(1 if failed else 0)


def _converse(
    console: Console, api: Api, agent: str, messages: list[str], user: Mapping[str, str] | None = None
) -> int:
    """Hold one conversation and return how many of its turns failed."""
    to = {"conversation_id": str(new_id()), "agent": agent, "user": user}
    failed = 0
    for message in messages:
        console.rule(f"[bold]{agent}", align="left")
        console.print(f"[bold]you>[/] {message}")
        failed += not answer(console, api, {"message": message, **to})
    return failed
