"""The contract of the notifications pack, for a user with two open notifications and a settled one."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from tests.tools.conftest import TENANT
from tests.tools.packs.contracts.cases import Contract, Fails, Refused, Valid
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import notifications
from turnloom.models.ledger.notifications import Notice
from turnloom.models.runtime.ids import new_id

NOA = {"user": {"id": "noa"}}


def tell(title: str, user_id: str = "noa") -> UUID:
    notice = Notice(user_id=user_id, kind="k", title=title, body="b", about={}, conversation_id=None)
    with transaction() as db:
        return notifications.notify(db, TENANT, notice)


@contextmanager
def world() -> Iterator[None]:
    tell("theirs", "omer")
    for title in ("one", "two"):
        tell(title)
    with settled():
        yield


@contextmanager
def told() -> Iterator[UUID]:
    yield tell("three")


@contextmanager
def told_somebody_else() -> Iterator[UUID]:
    yield tell("theirs", "omer")


@contextmanager
def settled() -> Iterator[UUID]:
    notification_id = tell("settled")
    with transaction() as db:
        notifications.resolve(db, TENANT, "noa", notification_id, resolution="paid", conversation_id="c1")
    yield notification_id


def settle(notification_id: UUID) -> dict[str, str]:
    return {"notification_id": str(notification_id)}


CONTRACT: Contract = {
    "notifications.list": [
        Valid({}, gives={"notifications": [{"title": "one"}, {"title": "two"}], "more": 0}, context=NOA),
        Valid({"limit": 1}, gives={"notifications": [{"title": "one"}], "more": 1}, context=NOA),
        Valid({"status": "resolved"}, gives={"notifications": [{"resolution": "paid"}], "more": 0}, context=NOA),
        Valid({"status": None}, gives={"notifications": [..., ..., ...]}, context=NOA),
        Valid({}, gives={"notifications": []}, context={"user": {"id": "nobody"}}),
    ],
    "notifications.resolve": [
        Valid(
            settle,
            gives={
                "notification": {"title": "three", "status": "resolved", "resolution": "done"},
                "still_open": {"notifications": [{"title": "one"}, {"title": "two"}]},
            },
            given=told,
            context=NOA,
        ),
        Valid(
            lambda told: {**settle(told), "resolution": "paid"},
            gives={"notification": {"resolution": "paid"}},
            given=settled,
            context=NOA,
        ),
        Refused({"notification_id": "the second one"}, "notification_id"),
        Fails(settle, "NOT_FOUND", given=told_somebody_else, context=NOA),
        Fails({"notification_id": str(new_id())}, "NOT_FOUND", context=NOA),
        Fails(settle, "CONFLICT", "paid", given=settled, context=NOA),
    ],
}
