"""Follow a turn for a client that waits for its reply, as a stream of bytes that the client's end does not stop."""

from collections.abc import Callable, Iterator
from itertools import chain
from uuid import UUID

from flask import Response

from turnloom.models.connections.redis import Item
from turnloom.models.contracts.turn import TurnAccepted
from turnloom.models.ledger.turns import OpenedTurn
from turnloom.web.auth import caller
from turnloom.web.event_stream import HEADERS, items_after
from turnloom.web.ingest import hand_on
from turnloom.web.stream_places import counted

Told = Iterator[list[Item]]
"""The events of a turn as they come; an empty list where nothing has happened for a while."""


def streamed(
    answer: TurnAccepted, opened: OpenedTurn, write: Callable[[Told], Iterator[bytes]], content_type: str
) -> Response:
    """Hand a turn on, and answer with a stream that is written from its events. The turn does not need the client.

    Raises:
        Unavailable: Postgres does not answer. The turn goes on all the same.
    """
    hand_on(opened)
    told = counted(items_after(UUID(answer.turn_id), caller().tenant_id, (0, 0)))
    begin = next(told)
    response = Response(write(chain([begin], told)), content_type=content_type, headers=HEADERS)
    response.headers.update(id_headers(answer))
    # The stream ends with its reader, even if the reader has read nothing but the headers.
    response.call_on_close(told.close)
    return response


def id_headers(answer: TurnAccepted) -> dict[str, str]:
    """Return the headers that name the turn and its conversation."""
    return {"X-Turnloom-Turn-Id": answer.turn_id, "X-Turnloom-Conversation-Id": answer.conversation_id}
