"""`notifications.list`: list the messages that a user got besides the replies."""

from typing import Self
from uuid import UUID

from pydantic import Field

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.artifact import Table, TableArtifact
from turnloom.models.contracts.base import Contract, Moment
from turnloom.models.contracts.users import NotificationStatus
from turnloom.models.ledger import notifications
from turnloom.models.ledger.notifications import Notification
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import tool

REMEMBERED_S = 3_600


class NotificationQuery(Contract):
    """A selection of notifications."""

    status: NotificationStatus | None = "open"
    """`open`: still to be settled; `resolved`: settled; null: both."""
    limit: int = Field(20, ge=1, le=100)
    """Most notifications to return."""


class ListedNotification(Contract):
    """A notification of the user."""

    id: UUID
    """Id of the notification. notifications.resolve takes it."""
    kind: str
    """Kind of the notification, such as meeting.confirmed."""
    title: str
    body: str
    status: NotificationStatus
    resolution: str | None
    """How it was settled; null while it is open."""
    created_at: Moment

    @classmethod
    def of(cls, found: Notification) -> Self:
        """Return a notification as tools show it."""
        return cls(**{name: getattr(found, name) for name in cls.model_fields})


class Notifications(Contract):
    """The user's notifications. New ones never change the order of older ones, so the second one stays the second."""

    notifications: list[ListedNotification]
    """The notifications, the oldest first."""
    more: int
    """How many further notifications there are."""


def list_for(user_id: str, query: NotificationQuery, context: ToolContext) -> Notifications:
    """Return a user's notifications."""
    with transaction() as db:
        found = notifications.listed(db, context.tenant_id, user_id, query.status, query.limit)
        more = notifications.count(db, context.tenant_id, user_id, query.status) - len(found)
    return Notifications(notifications=[ListedNotification.of(each) for each in found], more=max(more, 0))


def table(found: Notifications, title: str = "Notifications") -> TableArtifact | None:
    """Make a table of notifications, numbered from 1 as people refer to them. None if there are none."""
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
    # The result is remembered, so that "the second one" means the one that the user has seen. The call is always made,
    # because others add notifications.
    remember_s=REMEMBERED_S,
    always_made=True,
    artifact=table,
)
def list_notifications(query: NotificationQuery, context: ToolContext) -> Notifications:
    """List the user's notifications, such as confirmed meetings: those that are open, settled, or both."""
    return list_for(context.user["id"], query, context)
