"""Make replays of recorded conversations, follow them, and show their reports."""

from uuid import UUID

from apiflask import APIBlueprint
from flask import Response
from pydantic import TypeAdapter

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.replay import ReplayReport
from turnloom.models.contracts.replay_request import ReplayList, ReplayRequest, ReplayView
from turnloom.models.errors import Conflict
from turnloom.models.ledger import replays as ledger
from turnloom.models.ledger.replays import ReplayProgress
from turnloom.models.runtime.logging import log
from turnloom.web.auth import caller, requires
from turnloom.web.json_body import json_response
from turnloom.web.paging import PageQuery, cut, read_cursor
from turnloom.web.url_ids import uuid_of
from turnloom.workers.dispatch import send
from turnloom.workers.replay import requests
from turnloom.workers.replay.report_page import page
from turnloom.workers.replay.reports import forked_turn, view_of

_REPLAY: TypeAdapter[UUID] = TypeAdapter(UUID)
_EXAMPLE = {"since": "2026-03-01T00:00:00Z", "agent": "hotel", "sample": 200, "max_different": 0.05}

blueprint = APIBlueprint("replays", __name__, url_prefix="/v1/replays", tag="Replays")


@blueprint.post("")
@requires("replays:write")
@blueprint.input(ReplayRequest, example=_EXAMPLE)
@blueprint.output(ReplayView, 202, description="The replay is durably recorded")
@blueprint.doc(operation_id="make_replay")
def make(json_data: ReplayRequest) -> Response:
    """Replay recorded conversations, and compare each turn with its record.

    Nothing is sent and no effect is had. Workers of the queue `replay` do the work, beside the turns of users.
    """
    replay_id = requests.make(caller().tenant_id, json_data)
    log.info("replay.made", replay_id=str(replay_id), key_id=str(caller().key_id))
    return made_response(replay_id)


@blueprint.get("")
@requires("replays:write")
@blueprint.input(PageQuery, location="query")
@blueprint.output(ReplayList)
@blueprint.doc(operation_id="list_replays")
def listed(query_data: PageQuery) -> Response:
    """List the tenant's replays, the newest first, without their reports."""
    before = read_cursor(_REPLAY, query_data.cursor)
    with transaction(caller().tenant_id) as db:
        found = ledger.listed(db, caller().tenant_id, query_data.limit + 1, before)
    items, cursor = cut([view_of(each) for each in found], query_data.limit, lambda item: item.replay_id)
    return json_response(ReplayList(items=items, next_cursor=cursor))


@blueprint.get("/<replay_id>")
@requires("replays:write")
@blueprint.output(ReplayView)
@blueprint.doc(operation_id="get_replay")
def get(replay_id: str) -> Response:
    """Show a replay and how far it is, and its report soon after it has ended; of a fork, also the turn."""
    found = _found(replay_id)
    view = view_of(found, _report(found))
    if view.fork is None or view.report is None or "turns:read" not in caller().scopes:
        return json_response(view)
    return json_response(view.model_copy(update={"turn": forked_turn(found)}))


@blueprint.get("/<replay_id>/report.html")
@requires("replays:write")
@blueprint.output({}, content_type="text/html", description="The report as a page that loads nothing")
@blueprint.doc(operation_id="get_replay_report")
def report(replay_id: str) -> Response:
    """Show the report of a replay that has ended as one page."""
    made = _report(_found(replay_id))
    if made is None:
        raise Conflict("the replay has no report yet: it still runs, or has just ended", code="not_finished")
    return Response(page(made), mimetype="text/html")


@blueprint.post("/<replay_id>/cancel")
@requires("replays:write")
@blueprint.output(ReplayView, description="It is cancelled, now or before")
@blueprint.doc(operation_id="cancel_replay")
def cancel(replay_id: str) -> Response:
    """Cancel a replay. What is done is reported."""
    found = _found(replay_id)
    with transaction(caller().tenant_id) as db:
        is_new = ledger.cancel(db, caller().tenant_id, found.replay.id)
    if is_new:
        log.info("replay.cancelled", replay_id=replay_id, key_id=str(caller().key_id))
        send("report_replay", found.replay.id, queue="replay")
    return json_response(view_of(_found(replay_id)))


def made_response(replay_id: UUID) -> Response:
    """Return the answer to a request that has made a replay."""
    response = json_response(view_of(_found(str(replay_id))), 202)
    response.headers["Location"] = f"/v1/replays/{replay_id}"
    return response


def _found(replay_id: str) -> ReplayProgress:
    wanted = uuid_of(replay_id, "replay")
    with transaction(caller().tenant_id) as db:
        return ledger.progress(db, caller().tenant_id, wanted)


def _report(found: ReplayProgress) -> ReplayReport | None:
    return None if found.replay.report is None else ReplayReport.model_validate(found.replay.report)
