"""Replies are written as each channel wants them, and its answers are understood."""

import base64
import json
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from tests.workers.channels.accounts import NOW, account, answer
from turnloom.models.contracts.turn import Reply
from turnloom.planner.reply.text_split import units
from turnloom.workers.channels import adapter
from turnloom.workers.channels.protocol import (
    CHANNELS,
    ChannelName,
    MessageRefused,
    MessageSent,
    Part,
    ReplyChoice,
    TryLater,
    Unsure,
    WindowClosed,
)

_LIMITS = {"whatsapp": 4_096, "telegram": 4_096, "slack": 4_000, "twilio": 1_600}


def shown(part: Part) -> str:
    """Return the text that the person reads."""
    if "blocks" in part:
        return str(part["blocks"][0]["text"]["text"])
    body = part.get("text") or part.get("interactive", {}).get("body") or part.get("Body")
    return str(body.get("body") or body.get("text")) if isinstance(body, dict) else str(body)


@pytest.mark.parametrize("channel", CHANNELS)
def test_parts_keep_the_limit_and_can_be_stored(channel: ChannelName) -> None:
    """A long reply with choices becomes several parts of plain JSON. None is too long, and no row is lost or cut."""
    rows = [f"{number}. Room {number} 🏨 · {number * 100} ILS & more" for number in range(1, 400)]
    reply = Reply(text="\n".join(rows))
    offer = [ReplyChoice("a", "Yes"), ReplyChoice("b", "No")]

    for choices in ([], offer):
        parts = adapter(channel).render(reply, account(channel), choices)
        said = [shown(part).replace("&amp;", "&") for part in parts]
        assert json.loads(json.dumps(parts)) == parts
        assert all(0 < units(shown(part)) <= _LIMITS[channel] for part in parts)
        assert "\n".join(said).split("\n")[:399] == rows


def test_a_request_names_its_recipient_and_hides_no_secret_in_the_part() -> None:
    """Each provider is asked at its own address with its own credentials."""
    recipients = {"whatsapp": "972501", "telegram": "-100/3", "slack": "C1/1.5", "twilio": "+15551"}
    sent = {}
    for channel in CHANNELS:
        known = account(channel)
        part = adapter(channel).render(Reply(text="Hi"), known)[0]
        sent[channel] = adapter(channel).request(known, recipients[channel], part, "key-1")

    bodies = {channel: orjson.loads(sent[channel].content or b"{}") for channel in CHANNELS}
    assert [urlsplit(sent[channel].url).path for channel in CHANNELS] == [
        "/v23.0/10001/messages",
        "/bot77:AA-token/sendMessage",
        "/api/chat.postMessage",
        "/2010-04-01/Accounts/AC00000000000000000000000000000001/Messages.json",
    ]
    assert (bodies["whatsapp"]["to"], bodies["whatsapp"]["biz_opaque_callback_data"]) == ("972501", "key-1")
    assert (bodies["telegram"]["chat_id"], bodies["telegram"]["message_thread_id"]) == (-100, 3)
    assert (bodies["slack"]["channel"], bodies["slack"]["thread_ts"]) == ("C1", "1.5")
    assert sent["twilio"].form == {
        "To": "+15551",
        "From": "+15550001111",
        "StatusCallback": "https://bot.example.com/v1/channels/twilio/main",
        "Body": "Hi",
    }
    assert sent["slack"].headers["Authorization"] == "Bearer xoxb-token"
    assert base64.b64decode(sent["twilio"].headers["Authorization"].split()[1]).endswith(b":auth-token")


@pytest.mark.parametrize("channel", CHANNELS)
def test_another_base_url_is_called_as_one_that_others_name(channel: ChannelName) -> None:
    """A simulator or a proxy takes the provider's place, and its address is checked like every outside one."""
    known = account(channel, api_base="http://127.0.0.1:9/x/")
    part = adapter(channel).render(Reply(text="Hi"), known)[0]

    for request in (adapter(channel).request(known, "1", part, "k"), adapter(channel).probe(known)):
        assert request.url.startswith("http://127.0.0.1:9/x/")
        assert "//" not in request.url.removeprefix("http://")
        assert request.is_named_by_others


def _meta(code: int) -> Any:
    return {"error": {"code": code, "message": "so it is"}}


@pytest.mark.parametrize(
    ("channel", "got", "outcome"),
    [
        ("whatsapp", answer(200, {"messages": [{"id": "wamid.B"}]}), MessageSent("wamid.B")),
        ("whatsapp", answer(400, _meta(131056)), TryLater("recipient", "131056")),
        ("whatsapp", answer(429, _meta(130429)), TryLater("number", "130429")),
        ("whatsapp", answer(400, _meta(131047)), WindowClosed("131047")),
        ("whatsapp", answer(401, _meta(190)), MessageRefused("190", "so it is")),
        ("telegram", answer(200, {"ok": True, "result": {"message_id": 8, "chat": {"id": 42}}}), MessageSent("42/8")),
        (
            "telegram",
            answer(429, {"ok": False, "error_code": 429, "parameters": {"retry_after": 5}}),
            TryLater("recipient", "429", 5.0),
        ),
        (
            "telegram",
            answer(403, {"ok": False, "error_code": 403, "description": "blocked"}),
            MessageRefused("403", "blocked"),
        ),
        ("slack", answer(200, {"ok": True, "channel": "D1", "ts": "1.5"}), MessageSent("D1/1.5")),
        ("slack", answer(429, b"", retry_after="7"), TryLater("recipient", "ratelimited", 7.0)),
        ("slack", answer(200, {"ok": False, "error": "ratelimited"}), TryLater("recipient", "ratelimited")),
        (
            "slack",
            answer(200, {"ok": False, "error": "channel_not_found"}),
            MessageRefused("channel_not_found", "Slack says channel_not_found"),
        ),
        ("slack", answer(200, {"ok": False, "error": "fatal_error"}), Unsure("Slack says fatal_error")),
        ("twilio", answer(201, {"sid": "SM9", "status": "queued"}), MessageSent("SM9")),
        ("twilio", answer(429, {"code": 20429, "message": "slow"}, retry_after="2"), TryLater("number", "20429", 2.0)),
        ("twilio", answer(400, {"code": 63016, "message": "window"}), WindowClosed("63016")),
        ("twilio", answer(400, {"code": 21610, "message": "stopped"}), MessageRefused("21610", "stopped")),
    ],
)
def test_the_providers_answers_are_understood(channel: ChannelName, got: Any, outcome: Any) -> None:
    """Sent, later, never, or only as a template: the provider's own codes say which."""
    assert adapter(channel).outcome(got) == outcome


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"<html>", Unsure),
        (200, b"[]", Unsure),
        (502, b"", Unsure),
        (500, b"\xff", Unsure),
        (503, b"", TryLater),
        (429, b"null", TryLater),
        (404, b"{}", MessageRefused),
        (302, b"", MessageRefused),
    ],
)
def test_an_answer_of_somebody_else_is_never_taken_for_sent(
    channel: ChannelName, status: int, body: bytes, kind: type
) -> None:
    """A proxy's page does not tell whether the message was taken, unless its status does."""
    assert isinstance(adapter(channel).outcome(answer(status, body)), kind)


@pytest.mark.parametrize("after", ["x", "nan", "-5", "1e400", "99999999"])
def test_a_pause_is_a_number_within_an_hour(after: str) -> None:
    """What stands in Retry-After is not trusted."""
    outcome = adapter("slack").outcome(answer(429, b"", retry_after=after))

    assert isinstance(outcome, TryLater)
    assert outcome.after_s is None or 0 <= outcome.after_s <= 3_600


def test_slack_and_twilio_can_be_asked_what_was_sent() -> None:
    """Slack finds our mark, and Twilio the text; the others cannot be asked."""
    since = NOW - timedelta(minutes=1)
    slack, twilio = adapter("slack"), adapter("twilio")
    mark = {"event_type": "turnloom_delivery", "event_payload": {"key": "k"}}
    history = answer(200, {"ok": True, "messages": [{"ts": "1.1"}, {"ts": "1.5", "metadata": mark}]})
    listed = answer(200, {"messages": [{"sid": "SM1", "body": "other"}, {"sid": "SM2", "body": "Hi"}]})

    asked = slack.search(account("slack"), "D1", {}, "k", since)
    assert asked is not None
    assert asked.params is not None
    assert asked.params["oldest"] == f"{since.timestamp():.6f}"
    assert slack.found(history, "D1", {}, "k") == MessageSent("D1/1.5")
    assert slack.found(history, "D1", {}, "other") is None
    assert twilio.found(listed, "+15551", {"Body": "Hi"}, "k") == MessageSent("SM2")
    assert twilio.found(listed, "+15551", {"Body": "x"}, "k") is None
    assert isinstance(twilio.found(answer(500, b""), "+15551", {}, "k"), Unsure)
    for channel in ("whatsapp", "telegram"):
        assert adapter(channel).search(account(channel), "1", {}, "k", since) is None


@pytest.mark.parametrize(
    ("channel", "works", "broken"),
    [
        ("whatsapp", {"id": "10001"}, {"error": {"message": "Invalid token"}}),
        ("telegram", {"ok": True, "result": {}}, {"ok": False, "description": "Unauthorized"}),
        ("slack", {"ok": True}, {"ok": False, "error": "invalid_auth"}),
        ("twilio", {"status": "active", "sid": "AC1"}, {"code": 20003, "message": "Authenticate"}),
    ],
)
def test_an_account_can_be_checked(channel: ChannelName, works: Any, broken: Any) -> None:
    """A working account has no fault; otherwise the provider's reason is told."""
    assert adapter(channel).fault(answer(200, works)) is None
    assert "says" in str(adapter(channel).fault(answer(401, broken)))
    assert "HTTP 502" in str(adapter(channel).fault(answer(502, b"")))


def test_the_window_and_its_template() -> None:
    """WhatsApp's window is a day, on Twilio as well; SMS, Telegram and Slack have none."""
    whatsapp = account("whatsapp", template="hello", template_language="he")
    by_twilio = account("twilio", **{"from": "whatsapp:+15550001111", "template": "HX1"})

    assert adapter("whatsapp").window(whatsapp) == adapter("twilio").window(by_twilio) == timedelta(hours=24)
    assert [adapter(name).window(account(name)) for name in ("telegram", "slack", "twilio")] == [None] * 3
    assert adapter("twilio").template(by_twilio) == {"ContentSid": "HX1"}
    part = adapter("whatsapp").template(whatsapp)
    assert part is not None
    assert part["template"] == {"name": "hello", "language": {"code": "he"}}
    assert adapter("whatsapp").template(account("whatsapp")) is None


def test_an_account_may_set_its_own_pace() -> None:
    """It replaces the number's pace, not the recipient's."""
    own, set_by_us = (adapter("whatsapp").pace(account("whatsapp", pace=pace)) for pace in (None, 5))

    assert (own.number.per_s, set_by_us.number.per_s) == (80, 5)
    assert own.recipient == set_by_us.recipient
