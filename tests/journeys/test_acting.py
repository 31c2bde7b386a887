"""Tools use a user's account without showing its secret, and the user can react to a refusal."""

import base64
from collections.abc import Iterator
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg.types.json import Jsonb
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.conftest import ALLOWED_HOST
from tests.journeys.following import finished, post
from tests.tools.serving import LocalServer
from turnloom.workers.embedded.stack import Stack

NEEDLE = "correct-horse-battery"


class Refusing:
    """A calendar server that accepts no password and keeps those that it was offered."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = server.url_for("/ada/")
        self.offered: set[str] = set()
        server.expect_request("/ada/").respond_with_handler(self._refuse)

    def _refuse(self, request: Request) -> Response:
        self.offered.add(request.authorization.password if request.authorization else "")
        return Response(status=401, headers={"WWW-Authenticate": 'Basic realm="calendars"'})


@pytest.fixture
def calendar() -> Iterator[Refusing]:
    with LocalServer(ALLOWED_HOST) as server:
        yield Refusing(server)


def put(api: httpx2.Client, path: str, body: dict[str, object]) -> None:
    answer = api.put(path, json=body)
    assert answer.status_code == 200, answer.text


def introduce(api: httpx2.Client) -> None:
    """Put two people into the directory, and connect them."""
    scopes = ["calendar.availability.read", "calendar.events.propose"]
    for user_id in ("acting-ada", "acting-bob"):
        put(api, f"/v1/users/{user_id}", {"name": user_id, "scopes": scopes})
    put(api, "/v1/connections", {"users": ["acting-ada", "acting-bob"]})


def ask(api: httpx2.Client) -> dict[str, Any]:
    """Let one person propose a meeting to the other. This reads the calendars of both."""
    args = {"counterpart": "acting-bob", "duration_mins": 30}
    plan = {"steps": [{"id": "m", "tool": "network.schedule_meeting", "args": args}]}
    return post(api, agent="assistant", user={"id": "acting-ada"}, plan=plan)


def everything_about(api: httpx2.Client, stack: Stack, turn_id: str, conversation_id: str) -> str:
    """Return everything that can be read about a turn, the logs of all processes, and the whole database."""
    paths = [f"/v1/turns/{turn_id}{part}" for part in ("", "/events", "/trace.json", "/explain")]
    paths += [
        f"/v1/conversations/{conversation_id}/memory",
        f"/v1/audit?conversation_id={conversation_id}",
        "/v1/users",
    ]
    texts = [api.get(path).text for path in paths]
    texts += [path.read_text("utf-8") for path in stack.servers.home.logs.iterdir()]
    with psycopg.connect(stack.database_url) as db:
        tables = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (table,) in tables:
            texts += [row[0] for row in db.execute(f'SELECT t::text FROM "{table}" t').fetchall()]
    return "\n".join(texts)


def test_a_duplicate_proposal_is_refused_with_409(api: httpx2.Client) -> None:
    """A caller that posts a plan and waits for its end gets the conflict as the status. A repeated message is none."""
    introduce(api)
    steps = [
        {"id": "m", "tool": "network.schedule_meeting", "args": {"counterpart": "acting-bob", "duration_mins": 25}}
    ]
    body = {"message": "go", "agent": "assistant", "user": {"id": "acting-ada"}, "plan": {"steps": steps}}
    body["conversation_id"] = "acting-duplicates"

    answers = [
        api.post("/v1/turns?wait=20", json={**body, "message_id": f"acting-{number}"}) for number in (1, 2, 1, 2)
    ]

    assert [answer.status_code for answer in answers] == [200, 409, 200, 409]
    assert answers[0].json() == answers[2].json()
    problem = answers[1].json()
    assert (problem["code"], "step 'm': these times were proposed already" in problem["detail"]) == ("conflict", True)


def test_a_secret_goes_to_its_service_and_nowhere_else(api: httpx2.Client, stack: Stack, calendar: Refusing) -> None:
    """The service refuses the secret: the step fails, the account needs a new one, and the reply tells the user."""
    introduce(api)
    account = {"settings": {"url": calendar.url, "username": "ada"}, "secret": {"password": NEEDLE}}
    put(api, "/v1/users/acting-ada/accounts/caldav", account)

    accepted = ask(api)
    turn = finished(api, accepted["turn_id"])

    assert [(step["status"], step["error"]["code"]) for step in turn["steps"]] == [("failed", "REAUTH_REQUIRED")]
    assert "connect the account anew" in turn["reply"]["text"]
    (shown,) = api.get("/v1/users/acting-ada").json()["accounts"]
    assert (shown["status"], shown["has_secret"]) == ("reauth_required", True)
    seen = everything_about(api, stack, accepted["turn_id"], accepted["conversation_id"])
    assert calendar.offered >= {NEEDLE}
    assert NEEDLE not in seen
    assert base64.b64encode(f"ada:{NEEDLE}".encode()).decode() not in seen
    assert NEEDLE.encode().hex() not in seen


def test_a_calendar_at_an_internal_address_is_refused_at_both_ends(
    api: httpx2.Client, stack: Stack, httpserver: HTTPServer
) -> None:
    """A key that may write users cannot make us call internal addresses, not even through an older account."""
    introduce(api)
    inside = {"url": httpserver.url_for("/cal/"), "username": "ada"}
    path = "/v1/users/acting-ada/accounts/caldav"

    refused = api.put(path, json={"settings": inside})
    put(api, path, {"settings": {"url": "https://calendar.invalid/ada/"}})
    with psycopg.connect(stack.database_url) as db:
        db.execute("UPDATE accounts SET settings = %s WHERE user_id = 'acting-ada'", [Jsonb(inside)])
    turn = finished(api, ask(api)["turn_id"])

    assert (refused.status_code, [each["field"] for each in refused.json()["errors"]]) == (422, ["settings.url"])
    assert [(step["status"], step["error"]["code"]) for step in turn["steps"]] == [("failed", "CONNECTION_INACTIVE")]
    assert httpserver.log == []
