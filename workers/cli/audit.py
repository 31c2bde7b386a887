"""Verify the audit log, print anchors to keep elsewhere, and export proof bundles: `turnloom audit …`."""

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO
from uuid import UUID

import click
import orjson
from rich.console import Console
from rich.progress import track

from turnloom.models.connections.database import Transaction, snapshot, transaction
from turnloom.models.errors import Invalid, NotFound, Unavailable
from turnloom.models.ledger import audit as ledger
from turnloom.models.ledger import audit_bundle, audit_heads, audit_key, tenants
from turnloom.models.ledger.audit import AuditFault, Chain, Scope
from turnloom.models.ledger.audit_heads import Anchor
from turnloom.models.ledger.tenant_audit import CHAIN
from turnloom.models.runtime.settings import settings
from turnloom.tools.command_output import json_anyway, json_option, print_json, print_rows

_COLUMNS = ["tenant_id", "conversation_id", "seq", "message"]
_VERIFIER = Path(__file__).with_name("verify_bundle.py")
_AT_ONCE = 100
_MISSING = "TURNLOOM_AUDIT_KEY is not set: set it to the key that the workers use"


@click.group
def audit() -> None:
    """Verify the audit log: chains of records, of each conversation and tenant, and each tenant's signed heads."""


@audit.command
@click.option("--conversation", "conversation_id", default=None, help="Only this one.  [default: all]")
@click.option("--tenant", "tenant_name", default=None, help="Whose.  [default: everybody's]")
@click.option(
    "--anchor",
    "files",
    type=click.File("rb"),
    multiple=True,
    help="A file of heads to compare with, as `audit anchor` prints them, or workers' logs; may be repeated.",
)
@json_option
@click.pass_context
def verify(
    context: click.Context,
    conversation_id: str | None,
    tenant_name: str | None,
    files: tuple[IO[bytes], ...],
    as_json: bool,
) -> None:
    """Find every record that was changed, left out or moved. Exits with 1 if there is one.

    The signed heads, which are written about once a minute, reveal a chain that was cut at its end, removed or
    rewritten. Anchors reveal changes to the heads themselves.
    """
    if settings().audit_key is None:
        click.echo(f"the heads' signatures are not verified: {_MISSING}", err=True)
    with snapshot() as db:
        scope = Scope(tenants.find(db, tenant_name).id if tenant_name else None, conversation_id)
        sealed = audit_heads.sealed_tenants(db) if scope.tenant_id is None else [scope.tenant_id]
        faults = audit_heads.compare(db, [each for file in files for each in _anchors(file, scope)])
    for tenant_id in sealed:
        faults += _of_heads(tenant_id, conversation_id)
    chains = 0
    for found in _shown(_pages(scope)):
        chains += sum(chain.conversation_id != CHAIN for chain in found)
        faults += _of_chains(found)
    if conversation_id is not None and not (chains or faults):
        raise NotFound(f"there is no conversation {conversation_id!r}")
    _print(chains, faults, as_json=as_json)
    context.exit(1 if faults else 0)


@audit.command
@click.option("--tenant", "tenant_name", default=None, help="Whose.  [default: everybody's]")
@json_anyway
def anchor(tenant_name: str | None) -> None:
    """Sign the current state of all chains, and print each tenant's last head as a line of JSON, to keep elsewhere."""
    key = _key()
    with transaction() as db:
        tenant_id = tenants.find(db, tenant_name).id if tenant_name else None
        audit_heads.seal(db, key)
        heads = audit_heads.last_heads(db, tenant_id)
    for head in heads:
        click.echo(orjson.dumps(head.shown()).decode())


@audit.command
@click.option("--conversation", "conversation_id", required=True, help="The conversation.")
@click.option("--tenant", "tenant_name", default=None, help="Whose it is, where several tenants have one of that id.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    default=Path("audit-bundle.zip"),
    show_default=True,
    help="The file to write.",
)
@json_option
def export(conversation_id: str, tenant_name: str | None, out: Path, as_json: bool) -> None:
    """Write a conversation's proof bundle: its records and texts, a signed head, and a script that verifies them.

    Whoever has the public key can verify it without us: `python3 verify.py bundle.json PUBLIC_KEY`. The export is a
    record of the conversation itself.
    """
    key = _key()
    with transaction() as db:
        bundle = audit_bundle.export(db, _owner(db, conversation_id, tenant_name), conversation_id, key)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bundle.json", orjson.dumps(bundle, option=orjson.OPT_INDENT_2))
        archive.writestr("verify.py", _VERIFIER.read_bytes())
    told = {"file": str(out), "records": len(bundle["records"]), "texts": len(bundle["texts"])}
    if as_json:
        print_json({**told, "public_key": bundle["public_key"]})
    else:
        click.echo(f"wrote {out}: {told['records']} records, {told['texts']} texts; key {bundle['public_key']}")


@audit.command("public-key")
@json_option
def show_public_key(as_json: bool) -> None:
    """Print the public key of the signed heads, which those who verify proof bundles need."""
    shown = audit_key.public_key(_key()).hex()
    if as_json:
        print_json({"public_key": shown})
    else:
        click.echo(shown)


def _key() -> bytes:
    key = settings().audit_key
    if key is None:
        raise Unavailable(_MISSING)
    return key.encode()


def _owner(db: Transaction, conversation_id: str, tenant_name: str | None) -> UUID:
    if tenant_name is not None:
        return tenants.find(db, tenant_name).id
    found = ledger.chains(db, Scope(None, conversation_id), None, 2)
    if not found:
        raise NotFound(f"there is no conversation {conversation_id!r}")
    if len(found) > 1:
        raise Invalid(f"several tenants have a conversation {conversation_id!r}: say whose with --tenant")
    return found[0].tenant_id


def _anchors(file: IO[bytes], scope: Scope) -> Iterator[Anchor]:
    """Read the heads in a file. Other lines, as logs have them, are skipped."""
    for line in file:
        if b'"signature"' not in line:
            continue
        try:
            kept = orjson.loads(line)
            found = Anchor(UUID(kept["tenant_id"]), int(kept["number"]), bytes.fromhex(kept["signature"]))
        except (ValueError, LookupError, TypeError):
            raise Invalid(f"{file.name}: a line with a signature is not a head that `audit anchor` printed") from None
        if scope.tenant_id in (None, found.tenant_id):
            yield found


def _of_heads(tenant_id: UUID, conversation_id: str | None) -> Iterator[AuditFault]:
    key = settings().audit_key
    head = None
    while True:
        # Each page has its own snapshot: an old one over the whole log would hinder writers.
        with snapshot() as db:
            faults, head = audit_heads.verify_heads(db, tenant_id, head, key.encode() if key else None, conversation_id)
        yield from faults
        if head is None:
            return


def _pages(scope: Scope) -> Iterator[list[Chain]]:
    after = None
    while True:
        with snapshot() as db:
            found = ledger.chains(db, scope, after, _AT_ONCE)
        if not found:
            return
        yield found
        after = found[-1]


def _of_chains(chains: Sequence[Chain]) -> list[AuditFault]:
    with snapshot() as db:
        return list(ledger.verify_chains(db, chains))


def _shown(pages: Iterable[list[Chain]]) -> Iterable[list[Chain]]:
    console = Console(stderr=True)
    return track(pages, "verifying", total=None, console=console, transient=True, disable=not console.is_terminal)


def _print(chains: int, faults: list[AuditFault], *, as_json: bool) -> None:
    if as_json:
        print_json({"conversations": chains, "faults": [asdict(fault) for fault in faults]})
    elif faults:
        print_rows(_COLUMNS, [asdict(fault) for fault in faults], as_json=False)
    else:
        click.echo(f"the records of {chains} conversations are as they were written")
