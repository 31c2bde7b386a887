"""Run the embedded stack in the foreground: `turnloom up`."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from turnloom.models.contracts.fault_file import FaultFile
from turnloom.models.runtime.service_urls import shown_url
from turnloom.models.runtime.settings import settings
from turnloom.workers.cli.fault_option import FaultFileType
from turnloom.workers.embedded.foreground import foreground
from turnloom.workers.embedded.stack import Stack, StackOptions

_CORES_FOR_TWO = 4
_ROOM = f"[default: 2 on a machine with {_CORES_FOR_TWO} cores, else 1]"


@click.command
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port of the API.")
@click.option(
    "--data-dir", type=click.Path(file_okay=False, path_type=Path), help="Directory for the data.  [default: .turnloom]"
)
@click.option("--ephemeral", is_flag=True, help="Keep nothing; use a temporary directory and remove it at the end.")
@click.option(
    "--workers",
    "tool_workers",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="Worker processes for tools that wait for other services.",
)
@click.option("--webs", type=click.IntRange(1, 16), help=f"Web servers. {_ROOM}")
@click.option("--planners", type=click.IntRange(1, 16), help=f"Worker processes that plan and answer. {_ROOM}")
@click.option("--flower", is_flag=True, help="Show queues, workers and tasks in Flower.")
@click.option("--flower-port", type=click.IntRange(0, 65535), default=5555, show_default=True, help="Port of Flower.")
@click.option(
    "--faults",
    type=FaultFileType(),
    help="A fault file: tool calls fail, messages come twice and processes die as it says, the same each time.",
)
def up(
    data_dir: Path | None,
    ephemeral: bool,
    flower: bool,
    flower_port: int,
    faults: FaultFile | None,
    **parts: int | None,
) -> None:
    """Run everything on this machine: Postgres, Valkey, the API, the workers."""
    if ephemeral and data_dir:
        raise click.UsageError("--ephemeral keeps nothing; leave out --data-dir")
    began = time.monotonic()
    home = None if ephemeral else data_dir or Path(".turnloom")
    shown = flower_port if flower else None
    # A second process goes on when the first one freezes. With fewer cores it would only slow the first one down.
    room = 2 if (os.cpu_count() or 1) >= _CORES_FOR_TWO else 1
    wanted: dict[str, Any] = {name: room if number is None else number for name, number in parts.items()}
    options = replace(StackOptions(data_dir=home, flower_port=shown, faults=faults), **wanted)
    with suppress(KeyboardInterrupt), foreground(options, show_part) as stack:
        Console(soft_wrap=True).print(banner(stack, ready_in_s=time.monotonic() - began))
        while True:
            signal.pause()


def show_part(name: str, seconds: float) -> None:
    """Print on standard error that a part of the stack is up."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"{name} [dim]up after {seconds:.1f} s[/]")


def banner(stack: Stack, *, ready_in_s: float) -> Text:
    """Return the stack's addresses and what a person needs to use it. Each fact has its own line, for copying."""
    home = stack.servers.home
    llm = "the offline model; set OPENAI_API_KEY or OPENAI_BASE_URL for a real one"
    facts = {
        "Turnloom": f"ready in {ready_in_s:.1f} s, Ctrl-C stops it",
        "console": f"{stack.url}/",
        "API": stack.url,
        "its documents": f"{stack.url}/docs",
        **({"Flower": stack.flower_url} if stack.flower_url else {}),
        "key": stack.dev_key,
        "language model": llm if settings().offline else shown_url(settings().openai_base_url or settings().llm_model),
        "data": f"{home.path}{' (removed at the end)' if home.ephemeral else ''}",
        "logs": str(home.logs),
        **({"goes wrong": _summary(stack.options.faults)} if stack.options.faults else {}),
        "another shell": f". {stack.environment_file} && turnloom chat",
    }
    parts = [part for name, value in facts.items() for part in ((f"{name:<16}", "bold"), f"{value}\n")]
    return Text.assemble(*parts, end="")


def _summary(file: FaultFile) -> str:
    """Return how much goes wrong."""
    counts = {"tool faults": len(file.faults), "duplicates": len(file.duplicates), "restarts": len(file.restarts)}
    parts = [f"{count} {name}" for name, count in counts.items() if count]
    return f"on purpose, with the seed {file.seed}: {', '.join(parts)}"
