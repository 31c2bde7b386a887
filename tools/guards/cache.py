"""The shared cache: the result of a read is valid for everybody in the tenant, and one call at a time fetches it.

The key of an entry is the tenant, the tool, its version and the arguments as the input model reads them. The caller
that fetches the entry is the flight. It holds the right to do so for half of its remaining time. Other callers wait for
its outcome, a failure included. If the flight ends without an outcome, or takes too long, one of them takes over.
Failures are passed to the callers that wait, and are not kept.

Shortly before an entry expires, one caller refreshes it while the others still use the old result. The longer fetching
takes, the earlier the refresh begins: as soon as the remaining time is at most `took * -ln(u)`, with u uniform in
(0, 1] for each caller (Vattani, Chierichetti, Lowenstein: "Optimal Probabilistic Cache Stampede Prevention", VLDB 2015,
with beta = 1).
"""

import hashlib
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import orjson
from pydantic import BaseModel, ValidationError

from turnloom.models.connections.redis import run_script
from turnloom.models.contracts.envelope import Envelope, ToolError
from turnloom.models.errors import Unavailable
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import Tool

MAX_RESULT_BYTES = 262_144
"""A larger result is passed to the callers that wait, but not kept, because Redis keeps it in memory."""

_FLIGHT_SHARE = 0.5
_TOLD_MS = 2_000
"""How long the outcome of a flight is there for the callers that wait."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.2


def shared(tool: Tool, query: BaseModel, context: ToolContext, make: Callable[[], Envelope]) -> Envelope:
    """Return the result of a call: from the cache, from another caller that is making it, or by making it."""
    flight = _Flight(_key(tool, query, context), uuid4().hex)
    try:
        return _take(flight, tool, context, make)
    except Unavailable:
        return make()


@dataclass(frozen=True, slots=True)
class _Flight:
    """A caller's view of an entry."""

    key: str
    name: str

    def ask(self, awaited: str, right_s: float) -> Sequence[Any]:
        keys = [self.key, f"{self.key}:flight", f"{self.key}:{awaited}"]
        answer: Sequence[Any] = run_script("flight", keys, ["take", self.name, int(right_s * 1_000) + 1, _eagerness()])
        return answer

    def land(self, tool: Tool, envelope: Envelope, took_s: float) -> None:
        """Publish the outcome of the flight."""
        result = orjson.dumps(envelope.data)
        keys = [self.key, f"{self.key}:flight", f"{self.key}:{self.name}"]
        kept = envelope.ok and len(result) <= MAX_RESULT_BYTES
        how, for_ms = ("keep", int((tool.cache_s or 0) * 1_000)) if kept else ("tell", _TOLD_MS)
        said = result if kept else envelope.model_dump_json()
        run_script("flight", keys, [how, self.name, for_ms, int(took_s * 1_000) + 1, said])


def _take(flight: _Flight, tool: Tool, context: ToolContext, make: Callable[[], Envelope]) -> Envelope:
    awaited, pause_s = "", _FIRST_PAUSE_S
    while True:
        what, held = flight.ask(awaited, context.remaining_s * _FLIGHT_SHARE)
        if what == b"known" and (known := _known(tool, held)) is not None:
            return known
        if what == b"landed":
            return Envelope.model_validate_json(held).model_copy(update={"cache": "shared"})
        if what != b"wait":
            return _fetch(flight, tool, held, make)
        if context.remaining_s == 0:
            message = f"{tool.name} was still waiting for the same call, made elsewhere, when its deadline passed"
            return Envelope(ok=False, error=ToolError(code="TOOL_TIMEOUT", message=message))
        time.sleep(min(pause_s, context.remaining_s))
        awaited, pause_s = held.decode(), min(pause_s * 1.5, _LONGEST_PAUSE_S)


def _fetch(flight: _Flight, tool: Tool, held: bytes | None, make: Callable[[], Envelope]) -> Envelope:
    """Make the call and publish its outcome. If a refresh fails, the old result is still used."""
    began = time.monotonic()
    envelope = make()
    try:
        flight.land(tool, envelope, time.monotonic() - began)
    except Unavailable:
        return envelope
    return envelope if envelope.ok or held is None else _known(tool, held) or envelope


def _eagerness() -> float:
    return -math.log(1 - random.random())  # noqa: S311 - spreads refreshes, keeps no secret


def _known(tool: Tool, result: bytes) -> Envelope | None:
    """Return a cached result. None if the output model refuses it, because an earlier release wrote it."""
    try:
        data = orjson.loads(result)
        tool.output.model_validate(data, by_name=True)
    except (ValidationError, orjson.JSONDecodeError):
        return None
    return Envelope(ok=True, data=data, cache="shared")


def _key(tool: Tool, query: BaseModel, context: ToolContext) -> str:
    args = orjson.dumps(query.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)
    return f"turnloom:cache:{context.tenant_id}:{tool.name}:{tool.version}:{hashlib.sha256(args).hexdigest()[:40]}"
