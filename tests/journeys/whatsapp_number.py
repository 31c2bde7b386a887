"""Play WhatsApp: post what people write to a number, signed, and take what is sent to them."""

import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import httpx2
from werkzeug import Request, Response

from tests.conftest import ALLOWED_HOST
from tests.journeys.telegram_bot import NUMBERS, channel_commands
from tests.tools.serving import LocalServer
from turnloom.workers.embedded.stack import Stack

ACCOUNT = "hotline"
_SECRET, _NUMBER = "app-secret", "10001"


class WhatsAppNumber:
    """A number's account in a stack, with Meta on the other side."""

    def __init__(self, api: httpx2.Client, server: LocalServer) -> None:
        self.url = server.url_for("").rstrip("/")
        self.taken: list[dict[str, Any]] = []
        """The messages that Meta took."""
        self._api, self._numbers, self._lock = api, NUMBERS, threading.Lock()
        server.expect_request(f"/v23.0/{_NUMBER}/messages").respond_with_handler(self._take)

    def new_person(self) -> str:
        """Return a person who has not written yet."""
        return f"4930{next(self._numbers):06}"

    def write(self, person: str, said: str) -> int:
        """Let a person write; return the status of the webhook."""
        return self._post(person, {"type": "text", "text": {"body": said}})

    def tap(self, person: str, button: int, *, times: int = 1) -> list[int]:
        """Let a person tap a button of the last message with buttons, which Meta posts so many times."""
        place = max(n for n, sent in enumerate(self.taken) if sent["to"] == person and sent["type"] == "interactive")
        reply = self.taken[place]["interactive"]["action"]["buttons"][button]["reply"]
        message = {"type": "interactive", "interactive": {"type": "button_reply", "button_reply": reply}}
        known = f"wamid.{next(self._numbers)}"
        return [self._post(person, {**message, "context": {"id": f"wamid.S{place}"}}, known) for _ in range(times)]

    def texts(self, person: str) -> list[str]:
        """Return what a person has got, in order."""
        mine = [sent for sent in self.taken if sent["to"] == person]
        return [
            sent["text"]["body"] if sent["type"] == "text" else sent["interactive"]["body"]["text"] for sent in mine
        ]

    def turns(self, person: str) -> list[dict[str, Any]]:
        """Return a person's turns."""
        page = self._api.get(f"/v1/conversations/whatsapp:{ACCOUNT}:{person}/turns")
        items = page.json()["items"] if page.status_code == 200 else []
        return [self._api.get(f"/v1/turns/{item['turn_id']}").json() for item in items]

    def _post(self, person: str, message: dict[str, Any], message_id: str | None = None) -> int:
        message_id = message_id or f"wamid.{next(self._numbers)}"
        whole = {"id": message_id, "from": person, "timestamp": str(int(time.time()) + 1), **message}
        value = {"metadata": {"phone_number_id": _NUMBER}, "messages": [whole]}
        body = json.dumps({"entry": [{"changes": [{"field": "messages", "value": value}]}]}).encode()
        signature = hmac.new(_SECRET.encode(), body, sha256).hexdigest()
        headers = {"X-Hub-Signature-256": f"sha256={signature}", "Content-Type": "application/json"}
        return self._api.post(f"/v1/channels/whatsapp/{ACCOUNT}", content=body, headers=headers).status_code

    def _take(self, request: Request) -> Response:
        with self._lock:
            message_id = f"wamid.S{len(self.taken)}"
            self.taken.append(json.loads(request.data))
        return Response(json.dumps({"messages": [{"id": message_id}]}))


@contextmanager
def whatsapp_number(stack: Stack, api: httpx2.Client) -> Iterator[WhatsAppNumber]:
    """Play WhatsApp for an account of the development tenant."""
    run = channel_commands(stack)
    with LocalServer(ALLOWED_HOST) as server:
        number = WhatsAppNumber(api, server)
        secrets = {"app_secret": _SECRET, "verify_token": "v", "access_token": "t", "phone_number_id": _NUMBER}
        config = json.dumps({**secrets, "api_base": number.url, "pace": 1_000})
        run("set", "whatsapp", ACCOUNT, "--agent", "generic", "--config", "-", given=config)
        yield number
        run("remove", "whatsapp", ACCOUNT)
