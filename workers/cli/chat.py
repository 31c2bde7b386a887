"""Talk to an agent on a running stack: `turnloom chat`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from turnloom.models.errors import Unavailable
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import settings
from turnloom.workers.cli.client import Api
from turnloom.workers.cli.turn_display import show_events, show_turn
from turnloom.workers.embedded.home import published

_DATA_DIR = Path(".turnloom")
"""Where `turnloom up` keeps its data by default."""


@click.command
@click.option("--agent", default=None, help="Agent that answers.  [default: the conversation's own, or generic]")
@click.option("--conversation", default=None, help="Conversation to continue.  [default: a new one]")
@click.option("--user", default=None, help="Id of the user that the agent acts for, such as noa in the demo.")
@click.option("--url", default=None, help="URL of the API.  [default: TURNLOOM_API_URL, or the stack's here]")
@click.option("--key", default=None, help="Key to the API.  [default: TURNLOOM_API_KEY, or the embedded stack's]")
def chat(agent: str | None, conversation: str | None, user: str | None, url: str | None, key: str | None) -> None:
    """Chat in the terminal. Each answer shows its plan and its steps as they happen. Ctrl-D ends the chat."""
    console = Console()
    to = {"conversation_id": conversation or str(new_id()), "agent": agent, "user": {"id": user} if user else None}
    with Api(find_url(url), find_key(key)) as api:
        known = [entry["name"] for entry in api.agents()]
        console.print(f"[dim]agents: {', '.join(known)} · conversation {to['conversation_id']} · Ctrl-D ends[/]")
        while (message := _ask()) is not None:
            if message.strip():
                answer(console, api, {"message": message, **to})


def find_url(given: str | None) -> str:
    """Return the URL of the API: the one given, else the one set, else that of the stack in this directory."""
    running = None if "api_url" in settings().model_fields_set else published(_DATA_DIR)
    return given or (running.url if running else settings().api_url)


def find_key(given: str | None) -> str:
    """Return the key to the API: the one given, else the one set, else that of the stack in this directory.

    Raises:
        UsageError: there is no key.
    """
    running = published(_DATA_DIR)
    found = given or settings().api_key or settings().dev_key or (running.key if running else None)
    if found is None:
        raise click.UsageError("no key: give --key, set TURNLOOM_API_KEY, or start `turnloom up` in this directory")
    return found


def answer(console: Console, api: Api, request: Mapping[str, Any]) -> bool:
    """Post a message, show its turn as it happens, and return whether it succeeded. Errors are shown."""
    try:
        accepted = api.post_turn(**{name: value for name, value in request.items() if value is not None})
        show_events(console, api.events(accepted["turn_id"]))
        turn = api.turn(accepted["turn_id"])
    except Unavailable as error:
        console.print(f"[red]{error}[/]")
        return False
    show_turn(console, turn)
    return bool(turn["status"] == "succeeded")


def _ask() -> str | None:
    try:
        return click.prompt("\nyou", prompt_suffix="> ", type=str)
    except click.Abort:
        click.echo()
        return None
