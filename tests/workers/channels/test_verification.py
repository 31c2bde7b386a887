"""Only the provider gets in."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.workers.channels.accounts import NOW, account, posted, signed, twilio_signature, url
from turnloom.models.errors import NotFound, Unauthorized
from turnloom.workers.channels import adapter
from turnloom.workers.channels.protocol import CHANNELS, ChannelName, Inbound


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_signed_request_is_accepted(channel: ChannelName) -> None:
    """A request that the provider signed passes."""
    adapter(channel).verify(account(channel), posted(channel, {"a": "b c", "d": "é+1"}), NOW)


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("value", ["", "x", "é", "sha256=é", "v0=" + "0" * 64, "\udc80", "0" * 9_000])
def test_a_forged_signature_is_refused(channel: ChannelName, value: str) -> None:
    """Whatever stands in the header, the answer is 401."""
    request = posted(channel, {"a": "b"})
    headers = {name: value for name in request.headers if name != "x-slack-request-timestamp"}
    known = {**request.headers, **headers}

    for tried in (known, {}):
        with pytest.raises(Unauthorized):
            adapter(channel).verify(account(channel), replace(request, headers=tried), NOW)


@pytest.mark.parametrize("channel", ["whatsapp", "slack", "twilio"])
def test_a_changed_body_is_refused(channel: ChannelName) -> None:
    """The signature covers every byte, also bytes that are no text."""
    request = posted(channel, {"a": "b"})

    for body in (request.body + b" ", request.body + b"&x=y", b"\xff\xfe", b""):
        with pytest.raises(Unauthorized):
            adapter(channel).verify(account(channel), replace(request, body=body), NOW)


@pytest.mark.parametrize("timestamp", ["", "x", "1e9", "9" * 5_000, "-1", "²"])
def test_slack_requests_grow_old(timestamp: str) -> None:
    """After five minutes, or with a timestamp that is none, a request of Slack is refused."""
    request = posted("slack", {"a": "b"})
    other = replace(request, headers={**request.headers, "x-slack-request-timestamp": timestamp})

    with pytest.raises(Unauthorized):
        adapter("slack").verify(account("slack"), other, NOW)
    with pytest.raises(Unauthorized):
        adapter("slack").verify(account("slack"), request, NOW + timedelta(minutes=6))


@pytest.mark.parametrize("public", ["https://bot.example.com", "https://bot.example.com/", url("twilio")])
def test_twilios_public_url_is_the_server_or_the_webhook(public: str) -> None:
    """Either may be configured, whatever address we see behind a proxy."""
    body = b"Body=Hi&From=%2B15551"
    headers = {"x-twilio-signature": twilio_signature(url("twilio"), {"Body": "Hi", "From": "+15551"})}
    request = Inbound("POST", "http://10.0.0.3:8000/v1/channels/twilio/main", headers, body)

    adapter("twilio").verify(account("twilio", public_url=public), request, NOW)


def test_whatsapps_handshake_needs_the_token() -> None:
    """The challenge is handed back to who knows the token, and to nobody else."""
    whatsapp, known = adapter("whatsapp"), account("whatsapp")

    def asked(query: str) -> Inbound:
        return Inbound("GET", f"{url('whatsapp')}?{query}", {}, b"")

    answer = whatsapp.handshake(known, asked("hub.mode=subscribe&hub.challenge=123&hub.verify_token=verify-me"))
    assert answer is not None
    assert answer.body == "123"
    for query in ("", "hub.mode=subscribe&hub.challenge=1&hub.verify_token=x", "hub.verify_token=%ff&" * 30):
        with pytest.raises(Unauthorized):
            whatsapp.handshake(known, asked(query))


@pytest.mark.parametrize("channel", ["telegram", "slack", "twilio"])
def test_nothing_can_be_read_from_a_webhook(channel: ChannelName) -> None:
    """Only WhatsApp has a GET."""
    with pytest.raises(NotFound):
        adapter(channel).handshake(account(channel), replace(signed(channel, b""), method="GET"))
