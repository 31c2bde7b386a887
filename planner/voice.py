"""Voice: how an agent speaks to somebody: its persona and style, what the user's place asks for, and safety."""

from collections.abc import Mapping
from typing import Any

from planner.agents import AgentProfile
from planner.prompts import Prompts, Rendered


def voice(agent: AgentProfile, prompts: Prompts, user: Mapping[str, Any]) -> tuple[dict[str, str], list[Rendered]]:
    """Return the inputs that system prompts share, and what they were rendered from."""
    parts = {
        "style": prompts.render(f"styles/{agent.style}"),
        "locale": prompts.render("fragments/locale", locale=user.get("locale"), timezone=user.get("timezone")),
        "safety": prompts.render("fragments/safety"),
    }
    return {"persona": agent.persona.strip(), **{name: part.text for name, part in parts.items()}}, [*parts.values()]
