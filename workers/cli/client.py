"""Talk to our own API, for the commands that use a running stack."""

import json
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import httpx2

from turnloom.models.errors import Unavailable

_TIMEOUT_S = 30.0
_RECONNECTS = 5


class Api:
    """A client that posts turns and follows them. Errors are `Unavailable` with the server's own sentence."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url.rstrip("/")
        self._http = httpx2.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {key}"}, timeout=_TIMEOUT_S, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def post_turn(self, **request: Any) -> dict[str, Any]:
        """Post a message and return what the API says on accepting it."""
        return self._answer("POST", "/v1/turns", json=request)

    def turn(self, turn_id: str) -> dict[str, Any]:
        """Return a turn as it stands."""
        return self._answer("GET", f"/v1/turns/{turn_id}")

    def trace(self, turn_id: str) -> dict[str, Any]:
        """Return where a turn's plans and reply come from."""
        return self._answer("GET", f"/v1/turns/{turn_id}/trace.json")

    def memory(self, conversation_id: str) -> dict[str, Any]:
        """Return what is settled and remembered in a conversation."""
        return self._answer("GET", f"/v1/conversations/{conversation_id}/memory")

    def knowledge(self, conversation_id: str) -> dict[str, Any]:
        """Return what a conversation knows."""
        return self._answer("GET", f"/v1/conversations/{conversation_id}/knowledge")

    def agents(self) -> list[dict[str, Any]]:
        """Return the agents."""
        items: list[dict[str, Any]] = self._answer("GET", "/v1/agents")["items"]
        return items

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools."""
        items: list[dict[str, Any]] = self._answer("GET", "/v1/tools")["items"]
        return items

    def events(self, turn_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (type, data) until the turn is final. A broken connection is resumed where it broke."""
        last = ""
        for _ in range(_RECONNECTS):
            try:
                for identifier, kind, data in self._stream(turn_id, last):
                    last = identifier or last
                    yield kind, data
                    if kind in ("turn.succeeded", "turn.failed", "turn.cancelled", "turn.superseded"):
                        return
            except httpx2.TransportError:
                continue
        raise Unavailable(f"{self.url} interrupted the events of turn {turn_id} {_RECONNECTS} times")

    def _stream(self, turn_id: str, last: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        headers = {"Last-Event-ID": last} if last else {}
        with self._http.stream("GET", f"/v1/turns/{turn_id}/events", headers=headers) as answer:
            if answer.is_error:
                answer.read()
                raise Unavailable(_problem(answer))
            fields: dict[str, str] = {}
            for line in answer.iter_lines():
                if line:
                    name, _, value = line.partition(":")
                    fields[name] = value.removeprefix(" ")
                elif "data" in fields:
                    yield fields.get("id", ""), fields.get("event", "message"), json.loads(fields["data"])
                    fields = {}

    def _answer(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        try:
            answer = self._http.request(method, path, **options)
        except httpx2.TransportError as error:
            raise Unavailable(f"{self.url} does not answer; `turnloom up` starts a stack there") from error
        if answer.is_error:
            raise Unavailable(_problem(answer))
        body: dict[str, Any] = answer.json()
        return body


def _problem(answer: httpx2.Response) -> str:
    try:
        problem = answer.json()
        details = "; ".join(str(entry.get("detail", "")) for entry in problem.get("errors", []))
        return f"{answer.status_code}: {problem['detail']}" + (f" ({details})" if details else "")
    except (ValueError, KeyError):
        return f"{answer.url} answered {answer.status_code}"
