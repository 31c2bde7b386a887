"""Any value in a path, a query or an id gets an answer, and never an internal error."""

import base64
import json
import re
from itertools import product
from typing import Any
from urllib.parse import quote

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.web.conftest import KeyMaker
from turnloom.models.runtime.secrets import new_key
from turnloom.models.runtime.settings import settings

_TEXTS = (
    "\0",
    "a\0b",
    "\ud800",
    "a\n",
    "\x7f",
    "\u202e",
    "😀",
    "é",
    " ",
    "..",
    "../..",
    "%",
    "%00",
    "'",
    '"',
    "\\",
    "{}",
    "a" * 5_000,
    "a/b",
    "//",
    "-1",
    "0",
    "9" * 5_000,
    "1e999",
    "NaN",
    "null",
    "true",
    "0001-01-01",
    "0001-01-05",
    "1969-12-31",
    "9999-12-31",
    "0000-00-00",
    "-0001-01-01",
    "2024-02-30",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
)
_PLACES: tuple[Any, ...] = (
    None,
    {},
    [],
    [[]],
    "",
    "\0",
    "\ud800",
    "x" * 500,
    -1,
    0,
    2**31,
    2**63,
    10**400,
    1e308,
    True,
    ["0001-01-01T00:00:00+23:59", "c"],
    ["9999-12-31T23:59:59.999999-23:59", "c"],
    ["0001-01-01T00:00:00Z", "\0"],
    [0, "c"],
    [-(10**15), "c"],
    [10**15, "c"],
    ["2024-01-01T00:00:00", "c"],
)
_CURSORS = tuple(base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=") for place in _PLACES)


_SHARES = 4
"""Tests that share the operations."""


def encoded(text: str) -> str:
    """Encode a text as a part of a URL. It may contain half of a surrogate pair."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def operations(client: FlaskClient) -> list[tuple[str, str, dict[str, Any]]]:
    """Return each operation of the API: its path, its method and its description."""
    paths = client.get("/openapi.json").get_json()["paths"]
    return [(path, method, one) for path, methods in paths.items() for method, one in methods.items()]


def body_of(operation: dict[str, Any]) -> Any:
    """Return an example of the body that an operation needs, or None."""
    return operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")


def faults(client: FlaskClient, url: str, method: str, body: Any) -> list[str]:
    """Send a request. Return its first line if the answer is a server error."""
    with client.open(url, method=method.upper(), json=body) as answer:
        found = answer.status_code
    return [] if 200 <= found < 500 else [f"{found} {method.upper()} {url[:120]}"]


@pytest.mark.parametrize("share", range(_SHARES))
def test_no_path_causes_a_server_error(client: FlaskClient, monkeypatch: pytest.MonkeyPatch, share: int) -> None:
    """Every operation copes with every text in every part of its path."""
    monkeypatch.setenv("TURNLOOM_SECRET_KEYS", json.dumps([new_key()]))  # an account cannot be stored without one
    settings.cache_clear()
    found = []
    for path, method, operation in operations(client)[share::_SHARES]:
        for name, text in product(re.findall(r"{(\w+)}", path), _TEXTS):
            url = re.sub(r"{(\w+)}", lambda part, n=name, t=text: encoded(t) if part[1] == n else "x", path)
            found += faults(client, url, method, body_of(operation))

    assert found == []


def test_no_query_causes_a_server_error(client: FlaskClient) -> None:
    """Every operation copes with every text in every query parameter, and with forged cursors."""
    ids = {"turn_id": client.post("/v1/turns", json={"message": "hi", "conversation_id": "c"}).get_json()["turn_id"]}
    client.put("/v1/users/u", json={"name": "u"})
    ids |= {"conversation_id": "c", "user_id": "u"}
    found = []
    for path, method, operation in operations(client):
        base = re.sub(r"{(\w+)}", lambda part: ids.get(part[1], "x"), path)
        needed = "conversation_id=c&" if path == "/v1/audit" else ""
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "query" and path not in ("/healthz", "/v1/turns"):
                for text in (*_TEXTS, *(_CURSORS if parameter["name"] == "cursor" else ())):
                    more = "&group_by=conversation" if path == "/v1/usage" and parameter["name"] != "group_by" else ""
                    url = f"{base}?{needed}{parameter['name']}={encoded(text)}{more}"
                    found += faults(client, url, method, body_of(operation))

    assert found == []


@pytest.mark.parametrize("field", ["conversation_id", "agent", "message_id", "mode"])
def test_no_id_in_a_message_causes_a_server_error(client: FlaskClient, field: str) -> None:
    """Any text as an id, an agent or a mode gets an answer that is no server error."""
    found = []
    for text in _TEXTS:
        found += faults(client, "/v1/turns", "post", {"message": "hi", field: text})

    assert found == []


@pytest.mark.parametrize("reference", ["a.value[{}]", "a.value.{}", "a[{}].x", "a.{}[0]"])
def test_an_index_that_is_too_long_is_refused(client: FlaskClient, reference: str) -> None:
    """An index that is too long is refused in an argument and in a condition."""
    endless = {"$from": reference.format("9" * 5_000)}
    echo = {"id": "a", "tool": "dates.resolve_hint", "args": {"hint": "tomorrow"}}
    for wrong in ({"args": {"hint": endless}}, {"args": {"hint": "today"}, "run_if": endless}):
        plan = {"steps": [echo, {"id": "b", "tool": "dates.resolve_hint", **wrong}]}

        answer = client.post("/v1/turns", json={"message": "hi", "plan": plan})

        assert answer.status_code == 422, answer.get_json()


@pytest.mark.parametrize("part", ["turns", "memory", "knowledge"])
def test_no_part_of_a_conversation_can_be_erased(client: FlaskClient, part: str) -> None:
    """A conversation's parts cannot be erased, and a conversation id cannot end like the name of a part."""
    client.post("/v1/turns", json={"message": "hi", "conversation_id": "c"})

    answer = client.delete(f"/v1/conversations/c/{part}")
    named_so = client.post("/v1/turns", json={"message": "hi", "conversation_id": f"c/{part}"})

    assert (answer.status_code, sorted(answer.headers["Allow"].split(", "))) == (405, ["GET", "HEAD", "OPTIONS"])
    assert named_so.status_code == 422
    assert "must not end in" in named_so.get_json()["detail"]


def test_a_path_without_an_account_makes_no_user(client: FlaskClient) -> None:
    """A PUT to `/v1/users/u/accounts`, without an account's name, makes no user `u/accounts`."""
    client.put("/v1/users/u", json={"name": "u"})

    answer = client.put("/v1/users/u/accounts", json={"name": "u"})

    assert answer.status_code == 404
    assert [user["id"] for user in client.get("/v1/users").get_json()["items"]] == ["u"]


@pytest.mark.parametrize("message", [" \n\t", "\u200b\u200d", "\u2060\ufeff", "\x01", "\u3164", "\u2800", "\ufe0f"])
def test_a_blank_message_is_refused(client: FlaskClient, message: str) -> None:
    """A message of spaces, control characters and zero-width characters only is refused."""
    answer = client.post("/v1/turns", json={"message": message})

    assert (answer.status_code, answer.get_json()["errors"][0]["field"]) == (422, "message")


@pytest.mark.parametrize("message", [" hi ", "?", "7", "👍", "❤️", "ש", "𝔥"])  # noqa: RUF001 - letters of other scripts
def test_any_sign_is_a_message(client: FlaskClient, message: str) -> None:
    """A letter, a digit, a punctuation mark or an emoji is a message."""
    assert client.post("/v1/turns", json={"message": message}).status_code == 202


def test_a_key_that_may_not_read_turns_cannot_wait_for_one(app: APIFlask, key: KeyMaker, client: FlaskClient) -> None:
    """The error names the missing scope before anything is recorded. Without `wait` the message is accepted."""
    writer = key("turns:write")
    message = {"message": "hi", "conversation_id": "w"}

    refused = client.post("/v1/turns?wait=1", json=message, headers=writer)
    recorded = client.get("/v1/conversations/w").status_code
    accepted = client.post("/v1/turns?wait=0", json=message, headers=writer)

    assert (refused.status_code, refused.get_json()["code"], recorded) == (403, "scope_missing", 404)
    assert "turns:read" in refused.get_json()["detail"]
    assert (accepted.status_code, set(accepted.get_json()) & {"steps", "reply"}) == (202, set())


def test_the_error_for_a_large_body_states_the_limit(client: FlaskClient) -> None:
    """The error states the limit in bytes."""
    answer = client.post("/v1/turns", json={"message": "x" * 300_000})

    assert (answer.status_code, answer.get_json()["code"]) == (413, "too_large")
    assert "262144 bytes" in answer.get_json()["detail"]
