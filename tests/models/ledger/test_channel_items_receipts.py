"""Receipts are joined to the parts of replies that they are about, whenever they come."""

from typing import Any

import pytest

from tests.models.ledger.channel_turns import answered, claim, next_part, receipt, record, sent, statuses

pytestmark = pytest.mark.usefixtures("database")


@pytest.mark.parametrize("order", [("sent", "receipt"), ("receipt", "sent")])
def test_receipts_join_the_delivery(order: tuple[str, str]) -> None:
    """A receipt may come before our record of the send."""
    turn = answered(1)
    attempt = claim(turn)
    for each in order:
        if each == "sent":
            record(turn, attempt, status="sent", provider_id="m1")
        else:
            receipt("m1", "delivered")

    assert statuses(turn) == ["delivered"]


def test_receipts_come_in_any_order_and_twice() -> None:
    """A later status is not taken back by an earlier one."""
    turn = answered(1)
    sent(turn)
    for status in ("read", "delivered", "sent", "read"):
        receipt("m1", status)

    assert statuses(turn) == ["read"]


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_receipt_tells_what_became_of_an_unknown_send(is_recorded: bool) -> None:
    """If the provider hands the delivery's key back. A worker that comes late then records nothing."""
    turn = answered(1)
    attempt = claim(turn)
    if is_recorded:
        record(turn, attempt, status="unknown")

    receipt("m9", "sent", key=f"{turn.hex}-1")

    assert statuses(turn) == ["sent"]
    assert record(turn, attempt, status="sent", provider_id="m9") is None
    receipt("m9", "read")
    assert statuses(turn) == ["read"]


def test_a_receipt_of_failure_ends_the_rest() -> None:
    """What was taken and then not delivered was not seen."""
    turn = answered(1, "a", "b")
    sent(turn)
    receipt("m1", "failed", detail={"error": {"code": "131026", "message": "undeliverable"}})

    assert statuses(turn) == ["failed", "withheld"]


def test_a_receipt_may_ask_for_another_attempt() -> None:
    """The part is pending again, and goes out before the next one."""
    turn = answered(1, "a", "b")
    sent(turn)

    assert receipt("m1", "failed", {"wait_ms": 0}) == turn
    assert next_part(turn) == (turn, 1)
    sent(turn, provider_id="m2")
    assert statuses(turn) == ["sent", "pending"]


@pytest.mark.parametrize(
    ("again", "expected"),
    [(None, ["failed"]), ({"body": {"template": "hello"}}, ["withheld", "pending"]), ({"wait_ms": 0}, ["pending"])],
)
def test_a_receipt_of_failure_may_come_before_the_record(again: dict[str, Any] | None, expected: list[str]) -> None:
    """What it asks for is done all the same."""
    turn = answered(1)
    attempt = claim(turn)
    assert receipt("m1", "failed", again) is None

    record(turn, attempt, status="sent", provider_id="m1")
    assert statuses(turn) == expected


def test_a_receipt_of_failure_takes_the_claim_from_the_sender() -> None:
    """It has our key, so the part is known before the record; what the sender says then is old."""
    turn = answered(1)
    attempt = claim(turn)
    assert receipt("m1", "failed", {"wait_ms": 0}, key=f"{turn.hex}-1") == turn

    assert record(turn, attempt, status="sent", provider_id="m1") is None
    assert statuses(turn) == ["pending"]
    sent(turn, provider_id="m2")
    assert statuses(turn) == ["sent"]
