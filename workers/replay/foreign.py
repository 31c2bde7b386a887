"""Conversations that another system has recorded, one JSON line each, become recorded conversations.

A file is taken whole or not at all: one error names every bad line and field. A call whose name is no tool of ours is
kept as it was recorded. So is one of a tool of ours, also where its name is written `pms__get_availability`.
"""

from collections.abc import Container, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from pydantic import ValidationError

from turnloom.models.contracts.foreign import ForeignCall, ForeignConversation, ForeignTurn, ForeignUser
from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.contracts.replay import UNRECORDED_ELSEWHERE, StepRecord, TurnRecord
from turnloom.models.contracts.time_zone import known_timezones
from turnloom.models.errors import Invalid
from turnloom.tools.registry import Registry

LONGEST_LINE = 4_194_304
"""Most bytes of one conversation."""
_MOST_FAULTS = 50
_UNTIMED = datetime(2025, 1, 1, 12, tzinfo=UTC)
"""The time of a conversation that says none. It is fixed, so that its replay is the same on every day."""
_BETWEEN = timedelta(minutes=1)
"""The time between turns that say none."""


def read_lines(lines: Iterable[bytes]) -> list[ForeignConversation]:
    """Return the conversations of a file, one of each line. Blank lines are skipped.

    Raises:
        Invalid: a line holds no conversation; `faults` names the lines and fields, at most fifty.
    """
    found: dict[str, ForeignConversation] = {}
    faults: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                conversation = _read_line(line, found)
            except ValidationError as error:
                faults += _faults(number, error)
            except ValueError as error:
                faults.append(_fault(number, "", str(error)))
            else:
                found[conversation.conversation_id] = conversation
    if faults:
        more = f" (and {len(faults) - 1} more faults)" if len(faults) > 1 else ""
        raise Invalid(f"nothing was read: {faults[0]['message']}{more}", faults=faults[:_MOST_FAULTS])
    if not found:
        raise Invalid("nothing was read: the file has no conversations")
    return list(found.values())


def began_at(foreign: ForeignConversation) -> datetime:
    """Return when a conversation began; a fixed time if it does not say."""
    return foreign.started_at or next((turn.at for turn in foreign.turns if turn.at), None) or _UNTIMED


def recorded_conversation(foreign: ForeignConversation, agent: str, tools: Registry) -> RecordedConversation:
    """Return a foreign conversation as it was recorded. `agent` replays it if it names none itself."""
    at, person, turns = began_at(foreign), _person(foreign.user), list[RecordedTurn]()
    for seq, turn in enumerate(foreign.turns, 1):
        at = turn.at or (at + _BETWEEN if turns else at)
        record = _record(turn, foreign.agent or agent, at, tools)
        turns.append(RecordedTurn(seq=seq, record=record, begun_at=at, shown_message=turn.user, person=person))
    return RecordedConversation(conversation_id=foreign.conversation_id, is_foreign=True, turns=turns)


def _read_line(line: bytes, known: Container[str]) -> ForeignConversation:
    if len(line) > LONGEST_LINE:
        raise ValueError(f"has more than {LONGEST_LINE} bytes")
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error}") from error
    conversation = ForeignConversation.model_validate(data)
    if conversation.conversation_id in known:
        raise ValueError(f"another line has the conversation_id {conversation.conversation_id!r}")
    return conversation


def _faults(number: int, error: ValidationError) -> Iterator[dict[str, Any]]:
    for one in error.errors(include_url=False, include_input=False, include_context=False):
        field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in one["loc"]).lstrip(".")
        yield _fault(number, field, one["msg"])


def _fault(number: int, field: str, detail: str) -> dict[str, Any]:
    place = f"line {number}, {field}" if field else f"line {number}"
    return {"line": number, "field": field, "message": f"{place}: {detail}"}


def _person(user: ForeignUser | str | None) -> dict[str, Any]:
    if not isinstance(user, ForeignUser):
        return {"id": user} if user else {}
    person = user.model_dump(exclude_none=True)
    return {name: value for name, value in person.items() if name != "timezone" or value in known_timezones()}


def _record(turn: ForeignTurn, agent: str, at: datetime, tools: Registry) -> TurnRecord:
    return TurnRecord(
        message=turn.user,
        agent=agent,
        at=at,
        status="succeeded",
        steps=[_step(number, call, tools) for number, call in enumerate(turn.tool_calls or (), 1)],
        reply=turn.assistant,
        unrecorded=[*UNRECORDED_ELSEWHERE],
    )


def _step(number: int, call: ForeignCall, tools: Registry) -> StepRecord:
    name, own = call.name or "", (call.name or "").replace("__", ".")
    tool = tools.tools.get(name) or tools.tools.get(own)
    return StepRecord(
        id=call.id or f"call{number}",
        tool=tool.name if tool else name,
        args=call.args or {},
        effect=tool.effect if tool else "read",
        result=_data(call.result) if tool else call.result,
    )


def _data(result: Any) -> Any:
    """Return a result of one of our tools. Others write results as text."""
    if not isinstance(result, str):
        return result
    try:
        return orjson.loads(result)
    except orjson.JSONDecodeError:
        return result
