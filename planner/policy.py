"""What the user is told when the work could not be done: explained, clean, from templates.

Every final turn has a reply, a failed one too. No language model is asked, so it works when none answers.
"""

from typing import Literal

from models.contracts.turn import Reply
from planner.prompts import render

Trouble = Literal["llm_unavailable", "invalid_plan", "internal_error"]
"""Why there is nothing better to say: the language model is out, its plan was refused twice, a fault of ours."""


def apology(trouble: Trouble, *, reference: str | None = None) -> Reply:
    """Return the reply for a turn that ends without results. `reference`: an id that operators can look up."""
    return Reply(text=render(f"responding/apologies/{trouble}", reference=reference).text)
