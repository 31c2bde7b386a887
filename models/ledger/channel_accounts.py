"""Accounts with providers of messages are set, found and removed here. Their configuration is stored encrypted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger import tenant_audit
from turnloom.models.runtime import secrets
from turnloom.models.runtime.ids import new_id
from turnloom.models.tables.channels import ChannelAccountRow
from turnloom.models.tables.tenants import TenantRow


@dataclass(frozen=True, slots=True)
class ChannelAccount:
    """A tenant's account with a provider of messages."""

    tenant_id: UUID
    tenant: str
    """The tenant's name."""
    channel: str
    name: str
    agent: str
    sealed: bytes | None = field(repr=False)
    """The configuration, encrypted."""
    updated_at: datetime

    @property
    def config(self) -> Mapping[str, Any]:
        """The configuration, decrypted at each use.

        Raises:
            ToolFailed: CONNECTION_INACTIVE, without the key that encrypted it.
        """
        assert self.sealed is not None, "an account is stored with its configuration"
        return secrets.unseal(self.sealed)


def put(db: Session, tenant_id: UUID, channel: str, name: str, agent: str, config: Mapping[str, Any]) -> None:
    """Set an account. It replaces the tenant's account of that name.

    Raises:
        Conflict: another tenant has an account of that name on the channel.
        Unavailable: there is no key to encrypt the configuration with.
    """
    values = {
        "agent": agent,
        "secret": secrets.seal(config),
        "key_id": secrets.key_ids()[0],
        "updated_at": func.clock_timestamp(),
    }
    new = insert(ChannelAccountRow).values(tenant_id=tenant_id, id=new_id(), channel=channel, name=name, **values)
    mine = ChannelAccountRow.tenant_id == tenant_id
    put = new.on_conflict_do_update(index_elements=["channel", "name"], set_=values, where=mine)
    if db.scalar(put.returning(ChannelAccountRow.id)) is None:
        raise Conflict(f"another tenant has an account {name!r} on {channel}; choose another name")
    tenant_audit.append(db, tenant_id, "channel.set", {"channel": channel, "account": name, "agent": agent})


def find(db: Session, channel: str, name: str) -> ChannelAccount | None:
    """Return the account of that name, whoever's it is; None if there is none."""
    query = _query().where(ChannelAccountRow.channel == channel, ChannelAccountRow.name == name)
    row = db.execute(query).one_or_none()
    return None if row is None else _read(*row)


def get(db: Session, tenant_id: UUID, channel: str, name: str) -> ChannelAccount:
    """Return a tenant's account.

    Raises:
        NotFound: the tenant has none of that name.
    """
    found = find(db, channel, name)
    if found is None or found.tenant_id != tenant_id:
        raise NotFound(
            f"the tenant has no account {name!r} on {channel}; `turnloom channel list` shows those there are"
        )
    return found


def listed(db: Session, tenant_id: UUID | None) -> list[ChannelAccount]:
    """Return the accounts of a tenant, or of all, by channel and name."""
    query = _query().order_by(ChannelAccountRow.channel, ChannelAccountRow.name)
    if tenant_id is not None:
        query = query.where(ChannelAccountRow.tenant_id == tenant_id)
    return [_read(*row) for row in db.execute(query)]


def remove(db: Session, tenant_id: UUID, channel: str, name: str) -> None:
    """Delete an account and its secrets. Replies that are still to be sent on it fail.

    Raises:
        NotFound: the tenant has none of that name.
    """
    account = get(db, tenant_id, channel, name)
    row = db.scalars(
        select(ChannelAccountRow).where(
            ChannelAccountRow.tenant_id == tenant_id,
            ChannelAccountRow.channel == account.channel,
            ChannelAccountRow.name == account.name,
        )
    ).one()
    db.delete(row)
    db.flush()
    tenant_audit.append(db, tenant_id, "channel.removed", {"channel": channel, "account": name})


def _query() -> Any:
    return select(ChannelAccountRow, TenantRow.name).join(TenantRow, TenantRow.id == ChannelAccountRow.tenant_id)


def _read(row: ChannelAccountRow, tenant: str) -> ChannelAccount:
    return ChannelAccount(row.tenant_id, tenant, row.channel, row.name, row.agent, row.secret, row.updated_at)
