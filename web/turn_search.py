"""Search a tenant's turns."""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from apiflask import APIBlueprint
from flask import Response
from pydantic import AfterValidator, AwareDatetime, Field, TypeAdapter

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.listing import FoundTurn, FoundTurns
from turnloom.models.contracts.turn import TurnStatus
from turnloom.models.ledger.turn_search import find
from turnloom.models.runtime.ids import first_id
from turnloom.models.tables.turns import TurnRow
from turnloom.web.auth import caller, requires
from turnloom.web.json_body import json_response
from turnloom.web.paging import PageQuery, cut, read_cursor

_TURN: TypeAdapter[UUID] = TypeAdapter(UUID)
_EPOCH = datetime.fromtimestamp(0, UTC)
_LONGEST_SHOWN = 300

blueprint = APIBlueprint("turn_search", __name__, url_prefix="/v1/turns", tag="Turns")


def _searchable(text: str) -> str:
    if not any(each.isalnum() for each in text):
        raise ValueError("has no word to search for")
    return text


_Name = Annotated[str, Field(min_length=1, max_length=128)]


class TurnSearchQuery(PageQuery):
    """Conditions that the turns must meet, and the page. What is left out does not count."""

    status: TurnStatus | None = None
    agent: _Name | None = None
    channel: _Name | None = None
    """`api`, `whatsapp`, `telegram`, `slack` or `twilio`."""
    account: _Name | None = None
    """The account of the channel."""
    tool: _Name | None = None
    """A tool that one of their plans calls."""
    error: _Name | None = None
    """The code of their error."""
    user: _Name | None = None
    """The id of the person who wrote the message."""
    text: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_searchable)] | None = None
    """Words of the message, all of them, in any order; `or` between two, `-` before one that must not be there."""
    since: AwareDatetime | None = None
    """Accepted from then on."""
    until: AwareDatetime | None = None
    """Accepted before."""


@blueprint.get("")
@requires("admin")
@blueprint.input(TurnSearchQuery, location="query")
@blueprint.output(FoundTurns)
@blueprint.doc(operation_id="search_turns")
def search(query_data: TurnSearchQuery) -> Response:
    """Search the tenant's turns, the last accepted first. All that is named must hold."""
    before = read_cursor(_TURN, query_data.cursor)
    with transaction(caller().tenant_id) as db:
        found = find(db, caller().tenant_id, _asked(query_data, before), query_data.limit + 1)
        items = [_found_turn(turn, reply) for turn, reply in found]
    items, cursor = cut(items, query_data.limit, lambda item: item.turn_id)
    return json_response(FoundTurns(items=items, next_cursor=cursor))


def _asked(query: TurnSearchQuery, before: UUID | None) -> dict[str, str]:
    named = query.model_dump(exclude={"limit", "cursor", "since", "until"}, exclude_none=True)
    ends = [before] if before else []
    if query.since:
        named["since"] = str(first_id(max(query.since, _EPOCH)))
    if query.until:
        ends.append(first_id(max(query.until, _EPOCH)))
    return named | ({"until": str(min(ends))} if ends else {})


def _found_turn(turn: TurnRow, reply: str | None) -> FoundTurn:
    channel, _, account = turn.channel.partition(":")
    return FoundTurn.model_validate(
        {
            "turn_id": str(turn.id),
            "conversation_id": turn.conversation_id,
            "seq": turn.seq,
            "agent": turn.agent,
            "status": turn.status,
            "channel": channel,
            "account": account or None,
            "user": turn.person.get("id"),
            "message": turn.message[:_LONGEST_SHOWN],
            "reply": reply and reply[:_LONGEST_SHOWN],
            "author": turn.author,
            "error": (turn.error or {}).get("code"),
            "created_at": turn.created_at,
            "finished_at": turn.finished_at,
        }
    )
