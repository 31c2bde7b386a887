"""Replies of channels' turns are sent in order, at the provider's pace, and never blindly twice."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from redis import Redis
from sqlalchemy import text

from tests.factories import make_tenant, queue_length
from tests.models.ledger.channel_turns import answer, answered, claim, receive, statuses
from tests.workers.channels.provider import Adapter, Provider, providing, put_account
from turnloom.models.connections.database import transaction
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import channel_accounts
from turnloom.models.runtime import secrets
from turnloom.models.runtime.settings import settings
from turnloom.workers import delivery
from turnloom.workers.channels import send_attempt
from turnloom.workers.channels.protocol import TryLater


@pytest.fixture
def provider(database: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with providing(monkeypatch) as provider:
        put_account(make_tenant(), provider)
        yield provider
    delivery._accounts.cache_clear()


def reply(number: int = 1, said: str = "a\nb", **fields: str) -> UUID:
    """Return a turn whose reply is still to be rendered, a part for each line."""
    opened = receive(number, **fields)
    answer(opened.turn_id, said)
    assert opened.turn_id is not None
    return opened.turn_id


def deliver(turn_id: UUID) -> list[str]:
    """Run the task of a turn; return the statuses of its parts."""
    delivery.deliver(str(turn_id))
    return statuses(turn_id)


def later() -> None:
    """Let the pauses of all parts be over."""
    with transaction() as db:
        db.execute(text("UPDATE deliveries SET not_before = NULL, due_at = clock_timestamp() WHERE status = 'pending'"))


def error(turn_id: UUID, part: int = 1) -> str | None:
    with transaction() as db:
        query = text("SELECT error ->> 'code' FROM deliveries WHERE turn_id = :turn AND part = :part")
        return db.scalar(query, {"turn": turn_id, "part": part})


def test_a_reply_is_sent_part_by_part(provider: Provider) -> None:
    """In order, each once, with the provider's ids."""
    turn = reply()

    assert deliver(turn) == ["sent", "sent"]
    assert provider.taken == [("u1", {"text": "a"}), ("u1", {"text": "b"})]
    assert deliver(turn) == ["sent", "sent"]
    assert len(provider.taken) == 2


def test_a_task_sends_what_is_next_for_the_recipient(provider: Provider) -> None:
    """Also if it is the reply of an earlier turn."""
    first, second = reply(1, "a"), reply(2, "b")

    deliver(second)

    assert provider.texts == ["a", "b"]
    assert statuses(first) == ["sent"]


def test_a_part_that_the_provider_does_not_take_yet_waits(provider: Provider) -> None:
    """For the pause that the provider asks for; those after it wait, too, and go out in order."""
    provider.script.append((429, {"after_s": 60}))
    turn = reply()

    assert deliver(turn) == ["pending", "pending"]
    assert error(turn) == "429"
    assert deliver(turn) == ["pending", "pending"]
    with Redis.from_url(settings().redis_url) as redis:
        redis.flushdb()  # the pause of the recipient's bucket
    later()
    assert deliver(turn) == ["sent", "sent"]
    assert provider.texts == ["a", "b"]


def test_a_provider_that_is_down_gets_the_part_later(provider: Provider) -> None:
    """Nothing was sent, so nobody has to ask."""
    put_account(make_tenant(), provider, api_base="http://127.0.0.1:9")
    turn = reply(said="a")

    assert deliver(turn) == ["pending"]
    assert error(turn) == "unreachable"


def test_a_refused_part_is_a_dead_letter(provider: Provider) -> None:
    """The rest of the reply is withheld, and the next reply goes out."""
    provider.script.append(403)
    turn, after = reply(1), reply(2, "c")

    assert deliver(turn) == ["failed", "withheld"]
    assert statuses(after) == ["sent"]
    assert provider.texts == ["c"]


@pytest.mark.parametrize(("status", "taken"), [(0, ["a"]), (500, ["a"])])
def test_an_unknown_outcome_is_asked_back(provider: Provider, status: int, taken: list[str]) -> None:
    """What the provider took is not sent again, and what it did not take is."""
    provider.script.append(status)
    turn = reply(said="a")

    assert deliver(turn) == ["pending"]
    assert error(turn) == "outcome_unknown"
    later()
    assert deliver(turn) == ["sent"]
    assert provider.texts == taken


def test_where_nobody_can_be_asked_the_outcome_is_unknown(provider: Provider) -> None:
    """It is not sent again; the next part goes out."""
    put_account(make_tenant(), provider, can_ask=False)
    provider.script.append(0)
    turn = reply()

    assert deliver(turn) == ["unknown", "sent"]
    assert provider.texts == ["a", "b"]


@pytest.mark.parametrize(("can_ask", "expected"), [(True, ["sent"]), (False, ["unknown"])])
def test_a_worker_that_was_lost_over_a_send(provider: Provider, can_ask: bool, expected: list[str]) -> None:
    """The next one asks first. If nobody can be asked, nothing is sent twice."""
    put_account(make_tenant(), provider, can_ask=can_ask)
    turn = answered(1, "a")
    assert claim(turn, lease_ms=0) == 1

    assert deliver(turn) == expected
    assert provider.texts == (["a"] if can_ask else [])


@pytest.mark.parametrize(
    ("template", "expected", "texts"),
    [(None, ["failed", "withheld"], []), ("call_us", ["withheld", "withheld", "sent"], ["call_us"])],
)
@pytest.mark.parametrize("is_known", [True, False])
def test_a_closed_window(
    provider: Provider, is_known: bool, template: str | None, expected: list[str], texts: list[str]
) -> None:
    """It is seen at the send, or the provider says so; the account's template is the way out."""
    put_account(make_tenant(), provider, template=template)
    turn = reply()
    if is_known:
        with transaction() as db:
            db.execute(text("UPDATE channel_items SET at = at - interval '25 hours'"))
    else:
        provider.script.append(470)

    assert deliver(turn) == expected
    assert provider.texts == texts


def test_a_template_in_a_closed_window_is_tried_once(provider: Provider) -> None:
    """If the provider refuses that, too, nothing more is tried."""
    put_account(make_tenant(), provider, template="call_us")
    provider.script.extend([470, 470])

    assert deliver(reply(said="a")) == ["withheld", "failed"]


def test_the_pace_of_an_account(provider: Provider) -> None:
    """A part that has to wait is left for later, and takes no slot."""
    put_account(make_tenant(), provider, pace=0.001)
    turn = reply(said="a\nb\nc")

    assert deliver(turn) == ["sent", "pending", "pending"]
    later()
    assert deliver(turn) == ["sent", "pending", "pending"]


def test_without_redis_nothing_is_held_back(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider then says when it was too much."""

    def out(*_: object) -> int:
        raise Unavailable("Redis does not answer")

    monkeypatch.setattr("turnloom.workers.channels.pace.run_script", out)

    assert deliver(reply()) == ["sent", "sent"]


def test_what_nobody_sent_is_dispatched(provider: Provider) -> None:
    """Such as after the broker has lost the message."""
    turn = reply(said="a")
    later()

    delivery.release()

    assert queue_length("deliver") == 1
    assert deliver(turn) == ["sent"]


def test_an_account_that_is_gone(provider: Provider) -> None:
    """Its replies fail, and an operator finds them."""
    turn, tenant_id = reply(said="a"), make_tenant()
    with transaction() as db:
        channel_accounts.remove(db, tenant_id, "telegram", "front-desk")

    assert deliver(turn) == ["failed"]
    assert error(turn) == "account_missing"


def test_an_account_that_cannot_be_read(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its replies wait until an operator has restored the key."""
    turn = reply(said="a")
    with monkeypatch.context() as patch:
        patch.setattr(settings(), "secret_keys", [secrets.new_key()])
        assert deliver(turn) == ["pending"]
    assert error(turn) == "account_unusable"
    later()
    assert deliver(turn) == ["sent"]


def test_an_adapter_that_breaks(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """The part is not sent for ever, and the worker goes on."""
    monkeypatch.setattr(Adapter, "outcome", lambda *_: 1 / 0)
    turn = reply(said="a")

    assert deliver(turn) == ["unknown"]
    assert provider.texts == ["a"]


def test_pauses_grow_and_end() -> None:
    """A part is given up after a day."""
    asked = [
        [send_attempt.pause_ms(TryLater(scope, "500"), failures) for failures in (0, 1, 2, 20)]
        for scope in ("recipient", "number")
    ]

    assert asked == [[1_000, 2_000, 4_000, 300_000], [250, 500, 1_000, 300_000]]
    assert send_attempt.pause_ms(TryLater("number", "429", 7), 5) == 7_000


def test_a_part_that_is_too_old_fails(provider: Provider) -> None:
    """Nobody waits for it any more."""
    provider.script.append(429)
    turn = reply(said="a")
    with transaction() as db:
        db.execute(text("UPDATE deliveries SET queued_at = queued_at - interval '25 hours'"))

    assert deliver(turn) == ["failed"]
