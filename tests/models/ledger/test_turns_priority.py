"""Batch turns have a window of their own, and give way in it while the interactive ones fill theirs."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from tests.factories import make_tenant, open_turn, released, work
from tests.models.ledger.stopping import view
from tests.models.ledger.test_explanation import why
from turnloom.models.runtime.settings import settings

WINDOW, BATCH_WINDOW = 3, 2


@pytest.fixture(autouse=True)
def windows(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Allow three interactive turns of a tenant at a time, and two batch turns."""
    monkeypatch.setenv("TURNLOOM_TENANT_WINDOW", str(WINDOW))
    monkeypatch.setenv("TURNLOOM_BATCH_WINDOW", str(BATCH_WINDOW))
    settings.cache_clear()
    yield
    settings.cache_clear()


def post(tenant: UUID, priority: str, count: int, user: str | None = None) -> list[UUID]:
    """Open turns of a class in separate new conversations."""
    person = {"user": {"id": user}} if user else {}
    names = [f"{priority}-{user}-{number}" for number in range(count)]
    opened = [open_turn(tenant, conversation_id=name, priority=priority, **person) for name in names]
    return [turn.turn_id for turn in opened if turn.turn_id]


def sent(turn_ids: list[UUID]) -> list[bool]:
    return [view(turn_id).sent_at is not None for turn_id in turn_ids]


def test_a_batch_leaves_the_window_to_others() -> None:
    """However many batch turns wait, interactive ones find all of their places free."""
    tenant = make_tenant()

    batch, interactive = post(tenant, "batch", 4), post(tenant, "interactive", WINDOW)

    assert sent(batch) == [True, True, False, False]
    assert sent(interactive) == [True] * WINDOW


def test_a_batch_keeps_one_place_while_the_others_fill_their_window() -> None:
    """It yields all of its places but one, so that it goes on however long the others keep the window full."""
    tenant = make_tenant()
    interactive = post(tenant, "interactive", WINDOW + 1)
    batch = post(tenant, "batch", 3)
    first = sent(batch)

    after_first = work(batch[0])
    after_another = work(interactive[0])
    after_all = [turn_id for ended in (*interactive[1:], *after_first) for turn_id in work(ended)]

    assert first == [True, False, False]
    assert after_first == [batch[1]]
    assert after_another == [interactive[-1]]
    assert after_all == [batch[2]]


def test_a_user_with_a_batch_has_interactive_places_too() -> None:
    """A user's batch turns do not take the places that the user's other turns may have."""
    tenant = make_tenant()
    post(tenant, "batch", 6, "u1")

    assert sent(post(tenant, "interactive", WINDOW, "u1")) == [True] * WINDOW


def test_users_share_the_places_of_a_batch() -> None:
    """A user's small batch does not wait for the end of another's large one."""
    tenant = make_tenant()
    large, small = post(tenant, "batch", 20, "large"), post(tenant, "batch", 1, "small")

    ended: list[UUID] = []
    ready = large[:BATCH_WINDOW]
    while small[0] not in ready:
        ended.append(ready.pop(0))
        ready += work(ended[-1])

    assert len(ended) <= settings().user_window


def test_a_batch_turn_that_an_interactive_one_waits_behind_is_interactive() -> None:
    """Otherwise somebody who waits for a reply would wait for the batch."""
    tenant = make_tenant()
    *_, held = post(tenant, "batch", BATCH_WINDOW + 1)

    open_turn(tenant, conversation_id="batch-None-2", on_busy="enqueue")

    assert view(held).priority == "interactive"
    assert released() == [held]


def test_a_turn_with_an_interactive_message_is_interactive() -> None:
    """A batch message that joins an interactive turn does not make it wait, nor the other way round."""
    tenant = make_tenant()
    *_, batch = post(tenant, "batch", BATCH_WINDOW + 1)
    *_, interactive = post(tenant, "interactive", WINDOW + 1)

    open_turn(tenant, "more", conversation_id="batch-None-2", on_busy="merge")
    open_turn(tenant, "more", conversation_id="interactive-None-3", on_busy="merge", priority="batch")

    assert view(batch).priority == view(interactive).priority == "interactive"
    assert (view(batch).message, view(interactive).message) == ("hello\nmore",) * 2
    assert work(post(make_tenant("other"), "batch", 1)[0]) == []
    released()
    assert not any(sent([batch, interactive]))


def test_a_waiting_batch_turn_is_explained() -> None:
    """The cause counts batch turns, of the window that they have."""
    found = why(post(make_tenant(), "batch", BATCH_WINDOW + 1)[-1])

    assert found.cause == "tenant_busy"
    assert "2 batch turns of the tenant are in work, of 2" in found.message
