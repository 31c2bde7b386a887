"""At the door of each channel, an answer to a request decides it; anything else is a message."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.factories import claim_turn, make_tenant, queue_length, record_plan, step
from tests.models.ledger import parking, stopping
from tests.models.ledger.channel_turns import next_delivery
from tests.models.ledger.chat_requests import decision, send_next, told
from tests.workers.channels.accounts import CONFIGS, signed
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import channel_accounts, deliveries
from turnloom.models.runtime import secrets
from turnloom.models.runtime.settings import settings
from turnloom.workers.channels import rendering
from turnloom.workers.channels.accounts import OpenAccounts
from turnloom.workers.channels.protocol import CHANNELS, ChannelName
from turnloom.workers.dispatch import settle

PEOPLE = {"whatsapp": "972501", "telegram": "42", "slack": "U1", "twilio": "+15551"}
SHOWN = {"whatsapp": "wamid.Q", "telegram": "42/900", "slack": "D1/1796000000.000900", "twilio": "SM900"}
"""The provider's id of the request."""


@pytest.fixture
def reader(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[FlaskClient]:
    monkeypatch.setattr(settings(), "secret_keys", [secrets.new_key()])
    tenant_id = make_tenant("ours")
    with transaction() as db:
        for channel, config in CONFIGS.items():
            channel_accounts.put(db, tenant_id, channel, "main", "generic", config)
    yield client
    settle()


def post(client: FlaskClient, channel: ChannelName, value: Any) -> int:
    """Post what a provider posts, signed as it signs; return the status."""
    return answer(client, channel, value).status_code


def answer(client: FlaskClient, channel: ChannelName, value: Any) -> TestResponse:
    is_form = channel == "twilio" or "payload" in value
    body = urlencode(value).encode() if is_form else json.dumps(value).encode()
    headers = dict(signed(channel, body, datetime.now(UTC)).headers)
    kind = "application/x-www-form-urlencoded" if is_form else "application/json"
    path = f"/v1/channels/{channel}/main"
    return client.post(path, data=body, headers=headers, content_type=kind)


def written(channel: ChannelName, number: int, said: str) -> dict[str, Any]:
    """Return what a provider posts when a person writes."""
    at = int(datetime.now(UTC).timestamp()) + 1
    match channel:
        case "whatsapp":
            return whatsapp({"id": f"wamid.{number}", "type": "text", "text": {"body": said}})
        case "telegram":
            message = {"message_id": number, "date": at, "from": person(), "chat": {"id": 42}, "text": said}
            return {"update_id": number, "message": message}
        case "slack":
            event = {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "text": said}
            return {"type": "event_callback", "event_id": f"Ev{number}", "event": {**event, "ts": f"{at}.{number:06}"}}
        case "twilio":
            return {"MessageSid": f"SM{number}", "From": "+15551", "NumMedia": "0", "Body": said}


def tapped(channel: ChannelName, number: int, part: dict[str, Any], place: int) -> dict[str, Any]:
    """Return what a provider posts when a person taps a button of this message."""
    match channel:
        case "whatsapp":
            button = part["interactive"]["action"]["buttons"][place]["reply"]
            reply = {"type": "button_reply", "button_reply": button}
            return whatsapp({"id": f"wamid.{number}", "type": "interactive", "interactive": reply})
        case "telegram":
            keyboard = part["reply_markup"]
            message = {"message_id": 900, "date": 0, "chat": {"id": 42}, "text": "?", "reply_markup": keyboard}
            data = keyboard["inline_keyboard"][place][0]["callback_data"]
            query = {"id": str(number), "from": person(), "message": message, "data": data}
            return {"update_id": number, "callback_query": query}
        case "slack":
            action = {**part["blocks"][1]["elements"][place], "action_ts": f"1797000000.{number:06}"}
            where = {"channel": {"id": "D1"}, "message": {"ts": "1796000000.000900"}}
            value = {"type": "block_actions", "user": {"id": "U1"}, **where, "actions": [action]}
            return {"payload": json.dumps(value)}
        case "twilio":
            return written(channel, number, str(place + 1))  # it has no buttons


def whatsapp(message: dict[str, Any]) -> dict[str, Any]:
    at = str(int(datetime.now(UTC).timestamp()) + 1)
    whole = {"from": "972501", "timestamp": at, "context": {"id": "wamid.Q"}, **message}
    value = {"metadata": {"phone_number_id": "10001"}, "messages": [whole]}
    return {"entry": [{"changes": [{"field": "messages", "value": value}]}]}


def person() -> dict[str, Any]:
    return {"id": 42, "is_bot": False, "first_name": "Dana"}


def asked(client: FlaskClient, channel: ChannelName) -> tuple[UUID, dict[str, Any]]:
    """Return a turn whose call waits for approval, and the message in which its person was asked."""
    assert post(client, channel, written(channel, 1, "write it")) == 200
    turn = claim_turn(turn_ids(client, channel)[0])
    assert turn is not None
    record_plan(turn, step("w", tool="sim.approve", args={"value": 7}))
    stopping.claim(turn.id, "w")
    assert parking.ask(turn.id).deliver
    return turn.id, shown(turn.id, channel)


def shown(turn_id: UUID, channel: ChannelName) -> dict[str, Any]:
    """Render and send what is next of a turn."""
    found, account = next_delivery(turn_id), OpenAccounts().find(channel, "main")
    assert found is not None
    assert account is not None
    parts, offers = rendering.rendered(found, account)
    with statement() as db:
        deliveries.store_parts(db, turn_id, found.part, parts, offers)
    send_next(turn_id, SHOWN[channel])
    return parts[-1]


def turn_ids(client: FlaskClient, channel: ChannelName) -> list[UUID]:
    page = client.get(f"/v1/conversations/{channel}:main:{PEOPLE[channel]}/turns").get_json()
    return sorted(UUID(item["turn_id"]) for item in page["items"])


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_tapped_button_decides(reader: FlaskClient, channel: ChannelName) -> None:
    """Once, however often it is posted, and no turn is opened. What it was about was shown with secrets masked."""
    turn_id, part = asked(reader, channel)
    settle()
    tap = tapped(channel, 2, part, 0)

    assert [post(reader, channel, tap) for _ in range(2)] == [200, 200]
    assert "***" in json.dumps(part)
    assert decision(turn_id) == ("approve", "person")
    assert turn_ids(reader, channel) == [turn_id]
    assert queue_length("maintenance") == 1


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_typed_no_decides(reader: FlaskClient, channel: ChannelName) -> None:
    """The turn is to be answered."""
    turn_id, _ = asked(reader, channel)

    assert post(reader, channel, written(channel, 2, "Nein!")) == 200
    assert decision(turn_id) == ("reject", "person")
    assert turn_ids(reader, channel) == [turn_id]
    assert queue_length("respond") == 1


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_button_that_is_tapped_again_gets_a_sentence(reader: FlaskClient, channel: ChannelName) -> None:
    """And changes nothing."""
    turn_id, part = asked(reader, channel)
    post(reader, channel, tapped(channel, 2, part, 0))

    assert post(reader, channel, tapped(channel, 3, part, 1)) == 200
    assert decision(turn_id) == ("approve", "person")
    assert told(turn_id) == "approved"
    assert queue_length("deliver") == 1
    assert "approved already" in json.dumps(shown(turn_id, channel))


@pytest.mark.parametrize("channel", CHANNELS)
def test_anything_else_is_a_message(reader: FlaskClient, channel: ChannelName) -> None:
    """It does what a message to a busy conversation does: here it takes the turn's place."""
    turn_id, _ = asked(reader, channel)

    assert post(reader, channel, written(channel, 2, "yes, but write 8")) == 200
    assert len(turn_ids(reader, channel)) == 2
    assert stopping.view(turn_id).ending == "superseded"


def test_telegram_hears_that_a_tap_was_taken(reader: FlaskClient) -> None:
    """A phone shows until then that the button is at work. A message needs no such word."""
    _, part = asked(reader, "telegram")

    tap = answer(reader, "telegram", tapped("telegram", 2, part, 0))
    message = answer(reader, "telegram", written("telegram", 3, "thank you"))

    assert tap.get_json() == {"method": "answerCallbackQuery", "callback_query_id": "2"}
    assert message.data == b""


def test_a_button_of_another_persons_request_does_nothing(reader: FlaskClient) -> None:
    """It may have been shown to many, as in a group."""
    turn_id, part = asked(reader, "telegram")
    tap = tapped("telegram", 2, part, 0)
    tap["callback_query"]["from"] = {**person(), "id": 43}

    assert post(reader, "telegram", tap) == 200
    assert decision(turn_id) == (None, None)
    assert told(turn_id) is None


def test_a_full_backlog_keeps_nobody_from_answering(reader: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer opens no turn."""
    turn_id, part = asked(reader, "whatsapp")
    monkeypatch.setattr(settings(), "tenant_backlog_limit", 1)

    assert post(reader, "whatsapp", tapped("whatsapp", 2, part, 0)) == 200
    assert decision(turn_id)[0] == "approve"
