"""An account sends as fast as its provider takes its messages."""

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
from redis import Redis

from turnloom.models.runtime.settings import settings
from turnloom.workers.channels import pace
from turnloom.workers.channels.accounts import OpenAccount
from turnloom.workers.channels.protocol import Pace, Rate, TryLater

_LOWERED = "turnloom:pace:whatsapp:main:lowered"


@pytest.fixture
def redis(redis_url: str) -> Redis:
    return Redis.from_url(settings().redis_url, decode_responses=True)


_FAST = Rate(1_000, 1_000)


def _account(per_s: float = 1_000, burst: int = 1_000, recipient: Rate = _FAST) -> OpenAccount:
    adapter = SimpleNamespace(pace=lambda _: Pace(recipient, Rate(per_s, burst)))
    return cast("OpenAccount", SimpleNamespace(adapter=adapter, account=None, key="whatsapp:main"))


def _refuse(account: OpenAccount, recipient: str = "p", **asked: Any) -> None:
    pace.slow_down(account, recipient, TryLater(**{"scope": "number", "code": "130429", **asked}), 5_000)


def _rate(redis: Redis) -> float | None:
    found = redis.hget(_LOWERED, "per_s")
    return None if found is None else float(found)


def _age(redis: Redis, **by_ms: int) -> None:
    """Let times of the lowered rate be so many milliseconds earlier."""
    for name, ms in by_ms.items():
        redis.hincrby(_LOWERED, name, -ms)


def _taken(account: OpenAccount, number: int) -> int:
    """Return how many of so many messages to one person each may be sent now."""
    return sum(pace.wait_ms(account, f"p{each}") == 0 for each in range(number))


def test_a_refusal_lowers_the_rate_of_the_account(redis: Redis) -> None:
    """It does not stop it: what was refused was too much, not everything."""
    account = _account(per_s=1)
    _refuse(account)

    assert _rate(redis) == pytest.approx(0.7)
    assert 1 <= _taken(account, 100) < 50


def test_refusals_of_one_moment_lower_it_once(redis: Redis) -> None:
    """They were under way together. A later one lowers it again, but never to nothing."""
    account = _account()
    for _ in range(20):
        _refuse(account)
    assert _rate(redis) == 700

    for _ in range(50):
        _age(redis, cut_at=1_000)
        _refuse(account)
    assert _rate(redis) == pytest.approx(0.1)


def test_it_grows_while_messages_are_taken(redis: Redis) -> None:
    """By a tenth of the whole rate in a second, and not while none is."""
    account = _account()
    _refuse(account)

    _age(redis, at=500)
    pace.speed_up(account, "p")
    assert 750 <= (_rate(redis) or 0) <= 800
    before = _rate(redis) or 0
    _age(redis, at=60_000)
    pace.speed_up(account, "p")
    assert _rate(redis) == pytest.approx(before + 100)


def test_it_ends_at_the_rate_of_the_account(redis: Redis) -> None:
    """Then nothing is stored, and nothing is lowered."""
    account = _account()
    _refuse(account)
    for _ in range(3):
        _age(redis, at=1_000)
        pace.speed_up(account, "p")

    assert redis.keys("*") == []
    assert _taken(account, 500) == 500


def test_a_pause_that_is_named_is_kept(redis: Redis) -> None:
    """By the whole account, if it is its own; then it sends one message, and more at its rate."""
    account = _account()
    _refuse(account, after_s=5)

    assert 4_000 < pace.wait_ms(account, "someone") <= 5_000
    for _ in range(9):  # the answers to what was under way: they end no pause
        _age(redis, at=1_000)
        pace.speed_up(account, "p")
    assert pace.wait_ms(account, "someone") > 0


def test_a_refused_message_costs_its_recipient_nothing(redis: Redis) -> None:
    """It was not sent, whatever the reason."""
    account = _account(recipient=Rate(0.001, 1))
    for _ in range(3):
        assert pace.wait_ms(account, "p") == 0
        _refuse(account)

    assert pace.wait_ms(account, "p") == 0
    assert pace.wait_ms(account, "p") > 60_000


def test_a_recipient_s_refusal_concerns_nobody_else(redis: Redis) -> None:
    """The messages to that person wait; the account's rate stays."""
    account = _account()
    _refuse(account, "slow", scope="recipient", code="131056")

    assert 4_000 < pace.wait_ms(account, "slow") <= 5_000
    assert pace.wait_ms(account, "other") == 0
    assert _rate(redis) is None


def test_a_lowered_rate_is_even(redis: Redis) -> None:
    """What was saved up in a pause is at most a quarter of a second's, not the whole burst."""
    account = _account(per_s=2, burst=400)
    assert _taken(account, 100) == 100
    redis.flushdb()
    _refuse(account)

    assert _taken(account, 100) < 50


def test_those_who_wait_come_one_after_another(redis: Redis) -> None:
    """Not all for one token. Nobody waits much longer than five seconds, in case the rate grows."""
    account = _account(per_s=0.5, burst=1)
    waits = [pace.wait_ms(account, f"p{number}") for number in range(12)]

    assert waits[0] == 0
    assert all(0 < wait <= 7_000 for wait in waits[1:])
    assert len({round(wait, -3) for wait in waits[1:]}) >= 4


def test_without_redis_nothing_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing fails."""
    monkeypatch.setattr(settings(), "redis_url", "redis://127.0.0.1:9/0")
    began = time.monotonic()
    account = _account()
    _refuse(account, after_s=5)
    pace.speed_up(account, "p")

    assert pace.wait_ms(account, "p") == 0
    assert time.monotonic() - began < 30
