"""A turn's events as server-sent events: each once, in order, from any point on.

Positions are `(seq, number)`: the ledger's sequence, and for a delta its number after that event. What is heard live is
passed on if it follows the position directly; any gap is filled from the ledger first.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

import orjson
from apiflask import APIBlueprint
from flask import Response, request
from pydantic import Field

from models.contracts.base import Contract
from models.contracts.event import EVENT_ID, Event
from models.database import transaction
from models.errors import Malformed, Unavailable
from models.ledger import events
from models.ledger.events import Stand
from models.redis import Item, deltas
from web.auth import caller, requires
from web.live import FINAL_EVENTS, hub
from web.reading import no_turn, read, turn_id_of

Position = tuple[int, int]

_ID = re.compile(EVENT_ID)
_HEARTBEAT_S = 15.0
_RECONNECT_MS = 1_000
_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}

blueprint = APIBlueprint("events", __name__, url_prefix="/v1/turns", tag="Turns")


class EventsQuery(Contract):
    """The position from which to continue."""

    last_event_id: str | None = Field(None, max_length=20)
    """Like the header `Last-Event-ID`, for clients that cannot set it; the header wins."""


@blueprint.get("/<turn_id>/events")
@requires("turns:read", reads=False)
@blueprint.input(EventsQuery, location="query")
@blueprint.output({}, content_type="text/event-stream", description="Events until the turn is final")
@blueprint.doc(operation_id="follow_turn", responses={204: "The turn is final and nothing comes after that event"})
def follow(turn_id: str, query_data: EventsQuery) -> Response:
    """Follow a turn's events, from the first or from `Last-Event-ID` on.

    The stream ends after the turn's final event. A comment every 15 seconds keeps proxies awake.
    """
    position = _position(request.headers.get("Last-Event-ID") or query_data.last_event_id)
    known = turn_id_of(turn_id)
    stand = read(_stands, known)
    if stand is None or stand.tenant_id != caller().tenant_id:
        raise no_turn()
    if position[0] > stand.last_event:
        raise Malformed(f"Last-Event-ID: the turn has no event {position[0]}", code="bad_event_id")
    if stand.is_final and position[0] == stand.last_event:
        # The answer that tells a browser's EventSource not to come again.
        return Response(status=204)
    return Response(stream(known, position), content_type="text/event-stream", headers=_HEADERS)


def stream(turn_id: UUID, position: Position) -> Iterator[bytes]:
    """Yield what follows a position, in the format of server-sent events, until the turn is final."""
    yield b"retry: %d\n\n" % _RECONNECT_MS
    with hub().follow(str(turn_id), position[0]) as reader:
        news, heartbeat = _missed(turn_id, position), time.monotonic() + _HEARTBEAT_S
        while True:
            for name, kind, data in news:
                position = _read_position(name)
                reader.seen = position[0]
                heartbeat = time.monotonic() + _HEARTBEAT_S
                yield b"id: %s\nevent: %s\ndata: %s\n\n" % (name.encode(), kind.encode(), orjson.dumps(data))
                if kind in FINAL_EVENTS:
                    return
            if time.monotonic() >= heartbeat:
                heartbeat = time.monotonic() + _HEARTBEAT_S
                yield b": still here\n\n"
            heard = reader.wait(heartbeat - time.monotonic())
            news = _missed(turn_id, position) if heard is None else _new(heard, turn_id, position)


def _missed(turn_id: UUID, position: Position) -> list[Item]:
    """Read what follows a position from the record: events from the ledger, deltas as far as Redis has them."""
    try:
        missed = read(_after_each, (turn_id, position[0])) or ()
        recorded = [(str(event.seq), event.type, event.data) for event in missed]
    except Unavailable:
        # The stream outlives a restart of Postgres, and a crowd of readers; it looks again soon.
        return []
    last = int(recorded[-1][0]) if recorded else position[0]
    items: dict[Position, Item] = {}
    for item in [*recorded, *deltas(turn_id)]:
        place = _read_position(item[0])
        if position < place and place[0] <= last:
            items.setdefault(place, item)
    return [items[place] for place in sorted(items)]


def _stands(turn_ids: Sequence[UUID]) -> Mapping[UUID, Stand]:
    with transaction() as db:
        return events.stands(db, turn_ids)


def _after_each(places: Sequence[tuple[UUID, int]]) -> Mapping[tuple[UUID, int], Sequence[Event]]:
    with transaction() as db:
        return events.after_each(db, places)


def _new(heard: list[Item], turn_id: UUID, position: Position) -> list[Item]:
    """Return what was heard after a position, or the whole record after it where something is missing between."""
    fresh = [item for item in heard if _read_position(item[0]) > position]
    before = position
    for item in fresh:
        seq, number = _read_position(item[0])
        if (seq, number) not in ((before[0] + 1, 0), (before[0], before[1] + 1)):
            return _missed(turn_id, position)
        before = (seq, number)
    return fresh


def _position(text: str | None) -> Position:
    if not text:
        return (0, 0)
    if not _ID.fullmatch(text):
        raise Malformed("Last-Event-ID: write the id of an event, such as 12 or 12.3", code="bad_event_id")
    return _read_position(text)


def _read_position(name: str) -> Position:
    seq, _, number = name.partition(".")
    return int(seq), int(number or 0)
