"""Explain what a turn is waiting for: `turnloom explain`."""

from uuid import UUID

import click

from turnloom.models.connections.database import snapshot
from turnloom.models.contracts.delay_causes import explain
from turnloom.models.errors import NotFound
from turnloom.models.ledger import explanation, turns
from turnloom.tools.command_output import json_option, print_json
from turnloom.workers.dispatch import ALIVE, queue_lengths


@click.command("explain")
@click.argument("turn_id", type=click.UUID)
@json_option
def explain_turn(turn_id: UUID, as_json: bool) -> None:
    """Explain what a turn is waiting for. This reads the ledger and the queues, and works without the API."""
    with snapshot() as db:
        turn = turns.get(db, turn_id)
        if turn is None:
            raise NotFound(f"there is no turn with the id {turn_id}")
        facts = explanation.gather(db, turn, ALIVE)
    found = explain(facts, queue_lengths(facts.queues))
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        click.echo(f"{found.status}, {found.cause}: {found.message}")
