"""Run the command line `turnloom COMMAND`. Exit codes: 0 done, 1 the work failed, 2 wrong usage or settings."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from models.errors import Misconfigured, TurnloomError
from models.runtime.lean_imports import loading
from models.runtime.logging import configure_logging

COMMANDS = {
    "up": "workers.cli.up:up",
    "demo": "workers.cli.demo:demo",
    "chat": "workers.cli.chat:chat",
    "web": "workers.cli.processes:web",
    "worker": "workers.cli.processes:worker",
    "beat": "workers.cli.processes:beat",
    "flower": "workers.cli.processes:flower",
    "migrate": "workers.cli.admin:migrate",
    "tenant": "workers.cli.admin:tenant",
    "key": "workers.cli.admin:key",
    "user": "workers.cli.users:user",
    "account": "workers.cli.accounts:account",
    "secrets": "workers.cli.accounts:secret_keys",
    "hotel": "workers.cli.hotel:hotel",
    "documents": "workers.cli.documents:documents",
    "usage": "workers.cli.usage:usage",
    "explain": "workers.cli.explain:explain_turn",
    "redrive": "workers.cli.redrive:redrive",
    "plan": "workers.cli.catalogue:plan",
    "eval": "workers.cli.eval:evaluate",
    "tools": "workers.cli.toolbox:tools",
    "agents": "workers.cli.catalogue:agents",
    "mcp": "workers.cli.mcp:mcp",
    "audit": "workers.cli.audit:audit",
    "prompts": "workers.cli.prompts:prompts",
    "doctor": "workers.cli.doctor:doctor",
    "offline-llm": "workers.cli.offline:offline_llm",
}
"""Name -> module:command. A command's module is imported only when it is used, so that each command starts quickly."""


class _WrongUsage(click.ClickException):
    """An error that says which setting is wrong."""

    exit_code = 2


class _Commands(click.Group):
    """The group of all commands, which turns our errors into a sentence and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        with loading(), _faults():
            command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        with _faults():
            return super().invoke(ctx)


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except Misconfigured as error:
        raise _WrongUsage(str(error)) from error
    except TurnloomError as error:
        raise click.ClickException(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="turnloom")
def main() -> None:
    """Answer messages at high volume: planned by a language model, run on Celery workers, recorded in Postgres."""
    # Printed lines are the command's answer; logged lines are not. The doctor reports wrong settings.
    with suppress(Misconfigured):
        configure_logging()
