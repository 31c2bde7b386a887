"""The shared cache: what a read has found holds for everybody in the tenant, and is fetched by one call at a time.

An entry is found under the tool, its version and the arguments as its input model reads them. The one who fetches it,
the flight, has the right to do so for half of its time; whoever wants the same waits for what it brings, a failure
included, and takes over where nothing comes of it, because its process was killed or is slow. Failures are told to
those who wait, and not kept.

Before an entry ends, one caller fetches it anew while the others still have the old one, the earlier the longer
fetching takes: once the remaining time is at most `took * -ln(u)`, u uniform in (0, 1] for each caller (Vattani,
Chierichetti, Lowenstein: "Optimal Probabilistic Cache Stampede Prevention", VLDB 2015, with beta = 1).
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

from models.contracts.envelope import Envelope, ToolError
from models.errors import Unavailable
from models.redis import run_script
from tools.context import ToolContext
from tools.registry import Tool

MAX_RESULT_BYTES = 262_144
"""A longer result is given to those who wait for it, and not kept: Redis holds it in memory."""

_FLIGHT_SHARE = 0.5
_TOLD_MS = 2_000
"""How long those who wait have to notice how a flight ended."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.2


def shared(tool: Tool, query: BaseModel, context: ToolContext, make: Callable[[], Envelope]) -> Envelope:
    """Return what a call gives, from the cache, from whoever is making it, or by making it."""
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
        """Leave what it brought."""
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
            message = f"{tool.name} was waiting for the same call, made elsewhere, when its deadline came"
            return Envelope(ok=False, error=ToolError(code="TOOL_TIMEOUT", message=message))
        time.sleep(min(pause_s, context.remaining_s))
        awaited, pause_s = held.decode(), min(pause_s * 1.5, _LONGEST_PAUSE_S)


def _fetch(flight: _Flight, tool: Tool, held: bytes | None, make: Callable[[], Envelope]) -> Envelope:
    """Make the call, and leave what it brought. Where only a refresh failed, what there was still holds."""
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
    """Return a kept result; None where it is that of an earlier release, which the output model refuses."""
    try:
        data = orjson.loads(result)
        tool.output.model_validate(data, by_name=True)
    except (ValidationError, orjson.JSONDecodeError):
        return None
    return Envelope(ok=True, data=data, cache="shared")


def _key(tool: Tool, query: BaseModel, context: ToolContext) -> str:
    args = orjson.dumps(query.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)
    return f"turnloom:cache:{context.tenant_id}:{tool.name}:{tool.version}:{hashlib.sha256(args).hexdigest()[:40]}"
