"""Slack's side of its protocol: signed events, and a pause that a header names."""

import hmac
import json
import random
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import count
from typing import Any

from turnloom.workers.channels.protocol import ProviderAccount, secret
from turnloom.workers.simulator.protocol import Refusal, Sending, WrittenMessage


class SlackProvider:
    """The provider of an account of Slack."""

    has_batches, has_order = False, True

    def __init__(self, account: ProviderAccount) -> None:
        self._account = account
        self._numbers = count(1)

    def message_id(self, run: str, number: int) -> str:
        return f"Ev{run}{number:06}"

    def person(self, run: str, number: int) -> str:
        return f"U{run}{number:05}"

    def recipient(self, person: str) -> str:
        return f"D{person[1:]}"

    def body(self, messages: Sequence[WrittenMessage]) -> bytes:
        (each,) = messages
        return self._event(each, each.id, {"user": each.person, "ts": _ts(each), "text": each.text})

    def edit(self, message: WrittenMessage, edit_id: str, text: str) -> bytes | None:
        said = {"user": message.person, "ts": _ts(message), "text": text, "edited": {"user": message.person}}
        changed = {"subtype": "message_changed", "ts": f"{message.at}.{999_999 - message.number:06}", "message": said}
        return self._event(message, edit_id, changed)

    def receipt(self, provider_id: str, sending: Sending, status: str) -> bytes | None:  # noqa: ARG002 - Slack has none
        return None

    def headers(self, body: bytes, path: str) -> dict[str, str]:  # noqa: ARG002 - body and time are signed
        at = str(int(time.time()))
        mac = hmac.new(secret(self._account.config.signing_secret), f"v0:{at}:".encode() + body, sha256).hexdigest()
        return {"Content-Type": "application/json", "X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={mac}"}

    def read(self, path: str, headers: Mapping[str, str], body: bytes) -> Sending | None:  # noqa: ARG002 - the body says all
        return Sending(str(json.loads(body)["channel"])) if path.endswith("/chat.postMessage") else None

    def new_id(self, sending: Sending) -> str:
        return f"{sending.recipient}/{int(time.time())}.{next(self._numbers):06}"

    def taken(self, provider_id: str, sending: Sending) -> Any:
        return {"ok": True, "channel": sending.recipient, "ts": provider_id.partition("/")[2]}

    def refusal(self, chance: random.Random) -> Refusal:  # noqa: ARG002 - there is one
        return 429, {"Retry-After": "1"}, {"ok": False, "error": "ratelimited"}

    def closed_window(self) -> Refusal | None:
        return None

    def known_account(self) -> Any:
        return {"ok": True, "user_id": "USIMULATED"}

    def _event(self, message: WrittenMessage, event_id: str, said: Mapping[str, Any]) -> bytes:
        event = {"type": "message", "channel": self.recipient(message.person), "channel_type": "im", **said}
        return json.dumps({"type": "event_callback", "event_id": event_id, "event": event}).encode()


def _ts(message: WrittenMessage) -> str:
    return f"{message.at}.{message.number:06}"
