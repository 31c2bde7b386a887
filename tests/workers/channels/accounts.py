"""An account on each channel, and signed requests to it."""

import hmac
import json
from base64 import b64encode
from datetime import UTC, datetime
from hashlib import sha1, sha256
from typing import Any
from urllib.parse import urlencode

from turnloom.tools.http.upstream import UpstreamResponse
from turnloom.workers.channels import adapter
from turnloom.workers.channels.protocol import ChannelName, Inbound, Item, ProviderAccount

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)

CONFIGS: dict[ChannelName, dict[str, Any]] = {
    "whatsapp": {
        "app_secret": "app-secret",
        "verify_token": "verify-me",
        "access_token": "EAAB-token",
        "phone_number_id": "10001",
    },
    "telegram": {"secret_token": "Secret-1", "bot_token": "77:AA-token"},
    "slack": {"signing_secret": "signing-secret", "bot_token": "xoxb-token"},
    "twilio": {
        "auth_token": "auth-token",
        "account_sid": "AC00000000000000000000000000000001",
        "from": "+15550001111",
        "public_url": "https://bot.example.com",
    },
}


def account(channel: ChannelName, **config: Any) -> ProviderAccount:
    """Return an account with a configuration, changed in some fields."""
    shape = adapter(channel).config
    return ProviderAccount(channel, "main", "tenant-1", "hotel", shape.model_validate({**CONFIGS[channel], **config}))


def url(channel: ChannelName) -> str:
    return f"https://bot.example.com/v1/channels/{channel}/main"


def signed(channel: ChannelName, body: bytes, now: datetime = NOW) -> Inbound:
    """Return a request as the provider signs it."""
    return Inbound("POST", url(channel), _signature(channel, body, now), body)


def posted(channel: ChannelName, value: Any) -> Inbound:
    """Return a request with JSON, or with a form on Twilio."""
    return signed(channel, urlencode(value).encode() if channel == "twilio" else json.dumps(value).encode())


def parsed(channel: ChannelName, value: Any) -> list[Item]:
    """Return what an account reads from a body."""
    return adapter(channel).parse(account(channel), posted(channel, value))


def answer(status: int, body: Any, **headers: str) -> UpstreamResponse:
    """Return an answer of a provider."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return UpstreamResponse(
        "api.example.com", status, {name.replace("_", "-"): each for name, each in headers.items()}, raw
    )


def _signature(channel: ChannelName, body: bytes, now: datetime) -> dict[str, str]:
    match channel:
        case "whatsapp":
            return {"x-hub-signature-256": "sha256=" + hmac.new(b"app-secret", body, sha256).hexdigest()}
        case "telegram":
            return {"x-telegram-bot-api-secret-token": "Secret-1"}
        case "slack":
            at = str(int(now.timestamp()))
            mac = hmac.new(b"signing-secret", f"v0:{at}:".encode() + body, sha256).hexdigest()
            return {"x-slack-request-timestamp": at, "x-slack-signature": f"v0={mac}"}
        case "twilio":
            fields = dict(pair.split("=", 1) for pair in body.decode().split("&")) if body else {}
            return {"x-twilio-signature": twilio_signature(url(channel), {k: _unquoted(v) for k, v in fields.items()})}


def twilio_signature(address: str, fields: dict[str, str]) -> str:
    said = address + "".join(f"{name}{fields[name]}" for name in sorted(fields))
    return b64encode(hmac.new(b"auth-token", said.encode(), sha1).digest()).decode()


def _unquoted(value: str) -> str:
    from urllib.parse import unquote_plus  # noqa: PLC0415

    return unquote_plus(value)
