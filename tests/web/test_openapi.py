"""The API describes itself, and the description is true."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from threading import Event
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from apiflask import APIFlask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as walking
from schemathesis.checks import CHECKS
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from tests.factories import claim_turn, finish_turn
from turnloom.models.connections.database import statement
from turnloom.models.connections.redis import announce
from turnloom.models.runtime.secrets import new_key
from turnloom.models.runtime.settings import settings

_CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "ignored_auth",
]
_EXAMPLES = 4
_SHARES = 4
"""Tests that share the routes."""


@pytest.fixture
def spec(client: FlaskClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").get_json()
    return found


def test_document_is_valid(spec: dict[str, Any]) -> None:
    """The document is OpenAPI 3.1; each schema is valid JSON schema, and each reference resolves."""
    schemas = spec["components"]["schemas"]

    references = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(spec)))

    assert spec["openapi"] == "3.1.0"
    OPENAPI_31_VALIDATOR.validate(spec)
    for schema in schemas.values():
        jsonschema_rs.meta.validate(schema)
    assert references <= set(schemas)
    assert all("." not in name for name in schemas)


def test_document_covers_every_route(app: APIFlask, spec: dict[str, Any]) -> None:
    """Every route of the API is in the document, with an id, its problems and its authentication."""
    rules = {re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule) for rule in app.url_map.iter_rules()}

    operations = [(path, one) for path, methods in spec["paths"].items() for one in methods.values()]

    assert rules - set(spec["paths"]) == {
        "/",
        "/console/assets/{name}",
        "/docs",
        "/docs/assets/{name}",
        "/openapi.json",
    }
    assert len({one["operationId"] for _, one in operations}) == len(operations)
    for path, one in operations:
        assert one["summary"]
        assert "500" in one["responses"]
        if path.startswith("/v1/channels/"):
            assert "security" not in one  # the provider's signature is the key
            assert "401" in one["responses"]
        elif path.startswith("/v1/console/"):
            assert one.get("security") in (None, [{"session": []}])  # it makes sessions, and knows no keys otherwise
        elif path.startswith("/v1/"):
            assert one["security"] == [{"bearer": []}, {"apiKey": []}]
            assert {"401", "403"} <= set(one["responses"])


def test_examples_are_true(client: FlaskClient, spec: dict[str, Any]) -> None:
    """The example of a message is accepted as it is."""
    example = spec["paths"]["/v1/turns"]["post"]["requestBody"]["content"]["application/json"]["example"]

    answer = client.post("/v1/turns", json=example)

    assert answer.status_code == 202


@pytest.fixture
def planner(client: FlaskClient) -> Iterator[None]:
    """Answer each turn soon after it was posted: some routes wait for the reply."""
    ended = Event()

    def plan() -> None:
        while not ended.wait(0.02):
            with statement() as db:
                queued = db.execute("SELECT id FROM turns WHERE status = 'queued'").fetchall()
            for (turn_id,) in queued:
                turn = claim_turn(turn_id)
                if turn and (finished := finish_turn(turn)):
                    announce(turn.id, finished.events)

    with ThreadPoolExecutor(1, "planner") as threads:
        planning = threads.submit(plan)
        yield
        ended.set()
        planning.result()


@pytest.mark.usefixtures("planner")
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("share", range(_SHARES))
def test_routes_keep_to_the_document(
    app: APIFlask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch, share: int
) -> None:
    """Whatever is sent, each route answers as its document says, and never with a 500."""
    monkeypatch.setattr(settings(), "secret_keys", [new_key()])  # a turn with a callback is refused without one
    turn_id = client.post("/v1/turns", json={"message": "hi", "conversation_id": "c"}).get_json()["turn_id"]
    schema = schemathesis.openapi.from_wsgi("/openapi.json", app)
    headers = {"Authorization": client.environ_base["HTTP_AUTHORIZATION"]}
    checks = CHECKS.get_by_names(_CHECKS)
    walked = 0

    operations = schema.exclude(path_regex="healthz|events|api/ai").get_all_operations()
    for result in islice(operations, share, None, _SHARES):
        operation = result.ok()
        quick = walking(
            max_examples=_EXAMPLES,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )

        @quick
        @given(case=operation.as_strategy())
        def sends(case: schemathesis.Case[Any]) -> None:
            case.call_and_validate(headers=headers, checks=checks)

        sends()
        walked += 1

    assert walked >= 11
    assert client.get(f"/v1/turns/{turn_id}").status_code == 200


def test_page_needs_no_other_server(client: FlaskClient) -> None:
    """The documentation page loads all its parts from this server, and each of them exists."""
    with client.get("/docs") as answer:
        page = answer.get_data(as_text=True)

    parts = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(parts) == 4
    assert "http:" not in page
    assert "https:" not in page
    for part in parts:
        with client.get(f"/{part}") as answer:
            assert answer.status_code == 200
    assert client.get("/docs/assets/index.html").status_code == 404
