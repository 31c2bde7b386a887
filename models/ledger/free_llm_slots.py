"""A claim is given the language-model slots that this process has free."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True)
class Crowded:
    """A turn that waits for the language model, because all slots that its tenant may have are taken."""

    tenant_id: UUID


@dataclass(frozen=True)
class LlmRoom:
    """The slots that are free for turns whose plan the language model drafts."""

    may_draft: bool = True
    """Whether any slot is free."""
    crowded: tuple[UUID, ...] = ()
    """Tenants that use all their slots."""


EMPTY = LlmRoom()
"""All slots are free."""
