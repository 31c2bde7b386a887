"""Settling a notification survives failures on the way. The tools declare what they do."""

from collections.abc import Callable
from uuid import UUID

import pytest

from tests.tools.conftest import TENANT
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import notifications
from turnloom.models.ledger.notifications import Notice
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import load_registry
from turnloom.tools.runner import reconcile, run

RESOLVE = load_registry(["notifications"]).get("notifications.resolve")


@pytest.fixture
def told(database: str) -> UUID:
    notice = Notice(user_id="noa", kind="k", title="t", body="b", about={}, conversation_id=None)
    with transaction() as db:
        return notifications.notify(db, TENANT, notice)


@pytest.fixture
def noa(make_context: Callable[..., ToolContext]) -> ToolContext:
    return make_context(user={"id": "noa"})


def settled_as(told: UUID, resolution: str) -> dict[str, str]:
    return {"notification_id": str(told), "resolution": resolution}


def test_a_lost_call_that_took_effect_is_found(told: UUID, noa: ToolContext) -> None:
    """The process was killed between commit and record. The notification is settled, so the call has its result."""
    made = run(RESOLVE, settled_as(told, "paid"), noa)

    assert reconcile(RESOLVE, settled_as(told, "paid"), noa) == made
    assert made.ok


def test_a_lost_call_that_took_no_effect_is_made_again(told: UUID, noa: ToolContext) -> None:
    """The notification is open, missing, or settled in another way, which the second call reports."""
    before = reconcile(RESOLVE, settled_as(told, "paid"), noa)
    nowhere = reconcile(RESOLVE, settled_as(UUID(int=1), "paid"), noa)
    run(RESOLVE, settled_as(told, "refused"), noa)
    other = reconcile(RESOLVE, settled_as(told, "paid"), noa)

    assert (before, nowhere, other) == (None, None, None)


def test_each_tool_wants_its_scope() -> None:
    """Reading and writing are granted separately."""
    declared = {tool.name: tool.scopes for tool in load_registry(["notifications"]).tools.values()}

    assert declared == {
        "notifications.list": {"notifications.read"},
        "notifications.resolve": {"notifications.write"},
    }
