"""`turnloom audit verify`: whether anybody has touched the audit log."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from uuid import UUID

import click
from rich.console import Console
from rich.progress import track

from models.database import snapshot
from models.errors import NotFound
from models.ledger import audit as ledger
from models.ledger import tenants
from models.ledger.audit import AuditFault
from workers.cli.printing import json_option, print_json, print_rows

_COLUMNS = ["tenant_id", "conversation_id", "seq", "message"]


@click.group
def audit() -> None:
    """The audit log: each conversation's records, chained by their hashes."""


@audit.command
@click.option("--conversation", "conversation_id", default=None, help="Only this one.  [default: all]")
@click.option("--tenant", "tenant_name", default=None, help="Whose.  [default: everybody's]")
@json_option
@click.pass_context
def verify(context: click.Context, conversation_id: str | None, tenant_name: str | None, as_json: bool) -> None:
    """Find every record that was changed, left out or put elsewhere. Exit code 1 where there is one."""
    with snapshot() as db:
        tenant_id = tenants.find(db, tenant_name).id if tenant_name else None
        chains = ledger.chains(db, tenant_id, conversation_id)
    if conversation_id is not None and not chains:
        raise NotFound(f"there is no conversation {conversation_id!r}")
    faults = list(_faults(chains))
    if as_json:
        print_json({"conversations": len(chains), "faults": [asdict(fault) for fault in faults]})
    elif faults:
        print_rows(_COLUMNS, [asdict(fault) for fault in faults], as_json=False)
    else:
        click.echo(f"the records of {len(chains)} conversations are as they were written")
    context.exit(1 if faults else 0)


def _faults(chains: Sequence[tuple[UUID, str]]) -> Iterator[AuditFault]:
    console = Console(stderr=True)
    for chain in track(chains, "verifying", console=console, transient=True, disable=not console.is_terminal):
        # A snapshot each: a conversation may go on meanwhile, and old ones of the whole log would be in the way.
        with snapshot() as db:
            yield from ledger.verify(db, *chain)
