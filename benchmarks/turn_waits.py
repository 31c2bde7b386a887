"""Wait for the end of a turn as clients do: by the event stream, by `?wait`, by polling."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from benchmarks.clients import Answer, Client
from turnloom.models.contracts.turn import FINAL_TURN_STATUSES

_WAIT_S = 30
_COME_AGAIN_S = 2.0
"""Seconds that `Retry-After` gives."""
_ENDS = {f"event: turn.{status}".encode(): status for status in FINAL_TURN_STATUSES}
_STEP = b"event: step.finished"

Message = Mapping[str, object]


class Refused(Exception):
    """The API did not give the answer that was asked for."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a turn as its client learned it."""

    status: str
    text: str
    """The reply, or everything that came if the client read the stream."""
    steps: int


Way = Callable[[Client, Message], Awaitable[Ended]]
"""A function that posts a message and waits until its turn has ended."""


async def by_stream(client: Client, message: Message) -> Ended:
    """Read the turn's events to their end."""
    received = await client.stream(f"{await accepted(client, message)}/events")
    for end, status in _ENDS.items():
        if end in received:
            return Ended(status, received.decode(), received.count(_STEP))
    raise Refused("the stream ended before the turn")


async def by_wait(client: Client, message: Message) -> Ended:
    """Post the message again under its id until the answer is the finished turn."""
    while True:
        answer = await _post(client, f"/v1/turns?wait={_WAIT_S}", message)
        if answer.status not in (200, 202):
            raise Refused(str(answer.body))
        if answer.status == 200 and answer.body["status"] in FINAL_TURN_STATUSES:
            return _ended(answer)


def polling(every_s: float) -> Way:
    """Return the way that polls the turn at this interval."""

    async def by_poll(client: Client, message: Message) -> Ended:
        address = await accepted(client, message)
        while True:
            await asyncio.sleep(every_s)
            answer = await client.get(address)
            if answer.status != 200:
                raise Refused(str(answer.body))
            if answer.body["status"] in FINAL_TURN_STATUSES:
                return _ended(answer)

    return by_poll


async def accepted(client: Client, message: Message) -> str:
    """Post a message and return the address of its turn."""
    answer = await _post(client, "/v1/turns", message)
    if answer.status != 202:
        raise Refused(str(answer.body))
    return str(answer.body["links"]["self"])


def _ended(answer: Answer) -> Ended:
    turn = answer.body
    return Ended(turn["status"], turn["reply"]["text"] if turn["reply"] else "", len(turn["steps"]))


async def _post(client: Client, path: str, message: Message) -> Answer:
    """Post a message. If the API is overloaded, post it again when the API says so."""
    while (answer := await client.post(path, message)).status == 503 and answer.body["code"] == "overloaded":
        client.told_to_come_again += 1
        await asyncio.sleep(_COME_AGAIN_S)
    return answer
