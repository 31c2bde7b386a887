"""Operators list what did not end properly in their tenant, page by page."""

import base64
import json
from typing import Any
from uuid import UUID

import pytest
from flask.testing import FlaskClient
from sqlalchemy import text

from tests.models.ledger.stopping import broken_turn, undecided_turn
from tests.web.dead_letters import given_up, listed, stranded
from turnloom.models.connections.database import transaction


def cursor_of(place: Any) -> str:
    """Return a cursor as a page has it."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def test_dead_letters_are_listed_for_their_tenant_only(
    operator: FlaskClient, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest first, of each kind, with what is needed to act on them."""
    undecided, part, callback = undecided_turn(), stranded(), given_up(monkeypatch)

    found = listed(operator)

    assert [(each["kind"], each["turn_id"], each["step"], each["part"], each["code"]) for each in found] == [
        ("callback", str(callback), None, None, "url_not_allowed"),
        ("delivery", str(part), None, 1, "blocked"),
        ("step", str(undecided), "w", None, "NOT_FOUND"),
    ]
    assert {each["tenant"] for each in found} == {"acme"}
    assert (listed(operator, "?limit=1"), listed(client)) == (found[:1], [])


def test_the_list_is_read_page_by_page(operator: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be decided or sent again comes before turns that our fault has ended, however many those are."""
    undecided, part, callback = undecided_turn(), stranded(), given_up(monkeypatch)
    broken = [broken_turn(f"broken {number}") for number in range(3)]

    pages: list[dict[str, Any]] = []
    while not pages or pages[-1]["next_cursor"]:
        cursor = f"&cursor={pages[-1]['next_cursor']}" if pages else ""
        pages.append(operator.get(f"/v1/dead-letters?limit=2{cursor}").get_json())

    found = [UUID(each["turn_id"]) for page in pages for each in page["items"]]
    assert found == [callback, part, undecided, *reversed(broken)]
    assert len(pages) == 3


def test_steps_of_one_turn_are_on_several_pages(operator: FlaskClient) -> None:
    """What ended at the same time is told apart by what it is."""
    turn = undecided_turn()
    names = [f"w{number}" for number in range(5)]
    with transaction() as db:
        columns = "tenant_id, turn_id, revision, position, tool, args, needs, inputs, effect, queue, inline, critical"
        columns += ", fallbacks, on_need_error, timeout_ms, status, attempt, finished_at"
        copied = f"INSERT INTO steps (id, {columns}) SELECT :name, {columns} FROM steps WHERE id = 'w'"
        db.execute(text(copied), [{"name": name} for name in names])

    first = operator.get("/v1/dead-letters?limit=4").get_json()
    last = operator.get(f"/v1/dead-letters?limit=4&cursor={first['next_cursor']}").get_json()

    found = [each["step"] for each in first["items"] + last["items"]]
    assert (sorted(found), {each["turn_id"] for each in first["items"]}) == (["w", *names], {str(turn)})
    assert last["next_cursor"] is None


@pytest.mark.parametrize("kind", ["step", "turn", "delivery", "callback"])
def test_one_kind_is_listed(operator: FlaskClient, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Only what is of the kind."""
    turns = {"step": undecided_turn(), "turn": broken_turn(), "delivery": stranded(), "callback": given_up(monkeypatch)}

    assert [(each["kind"], each["turn_id"]) for each in listed(operator, f"?kind={kind}")] == [(kind, str(turns[kind]))]


@pytest.mark.parametrize(
    "query",
    [
        "kind=steps",
        "cursor=x",
        "limit=0",
        "limit=201",
        "before=x",
        f"cursor={cursor_of(['2026-03-01T00:00:00Z', 'no id', 'step', 'w'])}",
        f"cursor={cursor_of(['2026-03-01T00:00:00Z', str(UUID(int=1)), 'step', chr(0)])}",
        f"cursor={cursor_of(['2026-03-01T00:00:00', str(UUID(int=1)), 'step', 'w'])}",
        f"cursor={cursor_of('w')}",
    ],
)
def test_a_wrong_query_is_refused(operator: FlaskClient, query: str) -> None:
    """Nothing is guessed, and what a cursor may hold reaches Postgres only if it is one of ours."""
    refused = operator.get(f"/v1/dead-letters?{query}")

    assert (refused.status_code, len(refused.get_json()["errors"])) == (422, 1)
