"""A conversation's knowledge is shown over HTTP."""

from uuid import UUID

import pytest
from flask.testing import FlaskClient

from tests.factories import claim_turn, finish_turn
from tests.planner.knowledge.graph_items import fact, found, hypothesis, told
from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.knowledge import Lesson
from turnloom.models.ledger import knowledge
from turnloom.models.ledger.knowledge import Learned
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.planner.knowledge.graph import key_of

ITEMS = [
    *told(found("city", "Kyoto", (("near", "city", "Nara"),), size=1, mayor="Ada")),
    *told(found("hotel", "Inn")),
    fact(2, "size", step="b", hours=3),
    hypothesis("h1", 0.6, "city:kyoto"),
]
PATH = "/v1/conversations/c1/knowledge"


def _turn(client: FlaskClient, message: str = "what about Kyoto") -> ClaimedTurn:
    answer = client.post("/v1/turns", json={"message": message, "conversation_id": "c1"})
    turn = claim_turn(UUID(answer.get_json()["turn_id"]))
    assert turn is not None
    return turn


@pytest.fixture
def known(client: FlaskClient) -> ClaimedTurn:
    """A conversation that knows something."""
    turn = _turn(client)
    lesson = Lesson(steps=["a"], new_facts=3, contradicted={}, trace={})
    with transaction() as db:
        assert knowledge.record(db, turn, Learned(1, lesson, {key_of(item): item for item in ITEMS}, []))
    return turn


@pytest.mark.usefixtures("known")
def test_knowledge_is_shown_with_its_sources(client: FlaskClient) -> None:
    """The answer has scored entities, relationships, hypotheses, and both sides of contradictions with what decided."""
    page = client.get(PATH).get_json()

    kyoto, nara, inn = page["items"]
    size = next(one for one in kyoto["attributes"] if one["name"] == "size")
    assert [kyoto["id"], nara["id"], inn["id"]] == ["city:kyoto", "city:nara", "hotel:inn"]
    assert kyoto["score"] > nara["score"] > inn["score"] > 0
    assert [(edge["kind"], edge["to"]) for edge in kyoto["relationships"]] == [("near", "city:nara")]
    assert (size["value"], size["rule"]) == (1, "recency")
    assert [(one["value"], one["source"]["step"]) for one in size["facts"]] == [(1, "a"), (2, "b")]
    assert page["contradictions"] == [
        {"subject": "city:kyoto", "attribute": "size", "rule": "recency", "value": 1, "facts": size["facts"]}
    ]
    assert [(one["id"], one["supports"]) for one in page["hypotheses"]] == [("h1", ["city:kyoto"])]
    assert page["next_cursor"] is None


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("limit", [1, 2])
def test_pages_of_knowledge(client: FlaskClient, limit: int) -> None:
    """Paging shows every entity once, and each contradiction with its entity."""
    seen: list[str] = []
    disputed: list[str] = []
    query = f"limit={limit}"

    while query:
        page = client.get(f"{PATH}?{query}").get_json()
        seen += [item["id"] for item in page["items"]]
        disputed += [item["subject"] for item in page["contradictions"]]
        query = f"limit={limit}&cursor={page['next_cursor']}" if page["next_cursor"] else ""

    assert seen == ["city:kyoto", "city:nara", "hotel:inn"]
    assert disputed == ["city:kyoto"]


@pytest.mark.parametrize("query", ["limit=0", "cursor=x", "cursor=bnVsbA", "page=2"])
def test_a_wrong_page_is_refused(client: FlaskClient, known: ClaimedTurn, query: str) -> None:
    """A wrong limit or cursor is refused, as everywhere."""
    assert client.get(f"{PATH}?{query}").status_code == 422


def test_a_conversation_that_knows_nothing_has_an_empty_page(client: FlaskClient) -> None:
    """A conversation in which nothing was learned has an empty page."""
    _turn(client)

    assert client.get(PATH).get_json() == {"items": [], "contradictions": [], "hypotheses": [], "next_cursor": None}


@pytest.mark.usefixtures("known")
def test_another_tenants_knowledge_does_not_exist(client: FlaskClient, key: KeyMaker) -> None:
    """Another tenant's knowledge and an unknown conversation's get 404. The read scope is required."""
    assert client.get(PATH, headers=key("turns:read", tenant="theirs")).status_code == 404
    assert client.get("/v1/conversations/nothing/knowledge").status_code == 404
    assert client.get(PATH, headers=key("turns:write")).status_code == 403


def test_an_erased_conversation_knows_nothing(client: FlaskClient, known: ClaimedTurn) -> None:
    """Erasing a conversation removes what was learned in it."""
    finish_turn(known)

    client.delete("/v1/conversations/c1")

    assert client.get(PATH).get_json()["items"] == []
