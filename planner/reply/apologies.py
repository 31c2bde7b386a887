"""Apologies: the reply of a turn whose work could not be done, written from a template.

Every final turn has a reply, even a failed one. No language model is called, so this works when none is available.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from turnloom.models.contracts.turn import Question, Reply
from turnloom.planner.prompts import Prompts

Trouble = Literal["llm_unavailable", "budget_exceeded", "invalid_plan", "internal_error"]
"""Why the turn has no better reply: the language model is unavailable, the budget for it is spent, its plan was refused
twice, or an internal error occurred."""


class Apology(NamedTuple):
    """A reply, and the template that wrote it."""

    reply: Reply
    source: str


def apology(trouble: Trouble, prompts: Prompts, *, reference: str | None = None) -> Apology:
    """Return the reply for a turn that ends without results. `reference`: an id that operators can look up."""
    rendered = prompts.render(f"responding/apologies/{trouble}", reference=reference)
    return Apology(Reply(text=rendered.text, grounded=True), rendered.source)


def disambiguation(choices: Sequence[str], prompts: Prompts) -> Apology:
    """Return the reply for a turn whose plan was refused twice: the user chooses what is meant."""
    rendered = prompts.render("responding/disambiguation", choices=list(choices))
    question = Question(fields=["request"], choices={"request": list(choices)})
    return Apology(Reply(text=rendered.text, question=question, grounded=True), rendered.source)
