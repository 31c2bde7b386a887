"""Grounding: every figure of a reply has a source, or is not said.

In: a text and its evidence.  Out: the source of each figure, or the reason why it has none. No language model is
called.
"""

from planner.grounding.checking import Grounding, Violation, check, withhold
from planner.grounding.evidence import Evidence, Origin
from planner.grounding.gathering import gather
from planner.grounding.reading import prepare

__all__ = ["Evidence", "Grounding", "Origin", "Violation", "check", "gather", "prepare", "withhold"]
