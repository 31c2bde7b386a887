"""Read the path of a value: what the names of its fields say that it is for."""

import re
from functools import lru_cache
from typing import Literal

from turnloom.planner.reply.grounding.fields import Basis, field_name, parts_of
from turnloom.planner.reply.grounding.labels import stem
from turnloom.planner.reply.grounding.lexicon import words
from turnloom.planner.reply.grounding.places import EvidencePlace
from turnloom.planner.reply.grounding.price_units import units_in

Role = Literal["begin", "end"]
"""Whether a time begins or ends something."""
ROLES: tuple[Role, Role] = ("begin", "end")
_LAST_NAME = re.compile(r"([^.\[\]]+)(?:\[[^\[\]]+\])*$")
_OF_TIME = re.compile(r"\.(?:date_?time|time|local|at|utc)$", re.IGNORECASE)
"""The name of a field that only says that it is a time."""


def basis_of(path: str) -> Basis | None:
    """Return what the amount at a path is for, if its field's name says so."""
    last = _LAST_NAME.search(path)
    return field_name(last[1]).basis if last else None


def basis_at(place: EvidencePlace) -> Basis | None:
    """Return what an amount is for: by its field's name, or by the words beside it in a longer text."""
    if basis := basis_of(place.path):
        return basis
    is_daily = place.is_prose and not place.about.isdisjoint(_stems("day")) and place.about.isdisjoint(_stems("total"))
    return "night" if is_daily or period_of(place.path) == "day" else None


@lru_cache
def _stems(basis: str) -> frozenset[str]:
    periods = words()["periods_of_price"]
    return frozenset(map(stem, periods[basis]["fields"] if basis in periods else words()[f"{basis}_fields"]))


def period_of(path: str) -> str | None:
    """Return the time that the amount at a path is for, if one of the names of its fields says so."""
    parts = {part for name in re.split(r"[.\[\]0-9]+", path)[-3:] for part in parts_of(name)}
    found = [period for period, read in words()["periods_of_price"].items() if not parts.isdisjoint(read["fields"])]
    return found[0] if len(found) == 1 else None


def period_at(place: EvidencePlace) -> str | None:
    """Return the time that an amount is for, by its fields' names, or in a longer text by the words beside it."""
    if (period := period_of(place.path)) or not place.is_prose:
        return period
    if said := units_in(place.behind).get("time"):
        return said
    found = [period for period in words()["periods_of_price"] if not place.about.isdisjoint(_stems(period))]
    return found[0] if len(found) == 1 else None


def is_for_one(path: str) -> bool:
    """Return whether the amount at a path is what one person pays, as its field's name says."""
    last = _LAST_NAME.search(path)
    return last is not None and not set(words()["per_person_fields"]).isdisjoint(parts_of(last[1]))


@lru_cache(maxsize=4096)
def role_of_field(path: str) -> Role | None:
    """Return whether the field at a path is named like a beginning or like an end."""
    last = _LAST_NAME.search(_OF_TIME.sub("", path))
    parts = set(parts_of(last[1])) if last else set()
    found = [role for role in ROLES if not parts.isdisjoint(words()["roles"][role]["fields"])]
    return found[0] if len(found) == 1 and parts.isdisjoint(words()["roles_of_both"]) else None
