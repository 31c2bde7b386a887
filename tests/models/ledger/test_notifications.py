"""Notifications are delivered, listed, settled once, and erased with the conversation that they come from."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import update

from tests.factories import make_tenant, open_turn, work
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.users import NotificationStatus
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger import conversations, notifications
from turnloom.models.ledger.notifications import Notice, Notification
from turnloom.models.runtime.ids import first_id, new_id
from turnloom.models.tables.notifications import NotificationRow

pytestmark = pytest.mark.usefixtures("database")


def tell(tenant_id: UUID, title: str, user_id: str = "noa", conversation_id: str | None = None) -> UUID:
    notice = Notice(user_id=user_id, kind="k", title=title, body="b", about={"n": 1}, conversation_id=conversation_id)
    with transaction() as db:
        return notifications.notify(db, tenant_id, notice)


def titles(tenant_id: UUID, status: NotificationStatus | None = "open", limit: int = 10) -> list[str]:
    with transaction() as db:
        return [each.title for each in notifications.listed(db, tenant_id, "noa", status, limit)]


def settle(tenant_id: UUID, notification_id: UUID, resolution: str = "done", user_id: str = "noa") -> Notification:
    with transaction() as db:
        return notifications.resolve(
            db, tenant_id, user_id, notification_id, resolution=resolution, conversation_id="c1"
        )


def test_the_oldest_comes_first_and_only_ones_own() -> None:
    """New items come last, so that the second one stays the second. Other users' items are not shown."""
    tenant = make_tenant()
    tell(tenant, "theirs", "omer")
    tell(make_tenant("other"), "elsewhere")
    for title in ("one", "two", "three"):
        tell(tenant, title)
    with transaction() as db:
        count = notifications.count(db, tenant, "noa", "open")

    assert (titles(tenant), titles(tenant, limit=2), count) == (["one", "two", "three"], ["one", "two"], 3)


def test_a_clock_that_goes_wrong_moves_nothing() -> None:
    """Ids of a process whose clock is ahead sort later, but what was recorded first comes first."""
    tenant = make_tenant()
    first = tell(tenant, "one")
    ahead = first_id(datetime.now(UTC) + timedelta(minutes=1))
    with transaction() as db:
        db.execute(update(NotificationRow).where(NotificationRow.id == first).values(id=ahead))

    tell(tenant, "two")

    assert titles(tenant) == ["one", "two"]


def test_settling_is_once_and_for_all() -> None:
    """The same outcome again changes nothing. Another outcome is a conflict."""
    tenant = make_tenant()
    told = tell(tenant, "one")

    first, again = settle(tenant, told, "paid"), settle(tenant, told, "paid")

    assert (first.status, first.resolution, first) == ("resolved", "paid", again)
    with pytest.raises(Conflict, match="paid"):
        settle(tenant, told, "refused")
    assert (titles(tenant), titles(tenant, "resolved"), titles(tenant, None)) == ([], ["one"], ["one"])


def test_nobody_settles_what_is_not_theirs() -> None:
    """Another user's, another tenant's and an invented id are all not found."""
    tenant, other = make_tenant(), make_tenant("other")
    told = tell(tenant, "one")

    for where, user_id, notification_id in ((tenant, "omer", told), (other, "noa", told), (tenant, "noa", new_id())):
        with pytest.raises(NotFound):
            settle(where, notification_id, user_id=user_id)
    assert titles(tenant) == ["one"]


def test_erasing_a_conversation_erases_its_notifications_and_resolutions() -> None:
    """Its notifications go, and its words that settled others. Those of other conversations stay."""
    tenant = make_tenant()
    work(open_turn(tenant, conversation_id="c1").turn_id)
    tell(tenant, "from it", conversation_id="c1")
    tell(tenant, "from another", conversation_id="c2")
    settle(tenant, tell(tenant, "settled in it"), "secret words")

    with transaction() as db:
        conversations.erase(db, tenant, "c1")
        left = notifications.listed(db, tenant, "noa", None, 10)

    assert [(each.title, each.resolution) for each in left] == [("from another", None), ("settled in it", None)]
