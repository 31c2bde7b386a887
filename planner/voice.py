"""Voice: the agent's persona, manner and style, the user's locale and the safety rules, as inputs of system prompts."""

from collections.abc import Mapping
from typing import Any

from turnloom.models.runtime.local_time import timezone_of
from turnloom.planner.agents import AgentProfile
from turnloom.planner.languages.language import locale_of
from turnloom.planner.prompts import Prompts, Rendered


def voice(agent: AgentProfile, prompts: Prompts, user: Mapping[str, Any]) -> tuple[dict[str, str], list[Rendered]]:
    """Return the inputs that all system prompts share, and the fragments that were rendered for them."""
    parts = {
        "style": prompts.render(f"styles/{agent.style}"),
        "locale": prompts.render("fragments/locale", language=_language(user), timezone=timezone_of(user)),
        "safety": prompts.render("fragments/safety"),
    }
    manner = [prompts.render("fragments/manner", **agent.manner.model_dump())] if agent.manner else []
    persona = "\n".join(text.strip() for text in (agent.persona, *(part.text for part in manner)))
    return {"persona": persona, **{name: part.text for name, part in parts.items()}}, [*manner, *parts.values()]


def _language(user: Mapping[str, Any]) -> str | None:
    """Return the user's language in English, such as German (Austria), or as the locale names it if it is unknown."""
    tag = user.get("locale")
    found = locale_of(tag) if tag else None
    return found.get_display_name("en") if found else tag
