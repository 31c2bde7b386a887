"""A request to approve a call goes out like a reply, and only while there is something to decide."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from tests.factories import make_tenant
from tests.models.ledger.channel_turns import statuses
from tests.models.ledger.chat_requests import asking, decision, outcome, tap, yes
from tests.models.ledger.parking import change, decide
from tests.workers.channels.provider import Provider, providing, put_account
from turnloom.workers import delivery

REQUEST = ["Approve:", "- value: ***", "Shall I do this?"]
"""The provider of these tests takes a message for each line."""


@pytest.fixture
def provider(database: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with providing(monkeypatch) as provider:
        put_account(make_tenant(), provider)
        yield provider
    delivery._accounts.cache_clear()


def deliver(turn_id: UUID) -> list[str]:
    delivery.deliver(str(turn_id))
    return statuses(turn_id)


def test_a_request_is_sent_once_and_can_be_answered(provider: Provider) -> None:
    """A tap names the part that asked, a word means the last that was shown."""
    first, second = asking(1), asking(2, sender="u2")
    for turn_id in (first, second):
        assert [deliver(turn_id) for _ in range(2)] == [["sent"] * 3] * 2

    assert provider.texts == REQUEST * 2
    assert [outcome(yes(3)), outcome(tap(4, "reject", f"{second.hex}-1", sender="u2"))] == ["decided", "decided"]
    assert [decision(turn_id)[0] for turn_id in (first, second)] == ["approve", "reject"]


def test_a_request_is_in_the_persons_language(provider: Provider) -> None:
    """As far as what they wrote shows it."""
    turn_id = asking(1)
    change("UPDATE turns SET message = 'Bitte schreibe das auf, und nicht zu lang'")

    deliver(turn_id)

    assert provider.texts[-1] == "Soll ich das tun?"


def test_what_is_decided_already_is_not_asked(provider: Provider) -> None:
    """It may have taken long to be sent."""
    turn_id = asking(1)
    decide(turn_id)

    assert deliver(turn_id) == ["withheld"]
    assert provider.texts == []


def test_an_account_may_leave_approvals_to_keys(provider: Provider) -> None:
    """The person is asked nothing, and decides nothing."""
    put_account(make_tenant(), provider, approvers="keys")
    turn_id = asking(1)

    assert deliver(turn_id) == ["withheld"]
    assert provider.texts == []
    assert outcome(tap(2, "approve", f"{turn_id.hex}-1")) == "strange"


def test_an_answer_that_changes_nothing_gets_a_sentence(provider: Provider) -> None:
    """It is sent like a reply."""
    turn_id = asking(1)
    deliver(turn_id)
    decide(turn_id, "reject")

    assert outcome(yes(2)) == "moot"
    assert deliver(turn_id) == ["sent"] * 4
    assert provider.texts[-1] == "This was rejected already, so your answer changed nothing."
