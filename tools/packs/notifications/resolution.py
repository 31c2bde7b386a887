"""`notifications.resolve`: settle a notification."""

from uuid import UUID

from pydantic import Field

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.artifact import TableArtifact
from turnloom.models.contracts.base import Contract
from turnloom.models.errors import Conflict, NotFound, ToolFailed
from turnloom.models.ledger import notifications
from turnloom.models.ledger.notifications import Notification
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.notifications.inbox import (
    ListedNotification,
    NotificationQuery,
    Notifications,
    list_for,
    table,
)
from turnloom.tools.registry import tool


class Resolve(Contract):
    """The notification to settle, and how it was settled."""

    notification_id: UUID
    """Id of a notification from notifications.list."""
    resolution: str = Field("done", min_length=1, max_length=200)
    """How the user settled it, in a few of the user's words."""


class Resolved(Contract):
    """The settled notification, and those that are still open."""

    notification: ListedNotification
    """The notification that was settled."""
    still_open: Notifications
    """The notifications that are still open, numbered from 1 again."""


def _table(resolved: Resolved) -> TableArtifact | None:
    return table(resolved.still_open, "Still open")


def find_resolved(query: Resolve, context: ToolContext) -> Resolved | None:
    """Return the result of the call if the notification is settled in this way; None otherwise."""
    try:
        with transaction() as db:
            found = notifications.get(db, context.tenant_id, context.user["id"], query.notification_id)
    except NotFound:
        return None
    return _resolved(found, context) if found.resolution == query.resolution else None


@tool(
    "notifications.resolve",
    effect="write",
    scopes=frozenset({"notifications.write"}),
    per_user="60/minute",
    reconcile=find_resolved,
    artifact=_table,
    errors=("NOT_FOUND", "CONFLICT"),
)
def resolve(query: Resolve, context: ToolContext) -> Resolved:
    """Settle one of the user's notifications.

    Raises:
        ToolFailed: NOT_FOUND, the user has no such notification; CONFLICT, it was settled in another way.
    """
    try:
        with transaction() as db:
            found = notifications.resolve(
                db,
                context.tenant_id,
                context.user["id"],
                query.notification_id,
                resolution=query.resolution,
                conversation_id=context.conversation_id,
            )
    except NotFound as error:
        raise ToolFailed(str(error), code="NOT_FOUND") from error
    except Conflict as error:
        raise ToolFailed(str(error), code="CONFLICT") from error
    return _resolved(found, context)


def _resolved(found: Notification, context: ToolContext) -> Resolved:
    left = list_for(context.user["id"], NotificationQuery(), context)
    return Resolved(notification=ListedNotification.of(found), still_open=left)
