"""Room for turns that want the language model, as a claim is told of it."""

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
    """Whether there is any."""
    crowded: tuple[UUID, ...] = ()
    """Tenants that have theirs."""


EMPTY = LlmRoom()
"""All slots are free."""
