"""Let an operator of a tenant release a text or a language model to a share of its conversations."""

from uuid import UUID

from apiflask import APIBlueprint
from flask import Response
from pydantic import TypeAdapter

from turnloom.models.connections.database import snapshot, transaction
from turnloom.models.contracts.rollout import RolloutList, RolloutOutcome, RolloutReport, RolloutRequest, RolloutView
from turnloom.models.ledger import rollouts
from turnloom.models.ledger.override_cache import read_overrides
from turnloom.models.ledger.rollouts import RolloutEnd
from turnloom.models.runtime.logging import log
from turnloom.planner.tenant_texts import rolled_out_text
from turnloom.web.auth import caller, requires
from turnloom.web.json_body import json_response
from turnloom.web.paging import PageQuery, cut, read_cursor
from turnloom.web.url_ids import uuid_of

_ROLLOUT: TypeAdapter[UUID] = TypeAdapter(UUID)
_EXAMPLE = {"name": "agents/hotel", "llm": "gpt-4o", "share": 0.1}

blueprint = APIBlueprint("rollouts", __name__, url_prefix="/v1/rollouts", tag="Rollouts")


@blueprint.get("")
@requires("admin")
@blueprint.input(PageQuery, location="query")
@blueprint.output(RolloutList)
@blueprint.doc(operation_id="list_rollouts")
def list_rollouts(query_data: PageQuery) -> Response:
    """List the tenant's rollouts, the newest first."""
    before = read_cursor(_ROLLOUT, query_data.cursor)
    with transaction(caller().tenant_id) as db:
        found = rollouts.listed(db, caller().tenant_id, query_data.limit + 1, before)
    items, cursor = cut([rollouts.view(row) for row in found], query_data.limit, lambda item: item.id)
    return json_response(RolloutList(items=items, next_cursor=cursor))


@blueprint.post("")
@requires("admin")
@blueprint.input(RolloutRequest, example=_EXAMPLE)
@blueprint.output(RolloutView, 201, description="The rollout is running")
@blueprint.doc(operation_id="start_rollout")
def start(json_data: RolloutRequest) -> Response:
    """Give a share of the tenant's conversations a new text in place of the one in effect.

    Which conversations get it depends on their ids alone, so each keeps its text until the rollout ends. It is taken
    back by itself when the new text does worse. While it runs, no other one of the same name can start: 409.
    """
    text = rolled_out_text(json_data, read_overrides(caller().tenant_id))
    with transaction(caller().tenant_id) as db:
        row = rollouts.start(db, caller().tenant_id, json_data, text, _operator())
    log.info("rollout.started", rollout_id=str(row.id), name=row.name, share=row.share)
    return json_response(rollouts.view(row), 201)


@blueprint.get("/<rollout_id>")
@requires("admin")
@blueprint.output(RolloutReport)
@blueprint.doc(operation_id="get_rollout")
def show(rollout_id: str) -> Response:
    """Show a rollout, and how the turns with the new text went beside those with the old one."""
    wanted, tenant_id = uuid_of(rollout_id, "rollout"), caller().tenant_id
    with snapshot(tenant_id) as db:
        found = rollouts.report(db, tenant_id, wanted)
    return json_response(found)


@blueprint.post("/<rollout_id>/stop")
@requires("admin")
@blueprint.output(RolloutView, description="The old text counts again")
@blueprint.doc(operation_id="stop_rollout")
def stop(rollout_id: str) -> Response:
    """End a rollout: all conversations have the old text again, from their next turn on. One that has ended: 409."""
    return _ended(rollout_id, "stopped")


@blueprint.post("/<rollout_id>/promote")
@requires("admin")
@blueprint.output(RolloutView, description="The new text is the tenant's own")
@blueprint.doc(operation_id="promote_rollout")
def promote(rollout_id: str) -> Response:
    """End a rollout and make its text the tenant's own, for all conversations. One that has ended: 409."""
    return _ended(rollout_id, "promoted")


def _ended(rollout_id: str, outcome: RolloutOutcome) -> Response:
    wanted, ending = uuid_of(rollout_id, "rollout"), RolloutEnd(outcome, _operator())
    with transaction(caller().tenant_id) as db:
        row = rollouts.end_by_hand(db, caller().tenant_id, wanted, ending)
    log.info("rollout.ended", rollout_id=str(row.id), outcome=outcome, by=ending.by)
    return json_response(rollouts.view(row))


def _operator() -> str:
    return f"key {caller().key_id}"
