"""Telegram's side of its protocol: updates, one in a post, and a pause that an error names."""

import json
import random
import time
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from turnloom.workers.channels.protocol import ProviderAccount
from turnloom.workers.simulator.protocol import Refusal, Sending, WrittenMessage


class TelegramProvider:
    """The provider of an account of Telegram."""

    has_batches, has_order = False, True

    def __init__(self, account: ProviderAccount) -> None:
        self._account = account
        self._numbers = count(1_000_000)
        self._first_update = int(time.time() * 1_000)

    def message_id(self, run: str, number: int) -> str:  # noqa: ARG002 - updates count across runs
        return str(self._first_update + number)

    def person(self, run: str, number: int) -> str:
        return f"9{run}{number:05}"

    def recipient(self, person: str) -> str:
        return person

    def body(self, messages: Sequence[WrittenMessage]) -> bytes:
        (each,) = messages
        return json.dumps({"update_id": int(each.id), "message": {**_head(each), "text": each.text}}).encode()

    def edit(self, message: WrittenMessage, edit_id: str, text: str) -> bytes | None:
        said = {**_head(message), "edit_date": message.at, "text": text}
        return json.dumps({"update_id": int(edit_id), "edited_message": said}).encode()

    def receipt(self, provider_id: str, sending: Sending, status: str) -> bytes | None:  # noqa: ARG002 - Telegram has none
        return None

    def headers(self, body: bytes, path: str) -> dict[str, str]:  # noqa: ARG002 - nothing is signed
        token = self._account.config.secret_token.get_secret_value()
        return {"Content-Type": "application/json", "X-Telegram-Bot-Api-Secret-Token": token}

    def read(self, path: str, headers: Mapping[str, str], body: bytes) -> Sending | None:  # noqa: ARG002 - the body says all
        return Sending(str(json.loads(body)["chat_id"])) if path.endswith("/sendMessage") else None

    def new_id(self, sending: Sending) -> str:
        return f"{sending.recipient}/{next(self._numbers)}"

    def taken(self, provider_id: str, sending: Sending) -> Any:
        message_id = int(provider_id.partition("/")[2])
        return {
            "ok": True,
            "result": {"message_id": message_id, "chat": _private(sending.recipient)},
        }

    def refusal(self, chance: random.Random) -> Refusal:  # noqa: ARG002 - there is one
        said = {"ok": False, "error_code": 429, "description": "Too Many Requests: retry after 1"}
        return 429, {}, {**said, "parameters": {"retry_after": 1}}

    def closed_window(self) -> Refusal | None:
        return None

    def known_account(self) -> Any:
        return {"ok": True, "result": {"id": 1, "is_bot": True, "username": "simulated_bot"}}


def _head(message: WrittenMessage) -> dict[str, Any]:
    person = {"id": int(message.person), "is_bot": False, "first_name": f"Person {message.person[-5:]}"}
    return {
        "message_id": message.number + 1,
        "date": message.at,
        "from": person,
        "chat": _private(message.person),
    }


def _private(person: str) -> dict[str, Any]:
    return {"id": int(person), "type": "private"}
