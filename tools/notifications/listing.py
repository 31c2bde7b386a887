"""`notifications.list`: what a user was told beside the replies to their messages."""

from typing import Self
from uuid import UUID

from pydantic import Field

from models.contracts.artifact import Table, TableArtifact
from models.contracts.base import Contract, Moment
from models.contracts.directory import NotificationStatus
from models.database import transaction
from models.ledger import notifications
from models.ledger.notifications import Notification
from tools.context import ToolContext
from tools.registry import tool

REMEMBERED_S = 3_600


class NotificationQuery(Contract):
    """A selection of notifications."""

    status: NotificationStatus | None = "open"
    """`open` for what is still to be settled, `resolved` for what was; null for both."""
    limit: int = Field(20, ge=1, le=100)
    """How many, at most."""


class ListedNotification(Contract):
    """Something that the user was told."""

    id: UUID
    """For notifications.resolve."""
    kind: str
    """What it is of, such as meeting.confirmed."""
    title: str
    body: str
    status: NotificationStatus
    resolution: str | None
    """How it was settled."""
    created_at: Moment

    @classmethod
    def of(cls, found: Notification) -> Self:
        """Return it as tools show it."""
        return cls(**{name: getattr(found, name) for name in cls.model_fields})


class Notifications(Contract):
    """The user's notifications. New ones never change the order of the older ones: the second remains the second."""

    notifications: list[ListedNotification]
    """The oldest first."""
    more: int
    """How many there are beside these."""


def list_for(user_id: str, query: NotificationQuery, context: ToolContext) -> Notifications:
    """Return what a user was told."""
    with transaction() as db:
        found = notifications.listed(db, context.tenant_id, user_id, query.status, query.limit)
        more = notifications.count(db, context.tenant_id, user_id, query.status) - len(found)
    return Notifications(notifications=[ListedNotification.of(each) for each in found], more=max(more, 0))


def table(found: Notifications, title: str = "Notifications") -> TableArtifact | None:
    """Show notifications as a table, numbered as people refer to them."""
    if not found.notifications:
        return None
    rows: list[list[str | int | float | bool | None]] = [
        [number, each.title, each.body, f"{each.created_at:%Y-%m-%d}", each.resolution or each.status]
        for number, each in enumerate(found.notifications, 1)
    ]
    return TableArtifact(title=title, data=Table(columns=["#", "Title", "Text", "Since", "Status"], rows=rows))


@tool(
    "notifications.list",
    effect="read",
    scopes=frozenset({"notifications.read"}),
    per_user="60/minute",
    # Remembered, so that "the second one" means what the user has seen; and made anew, because others add to it.
    remember_s=REMEMBERED_S,
    always_made=True,
    artifact=table,
)
def list_notifications(query: NotificationQuery, context: ToolContext) -> Notifications:
    """List what the user was told beside replies, such as confirmed meetings: what is open, or settled, or both."""
    return list_for(context.user["id"], query, context)
