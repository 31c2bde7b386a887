"""Open the accounts of channels: adapters with decrypted configuration. What was opened is trusted for a while."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from turnloom.models.connections.database import transaction
from turnloom.models.errors import Invalid
from turnloom.models.ledger import channel_accounts
from turnloom.models.ledger.channel_accounts import ChannelAccount
from turnloom.models.runtime.ttl_cache import TtlCache
from turnloom.models.runtime.value_faults import faults_of
from turnloom.workers.channels import adapter
from turnloom.workers.channels.protocol import CHANNELS, AccountConfig, Adapter, ProviderAccount

_FRESH_S, _KEPT_S = 4.0, 5.0
_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class OpenAccount:
    """An account that can be used: its adapter and its configuration."""

    tenant_id: UUID
    adapter: Adapter
    account: ProviderAccount

    @property
    def key(self) -> str:
        """Channel and account, as turns and deliveries have them."""
        return f"{self.account.channel}:{self.account.id}"


def is_account_name(text: str) -> bool:
    """Return whether an account can have this name: 1 to 48 letters, digits, `_`, `.` or `-`."""
    return text.isascii() and 0 < len(text) <= 48 and all(each.isalnum() or each in "_.-" for each in text)


def open_account(stored: ChannelAccount) -> OpenAccount:
    """Return a stored account with its adapter.

    Raises:
        ToolFailed: CONNECTION_INACTIVE, without the key that encrypted its configuration.
        Invalid: the configuration is not one of this version's.
    """
    its = adapter(stored.channel)
    config = read_config(its, stored.config)
    account = ProviderAccount(its.name, stored.name, str(stored.tenant_id), stored.agent, config)
    return OpenAccount(stored.tenant_id, its, account)


def read_config(its: Adapter, given: Mapping[str, Any]) -> AccountConfig:
    """Read an account's configuration. Errors name the faulty field but not its value, which may be a secret.

    Raises:
        Invalid: a field is missing, unknown or wrong.
    """
    try:
        return its.config.model_validate(given)
    except ValidationError as error:
        raise Invalid(faults_of(error)) from None


class OpenAccounts:
    """The accounts of a process. A change of an account holds for everybody after five seconds."""

    def __init__(self) -> None:
        self._known: TtlCache[tuple[str, str], OpenAccount] = TtlCache(
            _look, fresh_s=_FRESH_S, kept_s=_KEPT_S, at_most=_REMEMBERED
        )

    def find(self, channel: str, name: str) -> OpenAccount | None:
        """Return an account; None if there is none. Raises what `open_account` raises."""
        return self._known.get((channel, name)) if channel in CHANNELS else None


def _look(key: tuple[str, str], _: OpenAccount | None) -> OpenAccount | None:
    with transaction() as db:
        stored = channel_accounts.find(db, *key)
    return None if stored is None else open_account(stored)
