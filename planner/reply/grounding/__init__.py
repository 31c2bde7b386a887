"""Grounding: every figure of a reply has a source, or is not said.

In: a text and its evidence.  Out: the source of each figure, or the reason why it has none. No language model is
called.
"""

from turnloom.planner.reply.grounding.check import Grounding, Violation, check
from turnloom.planner.reply.grounding.evidence import Evidence
from turnloom.planner.reply.grounding.places import ResultOrigin
from turnloom.planner.reply.grounding.preparation import prepare
from turnloom.planner.reply.grounding.sources import UserWords, gather

__all__ = ["Evidence", "Grounding", "ResultOrigin", "UserWords", "Violation", "check", "gather", "prepare"]
