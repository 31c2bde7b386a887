"""The client posts a message once, however often it sends it, and follows a turn across broken connections."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from werkzeug import Request, Response

from tests.tools.serving import LocalServer
from turnloom.client import ApiError, ApiUnreachable, Client, retries

ACCEPTED = {
    "turn_id": "t1",
    "conversation_id": "c1",
    "seq": 1,
    "status": "queued",
    "links": {"self": "/v1/turns/t1", "events": "/v1/turns/t1/events"},
}

_ALONE = """
import sys

ALLOWED = {"turnloom", "httpx2", "httpcore2", "h11", "anyio", "idna", "certifi", "truststore", "sniffio", "pydantic",
           "pydantic_core", "typing_extensions", "annotated_types", "typing_inspection", "_pytest"}
OURS = ("turnloom.client", "turnloom.models.contracts")

class Wall:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        is_ours = top != "turnloom" or name in ("turnloom", "turnloom.models") or name.startswith(OURS)
        is_pythons = top in sys.stdlib_module_names or top.startswith(("_sysconfigdata", "__editable"))
        if not (is_ours and (is_pythons or top in ALLOWED)):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Wall())
from turnloom.client import Client
print(Client("http://127.0.0.1:1", "key").url)
"""


class Answering:
    """A stand-in for the API that answers each request by the next of its answers."""

    def __init__(self, server: LocalServer) -> None:
        self.url = f"http://127.0.0.1:{server.port}"
        self.answers: list[Response | Callable[[], Response]] = []
        self.got: list[Request] = []
        server.expect_request(pattern()).respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        request.get_data()
        self.got.append(request)
        given = self.answers.pop(0)
        return given if isinstance(given, Response) else given()


def pattern() -> Any:
    import re  # noqa: PLC0415 - the server's own kind of address

    return re.compile("/v1/.*|/v1/turns")


@pytest.fixture
def there() -> Iterator[Answering]:
    with LocalServer() as server:
        yield Answering(server)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between tries, which are not waited for."""
    made: list[float] = []
    monkeypatch.setattr(retries.time, "sleep", made.append)
    return made


def events(*named: tuple[str, str]) -> Response:
    data = "".join(f"id: {number}\nevent: {kind}\ndata: {{}}\n\n" for number, kind in named)
    return Response(f": hello\n\n{data}", content_type="text/event-stream")


def test_it_needs_nothing_of_the_server() -> None:
    """It can be imported and made where neither the server's packages nor its libraries are."""
    run = subprocess.run([sys.executable, "-c", _ALONE], capture_output=True, text=True, check=False)

    assert (run.stdout, run.stderr) == ("http://127.0.0.1:1\n", "")


def test_a_message_that_is_sent_again_has_the_same_id(there: Answering, pauses: list[float]) -> None:
    """The API cannot take it for two messages. Its Retry-After is obeyed."""
    busy = Response("{}", 503, headers={"Retry-After": "7"})
    there.answers = [busy, Response("no page of ours", 502), Response(json.dumps(ACCEPTED), 202)]
    with Client(there.url, "key") as client:
        accepted = client.post("hello", agent="hotel")

    bodies = [request.get_json() for request in there.got]
    assert accepted.turn_id == "t1"
    assert bodies[0] == bodies[1] == bodies[2]
    assert (bodies[0]["message"], bodies[0]["agent"], bool(bodies[0]["message_id"])) == ("hello", "hotel", True)
    assert pauses[0] == 7
    assert 0 < pauses[1] < 1


def test_a_refusal_is_not_sent_again(there: Answering, pauses: list[float]) -> None:
    """The error has the API's sentence, its code and its faults."""
    problem = {"detail": "agent: there is none", "code": "not_found", "errors": [{"detail": "look at /v1/agents"}]}
    there.answers = [Response(json.dumps(problem), 404)]
    with Client(there.url, "key") as client, pytest.raises(ApiError) as refused:
        client.post("hello", agent="nobody")

    assert (refused.value.status, refused.value.code, len(there.got), pauses) == (404, "not_found", 1, [])
    assert str(refused.value) == "404: agent: there is none (look at /v1/agents)"


def test_patience_ends() -> None:
    """Where nobody answers, the error names the address."""
    with Client("http://127.0.0.1:1", "key", patience_s=0) as client, pytest.raises(ApiUnreachable) as failed:
        client.turn("t1")

    assert "http://127.0.0.1:1" in str(failed.value)


def test_a_broken_stream_goes_on_where_it_broke(there: Answering, pauses: list[float]) -> None:
    """The API is asked for what came after the last event. Nothing comes twice."""
    there.answers = [events(("1", "turn.queued"), ("2", "step.started")), events(("3", "turn.succeeded"))]
    with Client(there.url, "key") as client:
        seen = list(client.stream("t1"))

    assert [(event.id, event.type, event.is_last) for event in seen] == [
        ("1", "turn.queued", False),
        ("2", "step.started", False),
        ("3", "turn.succeeded", True),
    ]
    assert [request.headers.get("Last-Event-ID") for request in there.got] == [None, "2"]
    assert len(pauses) == 1


def test_a_wait_ends_in_time(there: Answering) -> None:
    """A turn that is not final in time raises TimeoutError, although the API says nothing meanwhile."""
    gate = threading.Event()

    def silent() -> Response:
        gate.wait(8)
        return events()

    there.answers = [silent]
    with Client(there.url, "key") as client, pytest.raises(TimeoutError):
        client.wait("t1", within_s=0.2)
    gate.set()
