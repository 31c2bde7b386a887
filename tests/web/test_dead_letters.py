"""Operators decide and redrive what did not end properly in their tenant, as on the command line, and nobody else."""

import json
from typing import Any
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from sqlalchemy import text

from tests.factories import make_tenant, queue_length
from tests.models.ledger.channel_turns import CHANNEL, sent
from tests.models.ledger.channel_turns import statuses as part_statuses
from tests.models.ledger.stopping import statuses, undecided_turn
from tests.turn_events import recorded_events
from tests.web.conftest import KeyMaker
from tests.web.dead_letters import given_up, listed, stranded
from tests.workers.calling_back import of_turn
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import audit
from turnloom.tools.call_identity import idempotency_key

_PAGE = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}


def last_audit(conversation: str) -> tuple[str, dict[str, Any]]:
    tenant_id = make_tenant()
    with transaction() as db:
        assert audit.verify(db, tenant_id, conversation) == []
        record = audit.page(db, tenant_id, conversation, 0, 100)[-1]
        return record.kind, record.content or {}


@pytest.mark.parametrize(("tool", "value"), [("dates.resolve_hint", 5), ("gone.write", "***")])
def test_a_step_is_shown_as_its_backend_was_called(operator: FlaskClient, tool: str, value: object) -> None:
    """References are resolved. Of a tool that is not enabled nobody knows what is secret, so all is masked."""
    turn = undecided_turn()
    with transaction() as db:
        db.execute(text("UPDATE steps SET tool = :tool WHERE id = 'w'"), {"tool": tool})

    shown = operator.get(f"/v1/turns/{turn}/steps/w").get_json()

    assert (shown["tool"], shown["status"], shown["effect"]) == (tool, "unknown", "write")
    key = idempotency_key(turn, "w", {"value": 5})
    assert shown["call"] == {"args": {"value": value}, "idempotency_key": key}


@pytest.mark.parametrize(
    ("tool", "result", "fallback"),
    [
        ("pms.generate_booking_link", {"url": "u", "phone": "***"}, {"invite": "i", "phone": "***"}),
        ("gone.write", {"url": "***", "phone": "***"}, {"invite": "i", "phone": "***"}),
        ("network.confirm_meeting", {"url": "u", "phone": "***"}, {"invite": "i", "phone": "***"}),
    ],
)
def test_what_a_tool_keeps_secret_is_masked_everywhere(
    operator: FlaskClient, tool: str, result: dict[str, str], fallback: dict[str, str]
) -> None:
    """Each call by its own tool. The result may be of any of them, so it is masked by all."""
    turn = undecided_turn()
    told = {"url": "u", "phone": "+44 20"}
    other = [{"tool": "pms.generate_booking_link", "args": {"invite": "i", "phone": "+44 20"}}]
    with transaction() as db:
        written = "UPDATE steps SET tool = :tool, result = :result, fallbacks = :fallbacks WHERE id = 'w'"
        db.execute(text(written), {"tool": tool, "result": json.dumps(told), "fallbacks": json.dumps(other)})

    shown = operator.get(f"/v1/turns/{turn}/steps/w").get_json()

    assert (shown["result"], shown["fallbacks"][0]["args"]) == (result, fallback)


@pytest.mark.parametrize(
    "body", [{"status": "succeeded", "result": {"value": 7}, "note": "found it"}, {"status": "failed"}]
)
def test_a_decision_is_recorded_and_audited_by_key(operator: FlaskClient, body: dict[str, Any]) -> None:
    """The step leaves the list; the log names the key; readers of the unfinished turn are told."""
    turn = undecided_turn(is_final=False)

    answer = operator.post(f"/v1/turns/{turn}/steps/w/decision", json=body)

    assert (answer.status_code, answer.get_json()) == (
        200,
        {"turn_id": str(turn), "step": "w", "status": body["status"]},
    )
    assert (statuses(turn)["w"], listed(operator)) == (body["status"], [])
    kind, content = last_audit("c1")
    assert (kind, content["by"], content.get("note")) == ("step.decided", "test", body.get("note"))
    assert UUID(content["key_id"])
    last = recorded_events(turn)[-1]
    assert (last.type, last.data["step"], last.data["status"]) == ("step.finished", "w", body["status"])


def test_only_an_unknown_outcome_is_decided(operator: FlaskClient) -> None:
    """A second decision and a step of known outcome get 409, what is not there 404, and nothing changes."""
    turn = undecided_turn()
    operator.post(f"/v1/turns/{turn}/steps/w/decision", json={"status": "failed"})

    answers = [
        operator.post(f"/v1/turns/{turn_id}/steps/{step}/decision", json={"status": "succeeded"})
        for turn_id, step in [(turn, "w"), (turn, "a"), (turn, "nothing"), (UUID(int=1), "w"), ("no-id", "w")]
    ]

    assert [answer.status_code for answer in answers] == [409, 409, 404, 404, 404]
    assert "only a step of unknown outcome is decided" in answers[0].get_json()["detail"]
    assert statuses(turn) == {"a": "succeeded", "w": "failed"}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"status": "unknown"},
        {"status": "failed", "result": {}},
        {"status": "succeeded", "result": [1]},
        {"by": "x"},
    ],
)
def test_a_wrong_decision_changes_nothing(operator: FlaskClient, body: dict[str, Any]) -> None:
    """It gets 422, with a fault for each field."""
    turn = undecided_turn()

    answer = operator.post(f"/v1/turns/{turn}/steps/w/decision", json=body)

    assert (answer.status_code, bool(answer.get_json()["errors"])) == (422, True)
    assert statuses(turn)["w"] == "unknown"


def test_a_result_is_one_of_the_steps_tool(operator: FlaskClient) -> None:
    """What its tool would never have returned gets 422, with a fault for each field, and can be corrected."""
    turn = undecided_turn()
    with transaction() as db:
        db.execute(text("UPDATE steps SET tool = 'dates.resolve_hint' WHERE id = 'w'"))
    days = {"check_in": "2026-03-01", "check_out": "2026-03-03", "tz": "UTC", "alternatives": []}
    address = f"/v1/turns/{turn}/steps/w/decision"

    wrong = operator.post(address, json={"status": "succeeded", "result": {"chek_in": "2026-03-01"}})

    fields = {each["field"] for each in wrong.get_json()["errors"]}
    assert (wrong.status_code, "dates.resolve_hint" in wrong.get_json()["detail"]) == (422, True)
    assert fields >= {"result.chek_in", "result.check_in"}
    assert statuses(turn)["w"] == "unknown"
    assert operator.post(address, json={"status": "succeeded", "result": days}).status_code == 200


def test_a_part_is_sent_again_with_those_withheld_for_it(operator: FlaskClient) -> None:
    """It is on its way at once; the log names the key. What is on its way, or is not there, is refused."""
    turn = stranded()

    answers = [operator.post(f"/v1/turns/{turn}/deliveries/{part}/redrive") for part in ("1", "1", "7", "x")]

    assert [answer.status_code for answer in answers] == [202, 409, 404, 404]
    assert answers[0].get_json() == {"turn_id": str(turn), "part": 1, "status": "pending"}
    assert (part_statuses(turn), queue_length("deliver")) == (["pending", "pending"], 1)
    kind, content = last_audit(f"{CHANNEL}:u1")
    assert (kind, content["part"], content["status"], content["by"]) == ("delivery.redriven", 1, "failed", "test")
    sent(turn)
    assert operator.post(f"/v1/turns/{turn}/deliveries/1/redrive").status_code == 409


def test_a_callback_is_sent_again(operator: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has another day. One that is on its way, and a turn without one, are refused."""
    turn, other = given_up(monkeypatch), undecided_turn()

    answers = [operator.post(f"/v1/turns/{each}/callback/redrive") for each in (turn, turn, other)]

    assert [answer.status_code for answer in answers] == [202, 409, 404]
    assert answers[0].get_json() == {"turn_id": str(turn), "status": "pending"}
    assert (of_turn(turn).status, of_turn(turn).failures, queue_length("deliver")) == ("pending", 0, 1)
    kind, content = last_audit("called back")
    assert (kind, content["by"]) == ("callback.redriven", "test")


def test_nobody_acts_on_another_tenant(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its turns are not there, whatever the key may do; a body that is wrong tells nothing either."""
    undecided, part, callback = undecided_turn(), stranded(), given_up(monkeypatch)

    answers = [
        client.get(f"/v1/turns/{undecided}/steps/w"),
        client.post(f"/v1/turns/{undecided}/steps/w/decision", json={"status": "failed"}),
        client.post(f"/v1/turns/{undecided}/steps/w/decision", json={"wrong": 1}),
        client.post(f"/v1/turns/{part}/deliveries/1/redrive"),
        client.post(f"/v1/turns/{callback}/callback/redrive"),
    ]

    assert [answer.status_code for answer in answers] == [404] * 5
    assert (statuses(undecided)["w"], part_statuses(part)[0], of_turn(callback).status) == (
        *("unknown", "failed", "failed"),
    )


def test_a_page_needs_its_token(app: APIFlask, key: KeyMaker) -> None:
    """Like every request that changes something: without it, a session's cookie decides nothing."""
    browser, turn = app.test_client(), undecided_turn()
    plain = key(tenant="acme")["Authorization"].removeprefix("Bearer ")
    session = browser.post("/v1/console/session", json={"key": plain}, headers=_PAGE).get_json()
    address, body = f"/v1/turns/{turn}/steps/w/decision", {"status": "failed"}

    refused = browser.post(address, json=body, headers=_PAGE)
    done = browser.post(address, json=body, headers={**_PAGE, "X-CSRF-Token": session["csrf"]})

    assert (refused.status_code, refused.get_json()["code"], done.status_code) == (403, "csrf_token_missing", 200)
