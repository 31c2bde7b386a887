"""A user's turns wait behind the user's own, so that no other user of the tenant waits behind all of them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn, record_plan, released, work, work_all
from tests.models.ledger.parking import APPROVED, ask
from tests.models.ledger.stopping import claim, close, end, view
from tests.models.ledger.test_explanation import why
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import limits
from turnloom.models.runtime.settings import settings

WINDOW, USER_WINDOW = 4, 2


@pytest.fixture(autouse=True)
def windows(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Allow four turns of a tenant at a time, and two of a user."""
    monkeypatch.setenv("TURNLOOM_TENANT_WINDOW", str(WINDOW))
    monkeypatch.setenv("TURNLOOM_USER_WINDOW", str(USER_WINDOW))
    monkeypatch.setenv("TURNLOOM_DATABASE_POOL_SIZE", "20")
    settings.cache_clear()
    yield monkeypatch
    settings.cache_clear()


def post(
    tenant: UUID, user: str | None, count: int, *, at: str = "", held: Mapping[str, int] | None = None
) -> list[UUID]:
    """Open turns of a user in separate new conversations."""
    person = {"user": {"id": user}} if user else {}
    names = [f"{user}-{at}-{number}" for number in range(count)]
    opened = [open_turn(tenant, conversation_id=name, held=held, **person) for name in names]
    return [turn.turn_id for turn in opened if turn.turn_id]


def sent(turn_ids: list[UUID]) -> list[bool]:
    return [view(turn_id).sent_at is not None for turn_id in turn_ids]


def test_a_user_over_the_window_waits_and_nobody_else_does() -> None:
    """The tenant has room for four. One user gets two of these places however much the user posts."""
    tenant = make_tenant()

    many, one = post(tenant, "many", 6), post(tenant, "one", 1)

    assert sent(many) == [True, True, False, False, False, False]
    assert sent(one) == [True]
    assert released() == []


def test_the_end_of_a_users_turn_lets_the_next_one_go() -> None:
    """In the same commit, the one that is due longest takes the place."""
    first, _, third, fourth = post(make_tenant(), "many", 4)

    assert work(first) == [third]
    assert work(third) == [fourth]


def test_users_take_turns_while_the_tenants_window_is_full() -> None:
    """Whoever has much to do stands in the line with two turns at most, and goes to its end for each further one."""
    tenant = make_tenant()
    a, b = post(tenant, "a", 6), post(tenant, "b", 6)
    late = post(tenant, "c", 1)

    order = [turn_id for first in (a[0], b[0], a[1]) for turn_id in work(first)]

    assert sent(a[:2] + b[:2]) == [True] * WINDOW
    assert order == [*late, a[2], b[2]]


def test_a_turn_without_a_user_belongs_to_its_conversation() -> None:
    """Nobody knows that these are of one person, so none waits behind the others."""
    assert sent(post(make_tenant(), None, WINDOW)) == [True] * WINDOW


def test_a_user_named_once_is_known_to_the_conversation() -> None:
    """Later messages of it need not name the user again."""
    tenant = make_tenant()
    first, *_ = post(tenant, "many", 2)
    follower = open_turn(tenant, conversation_id="many--0", on_busy="enqueue").turn_id
    third = post(tenant, "many", 1, at="later")

    assert work(first) == third
    assert view(follower).sent_at is None
    assert work(third[0]) == [follower]


def test_another_tenants_user_of_the_same_id_is_another() -> None:
    """Ids are the tenants' own."""
    ours, theirs = (post(make_tenant(name), "u1", 2) for name in ("ours", "theirs"))

    assert sent(ours + theirs) == [True] * 4


def test_a_turn_behind_its_user_is_explained() -> None:
    """The cause says how many of the user's turns are in work."""
    held = post(make_tenant(), "many", 3)[-1]

    found = why(held)

    assert (found.cause, found.since) == ("user_busy", view(held).created_at)
    assert "2 turns of the user are in work, of 2" in found.message


def test_a_users_turn_that_waits_for_a_person_makes_room() -> None:
    """Nobody works on it, so the next look hands out another one."""
    asking, _, held = post(make_tenant(), "many", 3)
    turn = claim_turn(asking)
    assert turn is not None
    record_plan(turn, APPROVED)
    claim(asking, "w")
    ask(asking)

    assert released() == [held]


def test_a_raised_limit_counts_for_those_who_wait() -> None:
    """A look finds turns that wait for their user although the user has room now."""
    held = post(make_tenant(), "many", 4)[USER_WINDOW:]
    with transaction() as db:
        limits.change(db, "acme", {"user_window": 3})

    assert released() == held[:1]


def test_turns_that_become_due_by_time_find_their_places() -> None:
    """When their bursts have ended, a user's turns are released as if they had come then."""
    many = post(make_tenant(), "many", 3, held={"burst_ms": 1_000})
    with transaction() as db:
        db.execute(text("UPDATE turns SET due_at = created_at"))

    assert released() == many[:USER_WINDOW]
    assert work(many[0]) == many[USER_WINDOW:]


def test_a_message_that_joins_a_waiting_turn_takes_it_out_of_the_line() -> None:
    """Its burst goes on, so it is not due for a while and nobody waits behind it."""
    tenant = make_tenant()
    _, _, held, behind = post(tenant, "many", 4)

    merged = open_turn(tenant, "more", conversation_id="many--2", held={"burst_ms": 5_000})

    assert merged.outcome == "merged"
    assert work(post(tenant, None, 1)[0]) == []
    assert (view(held).line, view(behind).line is None) == (None, False)


def test_a_cancelled_turn_that_waited_lets_nobody_wait() -> None:
    """It takes none of the user's places, and those who waited behind it are released in order."""
    first, _, third, fourth = post(make_tenant(), "many", 4)
    closed = close(third)
    assert closed is not None
    assert closed.respond is not None
    end(third, closed.respond)

    assert work(first) == [fourth]


def test_a_turn_that_a_release_before_has_opened_finds_its_place() -> None:
    """It has no line yet. The look gives it one."""
    tenant = make_tenant()
    held = post(tenant, "many", 3)[-1]
    with transaction() as db:
        db.execute(text("UPDATE turns SET line = NULL, lined_up_at = NULL"))
        db.execute(text("UPDATE turns SET sent_at = NULL WHERE conversation_id = 'many--0'"))

    assert len(released()) == USER_WINDOW
    assert view(held).line is not None


def test_sixteen_at_once_lose_nothing() -> None:
    """Threads of three users post, end and release at once. All turns end, few too many are in work."""
    tenant, most = make_tenant(), []

    def act(number: int) -> None:
        user = f"u{number % 3}"
        opened = [open_turn(tenant, conversation_id=f"{number}-{each}", user={"id": user}).turn_id for each in range(6)]
        ready = [turn_id for turn_id in opened if view(turn_id).sent_at]
        while ready:
            turn = claim_turn(ready.pop())
            if turn is not None and (finished := finish_turn(turn)):
                ready += finished.released
            with transaction() as db:
                counted = db.execute(
                    text("SELECT person ->> 'id' FROM turns WHERE sent_at IS NOT NULL AND finished_at IS NULL")
                ).scalars()
                most.append(max(Counter(counted).values(), default=0))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(act, range(16)))
    work_all()

    with transaction() as db:
        assert db.execute(text("SELECT status, count(*) FROM turns GROUP BY status")).all() == [("succeeded", 96)]
    assert max(most) <= USER_WINDOW + 16
