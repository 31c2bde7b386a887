"""Draw a turn's plan: for READMEs, tickets and reports."""

from datetime import UTC, datetime

from apiflask import APIBlueprint
from flask import Response

from turnloom.planner.picture.drawing import draw, mermaid
from turnloom.web.auth import requires
from turnloom.web.turn_answers import shown
from turnloom.workers.turns.turn_picture import turn_picture

_SVG, _TEXT = "image/svg+xml", "text/plain"

blueprint = APIBlueprint("pictures", __name__, url_prefix="/v1/turns", tag="Turns")


@blueprint.get("/<turn_id>/graph.svg")
@requires("turns:read", reads=False)
@blueprint.output({}, content_type=_SVG, description="A picture that loads nothing, light or dark as its reader wishes")
@blueprint.doc(operation_id="get_turn_picture")
def picture(turn_id: str) -> Response:
    """Draw a turn's steps with their states, and the time line of what ran, as they are now."""
    return Response(draw(turn_picture(shown(turn_id), datetime.now(UTC))), content_type=f"{_SVG}; charset=utf-8")


@blueprint.get("/<turn_id>/graph.mmd")
@requires("turns:read", reads=False)
@blueprint.output({}, content_type=_TEXT, description="A Mermaid flowchart")
@blueprint.doc(operation_id="get_turn_graph")
def graph(turn_id: str) -> Response:
    """Draw a turn's steps with their statuses, as Mermaid source."""
    drawn = mermaid(turn_picture(shown(turn_id), datetime.now(UTC)).steps)
    return Response(drawn, content_type=f"{_TEXT}; charset=utf-8")
