"""Guards: what stands around the call of a tool, as the tool declares it.

In this order:

1. `access`: whoever asks has granted the tool's scopes, and the account that it needs can be used.
2. approval by a person, where the tool asks for it (`workers/parking.py`).
3. `limits`: how often a user, and a tenant, may call it.
4. `breaker`: an outside service that keeps failing is left alone for a while.
5. `cache`: a read that somebody in the tenant has made holds for all, and is made once where many want it at a time.
6. the deadline, the call with its retries, each of which asks the breaker, and the check of the result
   (`tools/runner.py`).

The first two are asked before anything else is done for the call, the others by the runner, with the arguments as the
hooks have left them. Limits, breaker and cache are shared by all workers through Redis; while it is out, calls pass.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel

from models.contracts.envelope import Envelope
from tools.context import ToolContext
from tools.guards import breaker, cache, limits
from tools.registry import Tool

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Guards:
    """The guards that the runner asks, for one step."""

    longest_wait_s: float
    """How long the step may wait for its time under a limit: what is left of its turn."""

    def around(self, tool: Tool, query: BaseModel, context: ToolContext, make: Callable[[], Envelope]) -> Envelope:
        """Return what is known of a call, or what making it gives.

        Raises:
            ToolFailed: RATE_LIMITED or CIRCUIT_OPEN, it may not be made.
        """
        limits.reserve(tool, context, self.longest_wait_s)
        if tool.cache_s is None:
            return make()
        breaker.refuse(tool, query, context)
        return cache.shared(tool, query, context, make)

    def attempt(self, tool: Tool, query: BaseModel, context: ToolContext, call: Callable[[], Result]) -> Result:
        """Make one try of a call.

        Raises:
            ToolFailed: CIRCUIT_OPEN; and whatever the call raises.
        """
        return breaker.through(tool, query, context, call)
