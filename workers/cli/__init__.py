"""Run the command line `turnloom COMMAND`. Exit codes: 0 done, 1 the work failed, 2 wrong usage or settings."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from turnloom.models.errors import Misconfigured, TurnloomError
from turnloom.models.runtime.lean_imports import loading
from turnloom.models.runtime.logging import configure_logging, log
from turnloom.models.runtime.operators import Operator, acting
from turnloom.models.runtime.settings import settings
from turnloom.tools.pack_index import known_packs
from turnloom.tools.pack_settings import unknown_settings
from turnloom.workers.cli.user_name import user_name

COMMANDS = {
    "up": "turnloom.workers.cli.up:up",
    "demo": "turnloom.workers.cli.demo:demo",
    "chat": "turnloom.workers.cli.chat:chat",
    "web": "turnloom.workers.cli.processes:web",
    "worker": "turnloom.workers.cli.processes:worker",
    "beat": "turnloom.workers.cli.processes:beat",
    "flower": "turnloom.workers.cli.processes:flower",
    "migrate": "turnloom.workers.cli.admin:migrate",
    "tenant": "turnloom.workers.cli.admin:tenant",
    "key": "turnloom.workers.cli.keys:key",
    "user": "turnloom.workers.cli.users:user",
    "account": "turnloom.workers.cli.accounts:account",
    "secrets": "turnloom.workers.cli.accounts:secret_keys",
    "channel": "turnloom.workers.cli.channel:channel",
    "conversation": "turnloom.workers.cli.conversation:conversation",
    "prune": "turnloom.workers.cli.prune:prune",
    "usage": "turnloom.workers.cli.usage:usage",
    "explain": "turnloom.workers.cli.explain:explain_turn",
    "redrive": "turnloom.workers.cli.redrive:redrive",
    "plan": "turnloom.workers.cli.catalogue:plan",
    "eval": "turnloom.workers.cli.eval:evaluate",
    "replay": "turnloom.workers.cli.replay:replay",
    "simulate": "turnloom.workers.cli.simulate:simulate",
    "tools": "turnloom.workers.cli.tools:tools",
    "agents": "turnloom.workers.cli.catalogue:agents",
    "mcp": "turnloom.workers.cli.mcp:mcp",
    "audit": "turnloom.workers.cli.audit:audit",
    "prompts": "turnloom.workers.cli.prompts:prompts",
    "rollout": "turnloom.workers.cli.rollout:rollout",
    "doctor": "turnloom.workers.cli.doctor:doctor",
    "offline-llm": "turnloom.workers.cli.offline:offline_llm",
}
"""Name -> module:command. A command's module is imported only when it is used, so that each command starts quickly."""

_AFTER_PACKS = "usage"
"""The help lists the commands of packs before this one, after the commands that manage data."""


_PROCESSES = ("up", "demo", "web", "worker", "beat", "flower")
"""Commands that go on after whoever gave them: what they do is not done by that person."""


class _WrongUsage(click.ClickException):
    """An error that says which setting is wrong."""

    exit_code = 2


class _Commands(click.Group):
    """The group of all commands, which turns our errors into a sentence and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        names = list(COMMANDS)
        place = names.index(_AFTER_PACKS)
        with suppress(TurnloomError):  # the help must also be there if a pack cannot be loaded
            names[place:place] = [name for name in pack_commands() if name not in COMMANDS]
        return names

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        with loading(), _faults():
            if cmd_name not in COMMANDS:
                return pack_commands().get(cmd_name)
            module, _, name = COMMANDS[cmd_name].partition(":")
            command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        with _faults():
            return super().invoke(ctx)


def pack_commands() -> dict[str, click.Group]:
    """Return the commands that packs bring, by name: those of shipped packs, and of enabled plug-ins.

    Raises:
        Misconfigured: the setting TURNLOOM_PACKS is wrong.
        NotFound: it names a pack that does not exist, or the commands of a pack cannot be imported.
        Conflict: several packs have the name of an enabled one.
    """
    parts = [part for pack in known_packs(settings().packs) if (part := pack.part("commands"))]
    groups = [group for part in parts for group in vars(part).values() if isinstance(group, click.Group)]
    return {str(group.name): group for group in groups}


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
@click.pass_context
def main(context: click.Context) -> None:
    """Answer messages at high volume: planned by a language model, run on Celery workers, recorded in Postgres."""
    if context.invoked_subcommand not in _PROCESSES:
        context.with_resource(acting(Operator(name=user_name())))
    # Printed lines are the command's answer; logged lines are not. The doctor reports wrong settings.
    # A pack that cannot be found or loaded is reported by the commands that use packs.
    with suppress(TurnloomError):
        configure_logging()
        for sentence in unknown_settings():
            log.warning("setting.unknown", reason=sentence)
