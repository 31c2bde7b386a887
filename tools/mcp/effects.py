"""Decide the effect of a foreign tool, and the care that its calls need. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnloom.models.contracts.plan import Effect
from turnloom.tools.mcp.servers import ToolTerms


@dataclass(frozen=True)
class Treatment:
    """The effect of a tool, and the care that its calls need."""

    effect: Effect
    requires_approval: bool
    may_repeat: bool
    """Whether a call may be made again if its outcome is unknown."""


def treat(hints: Mapping[str, Any], terms: ToolTerms, *, trusted: bool) -> Treatment:
    """Decide how a tool is treated: by the operator's terms, else by trusted annotations, else by safe defaults.

    By default the tool writes, a person approves each call, and no call is repeated. For the annotations and their
    defaults see https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations
    """
    believed = hints if trusted else {}
    effect = terms.effect or ("read" if believed.get("readOnlyHint") is True else "write")
    is_harmless = effect == "read" or (effect == "write" and believed.get("destructiveHint") is False)
    return Treatment(
        effect=effect,
        requires_approval=not is_harmless if terms.approval is None else terms.approval,
        may_repeat=effect == "read" or believed.get("idempotentHint") is True,
    )
