"""When a result runs out, such as a booking link that works for half an hour."""

from datetime import datetime
from typing import Any


def expiry(result: Any, now: datetime) -> dict[str, Any] | None:
    """Return when a result with a moment `expires_at` runs out, in the time zone of `now`; None if it does not.

    Out: `{day, time, tz, is_today, is_over}`.
    """
    ends = _moment(result.get("expires_at")) if isinstance(result, dict) else None
    if ends is None:
        return None
    local = ends.astimezone(now.tzinfo)
    return {
        "day": f"{local:%Y-%m-%d}",
        "time": f"{local:%H:%M}",
        "tz": str(now.tzinfo),
        "is_today": local.date() == now.date(),
        "is_over": local <= now,
    }


def _moment(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else None
