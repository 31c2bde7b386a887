"""Run a recorded turn again from one of its steps."""

from apiflask import APIBlueprint
from flask import Response

from turnloom.models.contracts.replay_request import ForkRequest, ReplayView
from turnloom.models.runtime.logging import log
from turnloom.web.auth import caller, demand, requires
from turnloom.web.catalogue import catalogue
from turnloom.web.replays import made_response
from turnloom.web.turn_answers import of_ones_own
from turnloom.workers.replay import forks

_EXAMPLE = {"step": "avail", "results": {"avail": {"rooms": []}}}

blueprint = APIBlueprint("forks", __name__, url_prefix="/v1/turns", tag="Replays")


@blueprint.post("/<turn_id>/forks")
@requires("replays:write")
@of_ones_own
@blueprint.input(ForkRequest, example=_EXAMPLE)
@blueprint.output(ReplayView, 202, description="The fork is durably recorded; follow it as a replay")
@blueprint.doc(operation_id="fork_turn")
def fork(turn_id: str, json_data: ForkRequest) -> Response:
    """Run a turn again from one of its steps, with another plan, other results, texts or another language model.

    That step and what depends on it run again; all other steps keep their recorded results. Without a plan, texts and
    a language model of the request, the recorded plan is kept and only the reply is asked for. Nothing is sent and no
    effect is had. A worker of the queue `replay` does the work; `GET /v1/replays/{replay_id}` then has the turn beside
    its record. The key also needs the scope `turns:read`, and for a plan `plans:submit`.
    """
    demand("turns:read")
    if json_data.plan is not None:
        demand("plans:submit")
    replay_id = forks.make(caller().tenant_id, turn_id, json_data, catalogue().registry)
    log.info("turn.forked", turn_id=turn_id, replay_id=str(replay_id), key_id=str(caller().key_id))
    return made_response(replay_id)
