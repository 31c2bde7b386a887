"""Stream a turn's events as server-sent events: each once, in order, from any position.

A position is `(seq, number)`: the event's sequence number in the ledger, and for a delta its number after that event.
Live events are passed on if they follow the position directly. Any gap is filled from the ledger first.
"""

import re
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from uuid import UUID

import orjson
from apiflask import APIBlueprint
from flask import Response, request
from pydantic import Field

from turnloom.models.connections.database import statement
from turnloom.models.connections.redis import Item, deltas
from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.event import EVENT_ID, FINAL_EVENTS
from turnloom.models.errors import Malformed, Unavailable
from turnloom.models.ledger import events
from turnloom.models.ledger.events import Look
from turnloom.web.auth import caller, requires
from turnloom.web.event_hub import hub
from turnloom.web.shared_reads import no_turn, read, turn_id_of
from turnloom.web.stream_places import counted, demand_place

Position = tuple[int, int]

_Asked = tuple[UUID, UUID, int]
"""A tenant, a turn of it, and the number of one of the turn's events."""

_ID = re.compile(EVENT_ID)
_HEARTBEAT_S = 15.0
_RECONNECT_MS = 1_000
STILL_HERE = b": still here\n\n"
"""A comment, which keeps proxies awake."""
HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}

blueprint = APIBlueprint("events", __name__, url_prefix="/v1/turns", tag="Turns")


class EventsQuery(Contract):
    """The position to continue from."""

    last_event_id: str | None = Field(None, max_length=20)
    """The same as the header `Last-Event-ID`, for clients that cannot set it. The header wins."""


@blueprint.get("/<turn_id>/events")
@requires("turns:read", reads=False)
@blueprint.input(EventsQuery, location="query")
@blueprint.output({}, content_type="text/event-stream", description="Events until the turn is final")
@blueprint.doc(operation_id="follow_turn", responses={204: "The turn is final and nothing comes after that event"})
def follow(turn_id: str, query_data: EventsQuery) -> Response:
    """Follow a turn's events, from the first one or after `Last-Event-ID`.

    The stream ends after the turn's final event. A comment every 15 seconds keeps proxies awake.
    """
    position = _position(request.headers.get("Last-Event-ID") or query_data.last_event_id)
    demand_place()
    told = counted(stream(turn_id_of(turn_id), caller().tenant_id, position))
    begin = next(told, None)
    if begin is None:
        # This status tells a browser's EventSource not to connect again.
        return Response(status=204)
    answer = Response(chain([begin], told), content_type="text/event-stream", headers=HEADERS)
    # The stream ends with its reader, even if the reader has read nothing but the headers.
    answer.call_on_close(told.close)
    return answer


def stream(turn_id: UUID, tenant_id: UUID, position: Position) -> Generator[bytes, None, None]:
    """Yield what follows a position, in the format of server-sent events, until the turn is final.

    Yields nothing if the turn is final and nothing follows. All errors are raised before anything is yielded.

    Raises:
        NotFound: the tenant has no such turn.
        Malformed: the turn has no such event.
        Unavailable: Postgres does not answer.
    """
    begin = b"retry: %d\n\n" % _RECONNECT_MS
    with closing(items_after(turn_id, tenant_id, position)) as told:
        for items in told:
            yield begin + _written(items) or STILL_HERE
            begin = b""


def items_after(turn_id: UUID, tenant_id: UUID, position: Position) -> Generator[list[Item], None, None]:
    """Yield what follows a position, as `stream` does: the items that are new, or none where it is time for a sign.

    The first that it yields may be empty.
    """
    # A reader that listens before its first look misses nothing between the two.
    with hub().follow(str(turn_id), position[0]) as reader:
        items = _begin(turn_id, tenant_id, position)
        if items is None:
            return
        heartbeat = time.monotonic() + _HEARTBEAT_S
        yield items
        while not (items and items[-1][1] in FINAL_EVENTS):
            if items:
                position = read_position(items[-1][0])
                reader.seen = position[0]
            heard = reader.wait(heartbeat - time.monotonic())
            if heard is None:
                items = _missed(turn_id, tenant_id, position)
            else:
                items = _new(heard, turn_id, tenant_id, position)
            if items or time.monotonic() >= heartbeat:
                heartbeat = time.monotonic() + _HEARTBEAT_S
                yield items


def _written(items: list[Item]) -> bytes:
    """Write all new items as one block: each block costs a system call here and one in the client."""
    return b"".join(
        b"id: %s\nevent: %s\ndata: %s\n\n" % (name.encode(), kind.encode(), orjson.dumps(data))
        for name, kind, data in items
    )


def _begin(turn_id: UUID, tenant_id: UUID, position: Position) -> list[Item] | None:
    """Return the first items of a stream; None if the turn is final and nothing follows."""
    found = read(_look, (tenant_id, turn_id, position[0]))
    if found is None:
        raise no_turn()
    if position[0] > found.stand.last_event:
        raise Malformed(f"Last-Event-ID: the turn has no event {position[0]}", code="bad_event_id")
    if found.stand.is_final and position[0] == found.stand.last_event:
        return None
    # Before a planner has begun, there are no deltas.
    is_silent = found.stand.last_event <= 1 or not hub().may_have_spoken(str(turn_id))
    return _following(position, found, [] if is_silent else deltas(turn_id))


def _missed(turn_id: UUID, tenant_id: UUID, position: Position) -> list[Item]:
    """Read what follows a position: events from the ledger, and the deltas that Redis still has."""
    try:
        found = read(_look, (tenant_id, turn_id, position[0]))
    except Unavailable:
        # The stream survives a restart of Postgres and a crowd of readers: it looks again soon.
        found = None
    return _following(position, found, deltas(turn_id)) if found else []


def _look(asked: Sequence[_Asked]) -> Mapping[_Asked, Look]:
    with statement({tenant_id for tenant_id, _, _ in asked}) as db:
        found = events.look(db, [(turn_id, seq) for _, turn_id, seq in asked])
    return {(look.stand.tenant_id, *place): look for place, look in found.items()}


def _following(position: Position, found: Look, spoken: list[Item]) -> list[Item]:
    """Return the found items that follow a position: events, and the deltas up to the last of these events."""
    recorded: list[Item] = [(str(event.seq), event.type, event.data) for event in found.events]
    items: dict[Position, Item] = {}
    for item in [*recorded, *spoken]:
        place = read_position(item[0])
        if position < place and place[0] <= found.stand.last_event:
            items.setdefault(place, item)
    return [items[place] for place in sorted(items)]


def _new(heard: list[Item], turn_id: UUID, tenant_id: UUID, position: Position) -> list[Item]:
    """Return the live items after a position; if some are missing in between, read all of them from the record."""
    fresh = [item for item in heard if read_position(item[0]) > position]
    before = position
    for item in fresh:
        seq, number = read_position(item[0])
        if (seq, number) not in ((before[0] + 1, 0), (before[0], before[1] + 1)):
            return _missed(turn_id, tenant_id, position)
        before = (seq, number)
    return fresh


def _position(text: str | None) -> Position:
    if not text:
        return (0, 0)
    if not _ID.fullmatch(text):
        raise Malformed("Last-Event-ID: write the id of an event, such as 12 or 12.3", code="bad_event_id")
    return read_position(text)


def read_position(name: str) -> Position:
    """Read the id of an event as its position."""
    seq, _, number = name.partition(".")
    return int(seq), int(number or 0)
