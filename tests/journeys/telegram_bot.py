"""Play Telegram: post what people write to a bot, and take what the bot sends."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import httpx2
from werkzeug import Request, Response

from tests.conftest import ALLOWED_HOST
from tests.journeys.stacks import command
from tests.tools.serving import LocalServer
from turnloom.models.ledger.keys import DEVELOPMENT_TENANT
from turnloom.workers.embedded.stack import Stack

ACCOUNT = "desk"
_TOKEN = "shared-with-telegram"
_BOT = "1:bot"
NUMBERS = count(1)
"""The numbers of people and messages: a stack that several bots are played to sees none of them twice."""
_FINAL = {"sent", "delivered", "read", "failed", "unknown", "withheld"}


class TelegramBot:
    """A bot's account in a stack, with Telegram on the other side."""

    def __init__(self, api: httpx2.Client, server: LocalServer) -> None:
        self.url = server.url_for("").rstrip("/")
        self.taken: list[tuple[int, str]] = []
        """Chat and text of each message that Telegram took from the bot."""
        self.keyboards: dict[str, Any] = {}
        """The buttons of those messages, by `chat/message`."""
        self.is_up = threading.Event()
        """While it is not set, Telegram takes nothing."""
        self.is_up.set()
        self._api, self._numbers, self._lock = api, NUMBERS, threading.Lock()
        server.expect_request(f"/bot{_BOT}/sendMessage").respond_with_handler(self._take)
        server.expect_request(f"/bot{_BOT}/getMe").respond_with_json({"ok": True, "result": {}})

    def new_person(self) -> int:
        """Return a person who has not written yet."""
        return 1_000_000 + next(self._numbers)

    def update(self, person: int, text: str) -> dict[str, Any]:
        """Return what Telegram posts when a person writes."""
        number = next(self._numbers)
        chat = {"id": person, "type": "private"}
        sender = {"id": person, "is_bot": False, "first_name": "Ada"}
        message = {"message_id": number, "date": 1_900_000_000, "from": sender, "chat": chat, "text": text}
        return {"update_id": number, "message": message}

    def tap(self, person: int, button: int) -> dict[str, Any]:
        """Return what Telegram posts when a person taps a button of the last message that has some."""
        shown, keyboard = next(each for each in reversed(self.keyboards.items()) if each[0].startswith(f"{person}/"))
        number, chat = next(self._numbers), {"id": person, "type": "private"}
        message = {"message_id": int(shown.split("/")[1]), "date": 0, "chat": chat, "reply_markup": keyboard}
        sender = {"id": person, "is_bot": False, "first_name": "Ada"}
        data = keyboard["inline_keyboard"][button][0]["callback_data"]
        query = {"id": f"q{number}", "from": sender, "message": message, "data": data}
        return {"update_id": number, "callback_query": query}

    def post(self, update: dict[str, Any], token: str = _TOKEN) -> int:
        """Post it; return the status, 0 while the API is down."""
        try:
            address = f"/v1/channels/telegram/{ACCOUNT}"
            return self._api.post(address, json=update, headers={"X-Telegram-Bot-Api-Secret-Token": token}).status_code
        except httpx2.TransportError:
            return 0

    def turns(self, person: int) -> list[dict[str, Any]]:
        """Return a person's turns; an empty list if there are none, or the API is down."""
        try:
            page = self._api.get(f"/v1/conversations/telegram:{ACCOUNT}:{person}/turns")
            items = page.json()["items"] if page.status_code == 200 else []
            return [self._api.get(f"/v1/turns/{item['turn_id']}").json() for item in items]
        except httpx2.TransportError:
            return []

    def is_settled(self, person: int, messages: int) -> bool:
        """Whether this many messages of a person have a turn, and each part of the replies is final."""
        turns = self.turns(person)
        parts = [part["status"] for turn in turns for part in turn.get("deliveries", ())]
        return len(turns) == messages and all(turn["deliveries"] for turn in turns) and set(parts) <= _FINAL

    def are_final(self, person: int) -> bool:
        """Whether all turns of a person are final, and so are the parts of their replies."""
        turns = self.turns(person)
        parts = {part["status"] for turn in turns for part in turn["deliveries"]}
        return all(turn["reply"] for turn in turns) and parts <= _FINAL

    def texts(self, person: int) -> list[str]:
        """Return what a person has got, in order."""
        return [text for chat, text in self.taken if chat == person]

    def _take(self, request: Request) -> Response:
        if not self.is_up.is_set():
            return Response(json.dumps({"ok": False, "error_code": 502, "description": "Bad Gateway"}), 502)
        asked = json.loads(request.data)
        with self._lock:
            self.taken.append((asked["chat_id"], asked["text"]))
            result = {"message_id": len(self.taken), "chat": {"id": asked["chat_id"]}}
            if "reply_markup" in asked:
                self.keyboards[f"{asked['chat_id']}/{len(self.taken)}"] = asked["reply_markup"]
        return Response(json.dumps({"ok": True, "result": result}))


@contextmanager
def telegram_bot(stack: Stack, api: httpx2.Client) -> Iterator[TelegramBot]:
    """Play Telegram for an account of the development tenant."""
    run = channel_commands(stack)
    with LocalServer(ALLOWED_HOST) as server:
        bot = TelegramBot(api, server)
        config = {"secret_token": _TOKEN, "bot_token": _BOT, "api_base": bot.url, "pace": 1_000}
        run("set", "telegram", ACCOUNT, "--agent", "generic", "--config", "-", given=json.dumps(config))
        yield bot
        run("remove", "telegram", ACCOUNT)


def channel_commands(stack: Stack) -> Callable[..., str]:
    """Return what runs `turnloom channel …` on a stack for the development tenant, and returns what it prints."""

    def run(*args: str, given: str = "") -> str:
        return command(stack, "channel", *args, "--tenant", DEVELOPMENT_TENANT, given=given)

    return run
