"""What providers post is read: messages, taps, edits, deletions and receipts."""

from typing import Any

import pytest

from tests.workers.channels.accounts import account, parsed, posted
from turnloom.workers.channels import adapter
from turnloom.workers.channels.protocol import (
    Edit,
    Media,
    Message,
    MessageRefused,
    Receipt,
    TryLater,
    Unknown,
    WindowClosed,
)


def _whatsapp(*, number: str = "10001", **value: Any) -> dict[str, Any]:
    people = [{"wa_id": "972501", "profile": {"name": "Dana"}}]
    inside = {"messaging_product": "whatsapp", "metadata": {"phone_number_id": number}, "contacts": people, **value}
    return {
        "object": "whatsapp_business_account",
        "entry": [{"id": "1", "changes": [{"field": "messages", "value": inside}]}],
    }


def _written(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"from": "972501", "id": "wamid.A", "timestamp": "1796000000", "type": kind, kind: content, **more}


_NEW = {"type": "text", "text": {"body": "New"}}
_TOPIC = {"chat": {"id": -100, "type": "supergroup"}, "is_topic_message": True, "message_thread_id": 3}
_KEYBOARD = {"reply_markup": {"inline_keyboard": [[{"text": "Suite", "callback_data": "p1"}]]}}
_CHANGED = {"user": "U1", "text": "New", "ts": "1.5", "edited": {"user": "U1"}}


def _update(**update: Any) -> dict[str, Any]:
    return {"update_id": 501, **update}


def _telegram(**message: Any) -> dict[str, Any]:
    person = {"id": 42, "first_name": "Dana", "last_name": "L", "is_bot": False}
    return {"message_id": 7, "date": 1796000000, "from": person, "chat": {"id": 42, "type": "private"}, **message}


def _slack(**event: Any) -> dict[str, Any]:
    base = {"type": "message", "user": "U1", "channel": "D1", "channel_type": "im", "ts": "1796000000.000200"}
    granted = [{"user_id": "UBOT", "is_bot": True}]
    return {"type": "event_callback", "event_id": "Ev1", "authorizations": granted, "event": {**base, **event}}


def _slack_tap() -> dict[str, Any]:
    action = {"type": "button", "action_ts": "1796000000.5", "value": "p1", "text": {"text": "Suite"}}
    where = {"channel": {"id": "D1"}, "message": {"ts": "1.2"}}
    return {"type": "block_actions", "user": {"id": "U1", "name": "dana"}, **where, "actions": [action]}


def _twilio(**fields: str) -> dict[str, str]:
    return {"MessageSid": "SM1", "From": "+15551", "To": "+15550001111", "NumMedia": "0", **fields}


def _only(channel: Any, value: Any) -> Any:
    (item,) = parsed(channel, value)
    return item


@pytest.mark.parametrize(
    ("channel", "value", "facts"),
    [
        (
            "whatsapp",
            _whatsapp(messages=[_written("text", {"body": "Hi"}, context={"id": "wamid.0"})]),
            {"provider_id": "wamid.A", "sender": "972501", "sender_name": "Dana", "text": "Hi", "answers": "wamid.0"},
        ),
        (
            "whatsapp",
            _whatsapp(messages=[_written("image", {"id": "9", "mime_type": "image/png", "caption": "our room"})]),
            {"text": "[image] our room", "media": (Media("image", "9", "image/png"),)},
        ),
        (
            "whatsapp",
            _whatsapp(messages=[_written("location", {"latitude": 32.1, "longitude": 34.8, "name": "Beach"})]),
            {"text": "[location] Beach, 32.1, 34.8"},
        ),
        (
            "whatsapp",
            _whatsapp(
                messages=[_written("interactive", {"type": "list_reply", "list_reply": {"id": "p1", "title": "Suite"}})]
            ),
            {"text": "Suite", "choice": "p1"},
        ),
        (
            "telegram",
            _update(message=_telegram(text="Hi")),
            {"provider_id": "501", "order": 501, "reference": "42/7", "sender": "42", "sender_name": "Dana L"},
        ),
        (
            "telegram",
            _update(message=_telegram(text="Hi", **_TOPIC)),
            {"thread": "-100", "recipient": "-100/3"},
        ),
        (
            "telegram",
            _update(message=_telegram(photo=[{"file_id": "s"}, {"file_id": "L"}], caption="here")),
            {"text": "[image] here", "media": (Media("image", "L"),)},
        ),
        (
            "telegram",
            _update(
                callback_query={
                    "id": "5",
                    "from": _telegram()["from"],
                    "data": "p1",
                    "message": _telegram(**_KEYBOARD),
                }
            ),
            {"text": "Suite", "choice": "p1", "answers": "42/7"},
        ),
        (
            "slack",
            _slack(text="see <https://x.example/a|the page> &amp; call <@U2>"),
            {"text": "see the page (https://x.example/a) & call @U2", "thread": None, "order": 1796000000000200},
        ),
        (
            "slack",
            _slack(type="app_mention", channel="C1", channel_type="channel", text="<@UBOT> Hi"),
            {"text": "Hi", "thread": "1796000000.000200", "recipient": "C1/1796000000.000200"},
        ),
        (
            "slack",
            _slack(text="", subtype="file_share", files=[{"id": "F1", "mimetype": "image/png", "name": "a.png"}]),
            {"text": "[image a.png]", "media": (Media("image", "F1", "image/png", "a.png"),)},
        ),
        (
            "slack",
            _slack_tap(),
            {"text": "Suite", "choice": "p1", "answers": "D1/1.2", "sender": "U1"},
        ),
        (
            "twilio",
            _twilio(Body="Hi", ProfileName="Dana"),
            {"provider_id": "SM1", "sender": "+15551", "sender_name": "Dana", "text": "Hi", "order": None},
        ),
        (
            "twilio",
            _twilio(Body="", NumMedia="1", MediaUrl0="https://api.example/Media/ME1", MediaContentType0="image/jpeg"),
            {"text": "[image]", "media": (Media("image", "ME1", "image/jpeg"),)},
        ),
        ("twilio", _twilio(Body="Suite", ButtonPayload="p1"), {"text": "Suite", "choice": "p1"}),
    ],
)
def test_a_message_is_read(channel: Any, value: Any, facts: dict[str, Any]) -> None:
    """The sender, the text, the media and what was tapped are where they belong."""
    message = _only(channel, value)

    assert isinstance(message, Message)
    assert {name: getattr(message, name) for name in facts} == facts


@pytest.mark.parametrize(
    ("channel", "value", "reference", "text"),
    [
        (
            "whatsapp",
            _whatsapp(messages=[_written("edit", {"original_message_id": "wamid.0", "message": _NEW})]),
            "wamid.0",
            "New",
        ),
        ("whatsapp", _whatsapp(messages=[_written("revoke", {"original_message_id": "wamid.0"})]), "wamid.0", None),
        ("telegram", _update(edited_message=_telegram(text="New", edit_date=1796000009)), "42/7", "New"),
        (
            "slack",
            _slack(subtype="message_changed", message=_CHANGED),
            "D1/1.5",
            "New",
        ),
        ("slack", _slack(subtype="message_deleted", deleted_ts="1.5", previous_message={"user": "U1"}), "D1/1.5", None),
    ],
)
def test_edits_and_deletions_are_understood(channel: Any, value: Any, reference: str, text: str | None) -> None:
    """An edit names the message that it changes, as that message named itself; a deletion has no text."""
    edit = _only(channel, value)

    assert isinstance(edit, Edit)
    assert (edit.reference, edit.text) == (reference, text)


@pytest.mark.parametrize(
    ("errors", "failure"),
    [
        ([{"code": 131047, "title": "Re-engagement message"}], WindowClosed("131047")),
        ([{"code": 131056, "title": "Pair rate limit"}], TryLater("recipient", "131056")),
        ([{"code": 131026, "title": "Undeliverable"}], MessageRefused("131026", "Undeliverable")),
    ],
)
def test_a_failed_message_says_why(errors: Any, failure: Any) -> None:
    """WhatsApp reports some errors only later, in a receipt, and hands our key back."""
    status = {
        "id": "wamid.B",
        "status": "failed",
        "timestamp": "1796000000",
        "recipient_id": "972501",
        "errors": errors,
    }
    receipt = _only("whatsapp", _whatsapp(statuses=[{**status, "biz_opaque_callback_data": "key-1"}]))

    assert isinstance(receipt, Receipt)
    assert (receipt.status, receipt.failure, receipt.key) == ("failed", failure, "key-1")


@pytest.mark.parametrize(
    ("fields", "status", "failure"),
    [
        ({"MessageStatus": "delivered"}, "delivered", None),
        ({"MessageStatus": "undelivered", "ErrorCode": "63016"}, "failed", WindowClosed("63016")),
        ({"MessageStatus": "failed", "ErrorCode": "30003"}, "failed", MessageRefused("30003", "Twilio gave no reason")),
    ],
)
def test_twilio_reports_what_became_of_a_message(fields: Any, status: str, failure: Any) -> None:
    """A status callback is a receipt, with the reason of a failure."""
    receipt = _only("twilio", {"MessageSid": "SM2", "To": "+15551", **fields})

    assert (receipt.provider_id, receipt.status, receipt.failure) == ("SM2", status, failure)


def test_a_bad_item_takes_no_neighbour_with_it() -> None:
    """Of a batch, what can be read is read, messages first; the rest is kept."""
    good, bad = _written("text", {"body": "Hi"}), _written("text", {"body": "Hi"}, id=["no id"])
    status = {"id": "wamid.B", "status": "read", "timestamp": "1796000000"}
    batch = _whatsapp(messages=[bad, good], statuses=[status, {"id": None}])
    batch["entry"] = [{"changes": "?"}, 5, *batch["entry"]]

    items = parsed("whatsapp", batch)

    assert [type(item) for item in items] == [Message, Receipt, *[Unknown] * 4]
    assert any("no id" in item.raw for item in items if isinstance(item, Unknown))


@pytest.mark.parametrize(
    ("channel", "value", "why"),
    [
        ("whatsapp", _whatsapp(messages=[_written("reaction", {"emoji": "👍"})]), "not answered"),
        ("whatsapp", _whatsapp(number="2", messages=[_written("text", {"body": "Hi"})]), "another phone number"),
        ("whatsapp", {"entry": [{"changes": [{"field": "account_update", "value": {}}]}]}, "not answered"),
        ("telegram", _update(inline_query={"id": "1"}), "not answered"),
        ("telegram", _update(message=_telegram(**{"from": {"id": 1, "is_bot": True}}, text="x")), "no person"),
        ("slack", _slack(bot_id="B1", text="Hi"), "no person"),
        ("slack", _slack(channel="C1", channel_type="channel", text="<@UBOT> Hi"), "app_mention"),
        ("slack", {"type": "event_callback", "event": {"type": "reaction_added"}}, "not answered"),
        ("twilio", {"AccountSid": "AC1", "EventType": "x"}, "not answered"),
    ],
)
def test_what_is_not_answered_is_kept(channel: Any, value: Any, why: str) -> None:
    """It is kept with its raw content and a reason."""
    item = _only(channel, value)

    assert isinstance(item, Unknown)
    assert why in item.why
    assert item.raw


def test_the_handshakes() -> None:
    """WhatsApp's token opens the handshake; Slack's challenge is handed back."""
    asked = posted("slack", {"type": "url_verification", "challenge": "c-1"})
    answer = adapter("slack").handshake(account("slack"), asked)
    usual = adapter("slack").handshake(account("slack"), posted("slack", _slack(text="url_verification")))

    assert answer is not None
    assert answer.body == "c-1"
    assert usual is None


def test_a_tapped_number_is_the_choice_that_it_stands_for() -> None:
    """A choice that is too long for a button is shown beside its number; what was said is the choice."""
    row = {"id": "A room with a view", "title": "2", "description": "A room with a view of the sea"}
    told = _only("whatsapp", _whatsapp(messages=[_written("interactive", {"type": "list_reply", "list_reply": row})]))
    keyboard = {"inline_keyboard": [[{"text": "2", "callback_data": "A room with a view"}]]}
    shown = {"message_id": 7, "chat": {"id": 42}, "reply_markup": keyboard}
    query = {"id": "q", "from": {"id": 42, "first_name": "Ada"}, "data": "A room with a view", "message": shown}
    tapped = _only("telegram", _update(callback_query=query))

    assert isinstance(told, Message)
    assert isinstance(tapped, Message)
    assert (told.text, tapped.text) == ("A room with a view of the sea", "A room with a view")
