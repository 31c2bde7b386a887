"""The API's keys: which requests need one, and what each may do."""

import ast
import re
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from werkzeug.routing import Rule

from tests.factories import claim_turn, record_plan, step
from tests.facts import wait_for
from tests.web.conftest import KeyMaker
from turnloom.models.connections import database
from turnloom.models.connections.database import Transaction, transaction
from turnloom.models.contracts.scope import SCOPES
from turnloom.models.ledger import keys, tenants
from turnloom.models.ledger.keys import Caller
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import ROOT
from turnloom.models.tables.replays import ReplayRow
from turnloom.web.auth import KnownKeys
from turnloom.workers.replay.report import report

_WEBHOOK = "/v1/channels/<channel>/<account>"  # the provider's signature is the key: tests/web/test_channels.py
_SIGN_IN = "/v1/console/session"  # a key or the cookie: tests/web/test_sign_in.py
_OPEN = {
    _SIGN_IN,
    "/",
    "/console/assets/<name>",
    "/docs",
    "/docs/assets/<name>",
    "/openapi.json",
    "/healthz",
    "/readyz",
    "/metrics",
    _WEBHOOK,
}


def _guarded(app: APIFlask) -> list[tuple[str, Rule]]:
    return [
        (method, rule)
        for rule in app.url_map.iter_rules()
        if rule.rule not in _OPEN
        for method in sorted(rule.methods or ())
        if method not in ("HEAD", "OPTIONS")
    ]


def test_every_route_wants_a_key(app: APIFlask) -> None:
    """Without a key, with an unknown one, or with another scheme, every guarded route answers 401."""
    client = app.test_client()

    for method, rule in _guarded(app):
        path = re.sub(r"<[^>]+>", "x", rule.rule)
        for headers in ({}, {"Authorization": "Bearer nobody"}, {"Authorization": "Basic eDp5"}, {"X-Api-Key": "é"}):
            answer = client.open(path, method=method, headers=headers)
            assert answer.status_code == 401, (method, path)
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
            shape = "json" if rule.endpoint.startswith("openai.") else "problem+json"
            assert answer.content_type == f"application/{shape}"


def _ended_replay() -> str:
    """Make a replay of ours that has ended."""
    with transaction() as db:
        ours, made = tenants.ensure(db, "ours"), report([]).model_dump(mode="json")
        row = ReplayRow(tenant_id=ours, id=new_id(), status="finished", options={}, report=made)
        db.add(row)
    return str(row.id)


def test_other_tenants_things_do_not_exist(app: APIFlask, client: FlaskClient, key: KeyMaker) -> None:
    """Every route that names a thing answers 404 to another tenant's key, and does not to its owner's."""
    body = {"message": "mine", "conversation_id": "mine", "message_id": "m1"}
    turn_id = client.post("/v1/turns", json=body).get_json()["turn_id"]
    turn = claim_turn(UUID(turn_id))
    assert turn is not None
    record_plan(turn, step("a"))
    client.put("/v1/users/mine", json={"name": "Mine"})
    client.put("/v1/users/mine/accounts/cal", json={})
    rollout = client.post("/v1/rollouts", json={"name": "agents/hotel", "llm": "gpt-4o", "share": 0.5}).get_json()
    names = {"turn_id": turn_id, "conversation_id": "mine", "step_id": "a", "user_id": "mine", "integration": "cal"}
    names["replay_id"] = _ended_replay()
    names["rollout_id"] = rollout["id"]
    stranger, walked = key(tenant="theirs"), 0

    for method, rule in _guarded(app):
        path = re.sub(r"<(?:\w+:)?(\w+)>", lambda match: names.get(match[1], "x"), rule.rule)
        query = {"conversation_id": "mine"} if rule.rule == "/v1/audit" else None
        makes_ones_own = (method, rule.endpoint) == ("PUT", "users.put_user")
        is_everybodys = rule.endpoint == "openai.model" or rule.endpoint.startswith("own_texts.")
        if makes_ones_own or is_everybodys or (not rule.arguments and query is None):
            continue
        walked += 1
        answer = app.test_client().open(path, method=method, headers=stranger, query_string=query)
        assert answer.status_code == 404, (method, path)
        assert answer.get_json()["code"] == "not_found"
        if method == "GET":
            owners = client.open(path, method="GET", query_string=query, headers={"Last-Event-ID": "1"})
            assert owners.status_code == 200, path
            owners.close()
    assert walked >= 7


def test_postgres_itself_keeps_tenants_apart(
    app: APIFlask, client: FlaskClient, key: KeyMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every route shows nothing if Postgres is told of another tenant than its queries: it does not rely on these."""
    body = {"message": "mine", "conversation_id": "mine", "message_id": "m1"}
    turn_id = client.post("/v1/turns", json=body).get_json()["turn_id"]
    client.put("/v1/users/mine", json={"name": "Mine"})
    client.put("/v1/users/mine/accounts/cal", json={})
    rollout = client.post("/v1/rollouts", json={"name": "agents/hotel", "llm": "gpt-4o", "share": 0.5}).get_json()
    names = {"turn_id": turn_id, "conversation_id": "mine", "step_id": "a", "user_id": "mine", "integration": "cal"}
    names["replay_id"] = _ended_replay()
    names["rollout_id"] = rollout["id"]
    key(tenant="theirs")
    with transaction() as db:
        theirs = tenants.find(db, "theirs").id
    monkeypatch.setattr(database, "_secured", lambda named: None if named is None else [theirs])
    of_nobody = {
        "operations.show",
        "own_texts.texts",
        "own_texts.put_text",
        "catalogue.tools",
        "catalogue.agents",
        "openai.models",
        "openai.model",
    }
    walked = []

    for method, rule in _guarded(app):
        path = re.sub(r"<(?:\w+:)?(\w+)>", lambda match: names.get(match[1], "x"), rule.rule)
        query = {"conversation_id": "mine"} if rule.rule == "/v1/audit" else None
        if rule.endpoint in of_nobody or (method != "GET" and not rule.arguments):
            continue
        walked.append(rule.endpoint)
        body = {"name": "Mine"} if rule.endpoint == "users.put_user" else None
        answer = client.open(path, method=method, query_string=query, json=body)
        if body:
            assert answer.status_code == 500  # Postgres refuses the row
        elif rule.arguments or query:
            assert answer.status_code == 404, (method, path)
        else:
            # The report of usage wants its tenant's budget; the search has the owner's rights, and looks at the tenant.
            assert not answer.get_json().get("items"), path
            assert answer.status_code == 200 or rule.endpoint in ("usage.usage", "turn_search.search"), path
    assert len(walked) >= 15


def test_requests_name_their_tenant() -> None:
    """Only what serves all tenants leaves it out: keys, sessions, backlog, metrics, operations, readiness, the hub."""
    anyones = {"auth.py", "backlog.py", "event_hub.py", "health.py", "metrics.py"}
    anyones |= {"operations.py", "session_cookie.py", "sign_in.py"}
    found = {
        path.name
        for path in (ROOT / "web").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in ("transaction", "snapshot", "statement") and not node.args
    }

    assert found == anyones


def test_lists_show_only_ones_own(app: APIFlask, client: FlaskClient, key: KeyMaker) -> None:
    """Another tenant's conversations are in no list, and its ids are free for us to use."""
    client.post("/v1/turns", json={"message": "mine", "conversation_id": "same", "message_id": "m1"})
    stranger = key(tenant="theirs")

    opened = app.test_client().post(
        "/v1/turns", json={"message": "theirs", "conversation_id": "same", "message_id": "m1"}, headers=stranger
    )

    assert (opened.status_code, opened.get_json()["seq"]) == (202, 1)
    (item,) = app.test_client().get("/v1/conversations", headers=stranger).get_json()["items"]
    assert item["turns"] == 1


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("POST", "/v1/turns", "turns:write"),
        ("POST", "/v1/turns/x/approvals/y", "approvals:decide"),
        ("GET", "/v1/turns/x", "turns:read"),
        ("GET", "/v1/turns", "admin"),
        ("GET", "/v1/operations", "operations:read"),
        ("GET", "/v1/dead-letters", "operations:read"),
        ("GET", "/v1/turns/x/steps/y", "turns:read"),
        ("POST", "/v1/turns/x/steps/y/decision", "operations:write"),
        ("POST", "/v1/turns/x/deliveries/1/redrive", "operations:write"),
        ("POST", "/v1/turns/x/callback/redrive", "operations:write"),
        ("GET", "/v1/prompts", "admin"),
        ("PUT", "/v1/prompts/agents/hotel", "admin"),
        ("DELETE", "/v1/prompts/agents/hotel", "admin"),
        ("GET", "/v1/turns/x/events", "turns:read"),
        ("GET", "/v1/turns/x/graph.mmd", "turns:read"),
        ("GET", "/v1/turns/x/graph.svg", "turns:read"),
        ("GET", "/v1/conversations", "admin"),
        ("GET", "/v1/conversations/x", "turns:read"),
        ("GET", "/v1/conversations/x/turns", "turns:read"),
        ("DELETE", "/v1/conversations/x", "admin"),
        ("GET", "/v1/audit", "admin"),
        ("GET", "/v1/users", "users:read"),
        ("GET", "/v1/users/x", "users:read"),
        ("PUT", "/v1/users/x", "users:write"),
        ("PUT", "/v1/users/x/accounts/y", "users:write"),
        ("DELETE", "/v1/users/x/accounts/y", "users:write"),
        ("PUT", "/v1/connections", "users:write"),
        ("POST", "/v1/replays", "replays:write"),
        ("GET", "/v1/replays/x", "replays:write"),
        ("GET", "/v1/replays/x/report.html", "replays:write"),
        ("POST", "/v1/replays/x/cancel", "replays:write"),
        ("POST", "/v1/turns/x/forks", "replays:write"),
        ("GET", "/v1/tools", "turns:read"),
        ("GET", "/v1/agents", "turns:read"),
        ("PUT", "/v1/turns/x/feedback", "turns:write"),
        ("POST", "/api/ai/chat", "turns:write"),
    ],
)
def test_scopes(app: APIFlask, key: KeyMaker, method: str, path: str, scope: str) -> None:
    """A key without the scope gets 403, which names the scope."""
    headers = key(*[other for other in SCOPES if other != scope])

    answer = app.test_client().open(path, method=method, headers=headers)

    assert answer.status_code == 403
    assert answer.get_json()["code"] == "scope_missing"
    assert scope in answer.get_json()["detail"]


def test_key_in_either_header(app: APIFlask, key: KeyMaker) -> None:
    """A key may come as a bearer token, in any case of the scheme, or in X-Api-Key."""
    plain = key()["Authorization"].removeprefix("Bearer ")
    client = app.test_client()

    answers = [
        client.get("/v1/agents", headers=headers)
        for headers in ({"Authorization": f"bearer {plain}"}, {"X-Api-Key": plain})
    ]

    assert [answer.status_code for answer in answers] == [200, 200]


def test_key_is_remembered_for_a_while(key: KeyMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A known key costs no query for five seconds. After that, a revoked key is no longer recognised."""
    plain, known = key()["Authorization"].removeprefix("Bearer "), KnownKeys()
    caller, now = known.recognise(plain), 0.0
    assert caller
    monkeypatch.setattr("turnloom.models.runtime.ttl_cache.time.monotonic", lambda: now)
    known = KnownKeys()
    known.recognise(plain)
    with transaction() as db:
        keys.revoke(db, caller.key_id)

    soon = known.recognise(plain)
    now = 5.1
    late = known.recognise(plain)

    assert soon == caller
    assert late is None


def test_requests_with_the_same_key_share_one_query(key: KeyMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """If many requests come at once with a key that is not cached, the ledger is asked once."""
    plain, known = key()["Authorization"].removeprefix("Bearer "), KnownKeys()
    came, asked = Mock(wraps=keys.digest), Mock()
    recognise = keys.recognise

    def ask_when_all_are_there(db: Transaction, digest: bytes) -> Caller | None:
        asked()
        wait_for(lambda: came.call_count >= 4)
        return recognise(db, digest)

    monkeypatch.setattr(keys, "recognise", ask_when_all_are_there)
    monkeypatch.setattr(keys, "digest", came)
    with ThreadPoolExecutor(4) as threads:
        found = set(threads.map(known.recognise, [plain] * 4))

    assert (len(found), None in found, asked.call_count) == (1, False, 1)
