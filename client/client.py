"""The client. Calls that fail for now are made again; a message keeps its id, so that it is one turn."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import httpx2

from turnloom.client.api_errors import ApiError, ApiUnreachable, error_of
from turnloom.client.retries import Retries
from turnloom.client.turn_events import TurnEvent, read_stream
from turnloom.models.contracts.turn import TurnAccepted, TurnRequest, TurnState, TurnView

_READ_S = 30.0
"""The API sends something every 15 s, also on a quiet stream."""


class Client:
    """A client of one API with one key. Threads may share it."""

    def __init__(self, url: str, key: str, *, patience_s: float = 60.0) -> None:
        """`patience_s`: how long one call is tried again while the API is out of reach, busy or over a rate."""
        self.url = url.rstrip("/")
        self._patience_s = patience_s
        headers = {"Authorization": f"Bearer {key}"}
        # To be ready for TLS, the machine's certificate authorities are read, which takes longer than a call.
        is_tls = self.url.lower().startswith("https:")
        self._http = httpx2.Client(base_url=self.url, headers=headers, timeout=_READ_S, trust_env=False, verify=is_tls)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def post(self, message: str, **fields: Any) -> TurnAccepted:
        """Post a message; return the turn that it opened or became a part of.

        `fields` are those of `TurnRequest`. Without a `message_id` the message gets one, and each try carries the same.

        Raises:
            ValidationError: pydantic's; a field is wrong.
            ApiError: the API refuses the message.
            ApiUnreachable: it does not answer.
        """
        request = TurnRequest.model_validate({"message_id": str(uuid4()), **fields, "message": message})
        answer = self.request("POST", "/v1/turns", request.model_dump(mode="json", exclude_unset=True))
        return TurnAccepted.model_validate(answer, extra="ignore")

    def turn(self, turn_id: str) -> TurnView:
        """Return a turn as it stands."""
        return TurnView.model_validate(self.request("GET", f"/v1/turns/{turn_id}"), extra="ignore")

    def wait(self, turn_id: str, within_s: float = math.inf) -> TurnView:
        """Return a turn when it is final.

        Raises:
            TimeoutError: it is not final in time.
        """
        for _ in self.stream(turn_id, within_s=within_s):
            pass
        return self.turn(turn_id)

    def ask(self, message: str, within_s: float = math.inf, **fields: Any) -> TurnView:
        """Post a message and return its turn when it is final: `post` and `wait`."""
        return self.wait(self.post(message, **fields).turn_id, within_s)

    def cancel(self, turn_id: str) -> TurnState:
        """Cancel a turn; a final one stays as it is."""
        return TurnState.model_validate(self.request("POST", f"/v1/turns/{turn_id}/cancel"), extra="ignore")

    def stream(self, turn_id: str, after: str = "", within_s: float = math.inf) -> Iterator[TurnEvent]:
        """Yield the events of a turn until it is final, none lost and none twice. `after`: the id of an event.

        Raises:
            TimeoutError: it is not final in time.
            ApiUnreachable: the connection broke, and could not be made again.
        """
        until = time.monotonic() + within_s
        retries = Retries(self._patience_s)
        broken: ApiError | ApiUnreachable
        while True:
            try:
                for event in self._connected(turn_id, after, until):
                    retries = Retries(self._patience_s)
                    if event is not None:
                        after = event.id or after
                        yield event
                        if event.is_last:
                            return
                broken = ApiUnreachable(f"{self.url} broke off the events of turn {turn_id}")
            except (ApiError, ApiUnreachable) as error:
                broken = error
            _check(until, turn_id)
            retries.pause(broken)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Call any route that may be called twice, and return its JSON.

        Raises:
            ApiError: the API refuses it.
            ApiUnreachable: it does not answer.
        """
        retries = Retries(self._patience_s)
        while True:
            try:
                return self._answered(method, path, body)
            except (ApiError, ApiUnreachable) as error:
                retries.pause(error)

    def _answered(self, method: str, path: str, body: Any) -> Any:
        with self._reaching():
            answer = self._http.request(method, path, json=body)
        if answer.is_error:
            raise error_of(answer)
        return answer.json()

    def _connected(self, turn_id: str, after: str, until: float) -> Iterator[TurnEvent | None]:
        """Yield events until the connection ends; None for each sign that it lives."""
        _check(until, turn_id)
        read_s = min(_READ_S, until - time.monotonic())
        headers = {"Last-Event-ID": after} if after else {}
        with (
            self._reaching(),
            self._http.stream("GET", f"/v1/turns/{turn_id}/events", headers=headers, timeout=read_s) as answer,
        ):
            if answer.is_error:
                answer.read()
                raise error_of(answer)
            for event in read_stream(answer.iter_lines()):
                yield event
                _check(until, turn_id)
                if event is None and until - time.monotonic() < _READ_S:
                    return  # another connection, which waits no longer than the caller does

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except httpx2.TransportError as error:
            raise ApiUnreachable(f"{self.url} does not answer: {type(error).__name__}") from error


def _check(until: float, turn_id: str) -> None:
    if time.monotonic() >= until:
        raise TimeoutError(f"turn {turn_id} was not final in time")
