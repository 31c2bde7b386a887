"""The provider's server: takes what we send, answers with errors now and then, and tells of each message it took."""

import json
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from turnloom.workers.simulator.protocol import ProviderDialect, Refusal, Sending
from turnloom.workers.simulator.windows import ServiceWindows

_REFUSED_AT_ONCE = 0.5
"""The share of messages to closed windows that are refused in the answer."""


@dataclass(frozen=True, slots=True)
class TakenMessage:
    """A message of ours that the provider took."""

    place: int
    """Its place among all that were taken, from 1."""
    provider_id: str
    sending: Sending


@dataclass
class Provider:
    """The provider and its record of what it took and refused. Threads share it."""

    dialect: ProviderDialect
    errors: float
    """The share of sends that are answered with an error."""
    chance: random.Random
    tell: Callable[[TakenMessage], None]
    windows: ServiceWindows
    fail: Callable[[str, Sending], None]
    """Tells of a message that was taken, and that a receipt shall call failed."""
    taken: list[TakenMessage] = field(default_factory=list)
    refused: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def templates(self) -> int:
        """How many of the messages that it took were templates."""
        return sum(message.sending.is_template for message in self.taken)

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Answer a request of ours: status, headers and body."""
        sending = self.dialect.read(path, headers, body)
        if sending is None:
            return 200, {}, json.dumps(self.dialect.known_account()).encode()
        closed = self.dialect.closed_window()
        if closed is not None and not sending.is_template and self.windows.refuse(sending.recipient):
            return self._refuse_late(sending, closed)
        with self._lock:
            if self.chance.random() < self.errors:
                self.refused += 1
                return _written(self.dialect.refusal(self.chance))
            message = TakenMessage(len(self.taken) + 1, self.dialect.new_id(sending), sending)
            self.taken.append(message)
        self.tell(message)
        return 200, {}, json.dumps(self.dialect.taken(message.provider_id, sending)).encode()

    def _refuse_late(self, sending: Sending, closed: Refusal) -> tuple[int, dict[str, str], bytes]:
        """Refuse a message to a person whose window is closed: in the answer, or in a receipt soon after it."""
        with self._lock:
            if self.chance.random() < _REFUSED_AT_ONCE:
                return _written(closed)
            provider_id = self.dialect.new_id(sending)
        self.fail(provider_id, sending)
        return 200, {}, json.dumps(self.dialect.taken(provider_id, sending)).encode()


def _written(refusal: Refusal) -> tuple[int, dict[str, str], bytes]:
    status, headers, said = refusal
    return status, headers, json.dumps(said).encode()


class ProviderServer(ThreadingHTTPServer):
    """The provider on a port of this machine."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, provider: Provider, address: tuple[str, int]) -> None:
        super().__init__(address, _Handler)
        self.provider = provider

    @property
    def url(self) -> str:
        """The base URL to give as the account's `api_base`."""
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: ProviderServer

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, more, said = self.server.provider.answer(self.path, headers, body)
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(said)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST = _handle  # noqa: N815 - the names of http.server

    def log_message(self, *_: Any) -> None:
        """Write no line for each request."""
