"""Replays over HTTP: their list, page by page."""

from typing import Any

from flask.testing import FlaskClient

from tests.web.conftest import KeyMaker

TALK = {"conversation_id": "c1", "turns": [{"user": "hi"}]}


def made(client: FlaskClient) -> str:
    return str(client.post("/v1/replays", json={"conversations": [TALK]}).get_json()["replay_id"])


def pages(client: FlaskClient, limit: int, **headers: Any) -> list[list[str]]:
    """Return the ids on each page of the list."""
    found, cursor = list[list[str]](), ""
    while cursor is not None:
        page = client.get(f"/v1/replays?limit={limit}{cursor and f'&cursor={cursor}'}", **headers).get_json()
        found.append([each["replay_id"] for each in page["items"]])
        cursor = page["next_cursor"]
    return found


def test_replays_are_listed_page_by_page(client: FlaskClient, key: KeyMaker) -> None:
    """The newest first, each once; those of another tenant are not there."""
    names = [made(client) for _ in range(5)][::-1]

    assert pages(client, 2) == [names[:2], names[2:4], names[4:]]
    assert pages(client, 5) == [names]
    assert pages(client, 5, headers=key(tenant="others")) == [[]]
    assert client.get("/v1/replays?cursor=x").status_code == 422
    assert client.get("/v1/replays?limit=0").status_code == 422


def test_the_list_tells_how_far_each_one_is(client: FlaskClient) -> None:
    """It has what a single replay has, without the report."""
    name = made(client)

    (listed,) = client.get("/v1/replays").get_json()["items"]

    assert listed == client.get(f"/v1/replays/{name}").get_json()
    assert (listed["conversations"], listed["done"], listed["report"]) == (1, 0, None)
