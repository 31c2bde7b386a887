"""Recorded webhooks and signature vectors of others are read as they should be. They are no part of the project."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.workers.channels.accounts import CONFIGS, account, url
from turnloom.models.errors import Unauthorized
from turnloom.workers.channels import adapter
from turnloom.workers.channels.protocol import CHANNELS, Inbound, Message, Receipt, Unknown

_FOLDER = os.environ.get("TURNLOOM_CASES")
pytestmark = pytest.mark.skipif(_FOLDER is None, reason="TURNLOOM_CASES does not name the folder of outside cases")

_SCHEMES = {"meta": "whatsapp", "slack": "slack", "telegram": "telegram", "twilio": "twilio"}


def _payloads() -> list[dict[str, Any]]:
    lines = (Path(_FOLDER or "") / "webhook_payloads.jsonl").read_text().splitlines()
    return [case for line in lines if (case := json.loads(line))["channel"] in CHANNELS]


def _vectors() -> list[dict[str, Any]]:
    vectors = json.loads((Path(_FOLDER or "") / "webhook_signatures.json").read_text())
    return [vector for vector in vectors if vector["scheme"] in _SCHEMES]


def test_every_recorded_payload_is_read_or_kept() -> None:
    """A recorded webhook is a message, a receipt or visibly kept, and those of people become messages."""
    kinds: dict[str, set[str]] = {}
    for case in _payloads():
        channel, body = case["channel"], json.dumps(case["body"])
        raw = urlencode({"payload": body}) if "payload=" in case["content_type"] else body
        known = account(channel, **({"phone_number_id": "1122334455667"} if channel == "whatsapp" else {}))
        items = adapter(channel).parse(known, Inbound("POST", url(channel), {}, raw.encode()))
        assert items, case["id"]
        assert all(item.raw for item in items if isinstance(item, Unknown))
        assert not any("cannot be read" in item.why for item in items if isinstance(item, Unknown)), case["id"]
        kinds[case["id"]] = {type(item).__name__ for item in items}

    assert {Message.__name__} in kinds.values()
    assert {Receipt.__name__} in kinds.values()
    for name, found in kinds.items():
        if any(
            word in name
            for word in ("wa-message-text", "wa-message-image", "wa-callback", "app_mention", "tg-entities")
        ):
            assert found == {"Message"}, name


def test_every_vector_gets_its_verdict() -> None:
    """A signature of a provider's own documentation or library is accepted, and a wrong or old one is not."""
    for vector in _vectors():
        channel = _SCHEMES[vector["scheme"]]
        assert _is_accepted(channel, vector) == vector["valid"], vector["id"]


def _is_accepted(channel: Any, vector: dict[str, Any]) -> bool:
    secret = {"whatsapp": "app_secret", "slack": "signing_secret", "telegram": "secret_token", "twilio": "auth_token"}
    changes = {secret[channel]: vector["secret"], **({"public_url": vector["url"]} if "url" in vector else {})}
    assert set(changes) <= set(CONFIGS[channel])
    headers = {vector["header"].lower(): vector["signature"]}
    if vector.get("timestamp"):
        headers["x-slack-request-timestamp"] = vector["timestamp"]
    body = vector.get("body") or urlencode(vector.get("params", {}))
    now = datetime.fromtimestamp(int(vector.get("now") or 0), UTC)
    request = Inbound("POST", vector.get("url", url(channel)), headers, body.encode())
    try:
        adapter(channel).verify(account(channel, **changes), request, now)
    except Unauthorized:
        return False
    return True
