"""What the user is told when the work could not be done: explained, clean, from templates.

Every final turn has a reply, a failed one too. No language model is asked, so it works when none answers.
"""

from typing import Literal, NamedTuple

from models.contracts.turn import Reply
from planner.prompts import Prompts

Trouble = Literal["llm_unavailable", "budget_exceeded", "invalid_plan", "internal_error"]
"""Why there is nothing better to say: the language model is out, or no budget is left for it, its plan was refused
twice, a fault of ours."""


class Apology(NamedTuple):
    """A reply, and the template that wrote it."""

    reply: Reply
    source: str


def apology(trouble: Trouble, prompts: Prompts, *, reference: str | None = None) -> Apology:
    """Return the reply for a turn that ends without results. `reference`: an id that operators can look up."""
    rendered = prompts.render(f"responding/apologies/{trouble}", reference=reference)
    return Apology(Reply(text=rendered.text, grounded=True), rendered.source)
