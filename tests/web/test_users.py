"""The directory is managed over HTTP: users, accounts without their secrets, connections."""

import json
from typing import Any

import pytest
from flask.testing import FlaskClient

from turnloom.models.runtime.secrets import new_key
from turnloom.models.runtime.settings import settings

NEEDLE = "correct horse"
ACCOUNT = {"settings": {"url": "https://cal.example.com"}, "secret": {"password": NEEDLE}}


@pytest.fixture(autouse=True)
def with_key(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that encrypts secrets."""
    monkeypatch.setenv("TURNLOOM_SECRET_KEYS", json.dumps([new_key()]))
    settings.cache_clear()


def put(client: FlaskClient, path: str, body: dict[str, Any], status: int = 200) -> dict[str, Any]:
    answer = client.put(path, json=body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def test_a_user_is_put_and_shown(client: FlaskClient) -> None:
    """Fields that are left out get their default. Putting again replaces the profile, not the accounts."""
    made = put(client, "/v1/users/noa", {"name": "Noa", "timezone": "Asia/Jerusalem", "scopes": ["b", "a"]})
    put(client, "/v1/users/noa/accounts/caldav", ACCOUNT)
    put(client, "/v1/users/noa", {"name": "Noa Levi"})
    shown = client.get("/v1/users/noa").get_json()

    assert (made["id"], made["timezone"], made["scopes"], made["accounts"]) == ("noa", "Asia/Jerusalem", ["a", "b"], [])
    assert (shown["name"], shown["timezone"], shown["scopes"]) == ("Noa Levi", "Asia/Jerusalem", [])
    assert [account["integration"] for account in shown["accounts"]] == ["caldav"]
    assert shown["working_hours"]["mon"] == ["09:00", "17:00"]


def test_no_answer_has_a_secret(client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    """The secret is in no answer, in no refusal and in no line of the log."""
    put(client, "/v1/users/noa", {"name": "Noa"})
    answers = [
        client.put("/v1/users/noa/accounts/caldav", json=ACCOUNT),
        client.put("/v1/users/noa/accounts/caldav", json={**ACCOUNT, "status": NEEDLE}),
        client.put("/v1/users/noa/accounts/caldav", json={"secret": NEEDLE}),
        client.get("/v1/users/noa"),
        client.get("/v1/users"),
    ]

    assert [answer.status_code for answer in answers] == [200, 422, 422, 200, 200]
    assert answers[0].get_json()["has_secret"] is True
    assert NEEDLE not in "".join(answer.text for answer in answers) + caplog.text


def test_removing_an_account(client: FlaskClient) -> None:
    """A removed account is gone; removing it again gets 404."""
    put(client, "/v1/users/noa", {"name": "Noa"})
    put(client, "/v1/users/noa/accounts/caldav", ACCOUNT)

    answers = [client.delete("/v1/users/noa/accounts/caldav").status_code for _ in range(2)]

    assert (answers, client.get("/v1/users/noa").get_json()["accounts"]) == ([204, 404], [])


def test_users_come_in_pages(client: FlaskClient) -> None:
    """Users are listed by id, page by page, each once."""
    for user_id in ("c", "a", "b/x", "Z"):
        put(client, f"/v1/users/{user_id}", {"name": user_id})
    first = client.get("/v1/users?limit=3").get_json()
    second = client.get("/v1/users", query_string={"limit": 3, "cursor": first["next_cursor"]}).get_json()

    assert [user["id"] for page in (first, second) for user in page["items"]] == ["Z", "a", "b/x", "c"]
    assert second["next_cursor"] is None


def test_connections(client: FlaskClient) -> None:
    """Two users have one connection, in whichever order they are named, active or not."""
    for user_id in ("noa", "omer"):
        put(client, "/v1/users/" + user_id, {"name": user_id})
    made = put(client, "/v1/connections", {"users": ["omer", "noa"]})
    off = put(client, "/v1/connections", {"users": ["noa", "omer"], "status": "inactive"})

    assert (made["users"], made["status"]) == (["noa", "omer"], "active")
    assert off == {**made, "status": "inactive"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/users/noa", {}, 422),
        ("/v1/users/noa", {"name": "x", "timezone": "Mars"}, 422),
        ("/v1/users/noa", {"name": "x", "working_hours": {"mon": ["17:00", "09:00"]}}, 422),
        ("/v1/users/noa", {"name": "x", "email": 1}, 422),
        ("/v1/users/n%C3%A9", {"name": "x"}, 404),
        ("/v1/users/ghost/accounts/caldav", {}, 404),
        ("/v1/users/there/accounts/NOT%20ONE", {}, 404),
        ("/v1/connections", {"users": ["there", "ghost"]}, 404),
        ("/v1/connections", {"users": ["there", "there"]}, 422),
        ("/v1/connections", {"users": ["there"]}, 422),
    ],
)
def test_a_wrong_body_is_a_problem(client: FlaskClient, path: str, body: dict[str, Any], status: int) -> None:
    """Each wrong body gets its status, and nothing changes."""
    put(client, "/v1/users/there", {"name": "there"})

    put(client, path, body, status)

    assert [user["id"] for user in client.get("/v1/users").get_json()["items"]] == ["there"]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/cal/",
        "http://localhost/",
        "http://0x7f.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://10.0.0.7/",
        "http://8.8.8.8:6379/",
        "file:///etc/passwd",
        "gopher://8.8.8.8/",
        "https://noa:secret@8.8.8.8/",
        "https://[8.8.8.8/",
        "https://8.8.8.8:99999/",
        "cal.example.com",
        "",
        7,
    ],
)
def test_an_account_at_an_internal_address_is_refused(url: object, client: FlaskClient) -> None:
    """The answer is 422 and names the field, and no account is made."""
    put(client, "/v1/users/noa", {"name": "Noa"})

    refused = put(client, "/v1/users/noa/accounts/caldav", {"settings": {"url": url}}, 422)

    assert [error["field"] for error in refused["errors"]] == ["settings.url"]
    assert client.get("/v1/users/noa").get_json()["accounts"] == []


def test_a_setting_allows_an_internal_address(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same setting holds for every URL that a caller names."""
    put(client, "/v1/users/noa", {"name": "Noa"})
    monkeypatch.setenv("TURNLOOM_ALLOWED_HOSTS", '["10.0.0.7:8080"]')
    settings.cache_clear()

    put(client, "/v1/users/noa/accounts/caldav", {"settings": {"url": "http://10.0.0.7:8080/noa/"}})


def test_without_a_key_for_secrets_it_says_so(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is 503 and names the setting. An account without a secret needs no key."""
    put(client, "/v1/users/noa", {"name": "Noa"})
    monkeypatch.setattr(settings(), "secret_keys", [])

    refused = put(client, "/v1/users/noa/accounts/caldav", ACCOUNT, 503)

    assert refused["code"] == "secret_keys_missing"
    assert "TURNLOOM_SECRET_KEYS" in refused["detail"]
    put(client, "/v1/users/noa/accounts/caldav", {"settings": {}})
