"""The local time of the person whom a turn is for. It decides which day is today."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from turnloom.models.runtime.settings import settings


def timezone_of(person: Mapping[str, Any]) -> str:
    """Return a person's time zone: their own if it is known, otherwise the deployment's."""
    return person.get("timezone") or settings().default_timezone


def local_now(person: Mapping[str, Any]) -> datetime:
    """Return the present time in a person's time zone."""
    return datetime.now(ZoneInfo(timezone_of(person)))
