"""Users, whom they know, and the accounts that they let us use."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from turnloom.models.contracts.base import Contract, Moment
from turnloom.models.contracts.time_zone import Timezone
from turnloom.models.contracts.turn import Identifier, Locale
from turnloom.models.runtime.settings import settings

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

AccountStatus = Literal["active", "inactive", "reauth_required"]
"""`inactive`: it is switched off, and calls end with CONNECTION_INACTIVE. `reauth_required`: the service refuses the
secret, and the user must connect the account again."""

ConnectionStatus = Literal["active", "inactive"]

NotificationStatus = Literal["open", "resolved"]


def _in_order(hours: list[str]) -> list[str]:
    if hours[0] >= hours[1]:
        raise ValueError("the start must be before the end, on the same day")
    return hours


Hours = Annotated[
    list[Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]],
    Field(min_length=2, max_length=2),
    AfterValidator(_in_order),
]
"""Start and end on a day, such as `["09:00", "17:00"]`, in the user's time zone."""

WorkingHours = dict[Weekday, Hours]
"""The hours of each working day; days that are not listed are free."""

Email = Annotated[str, Field(max_length=320, pattern=r"^[^@\s]+@[^@\s]+$")]

Grant = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z0-9_.:-]+$")]
"""A scope that tools ask for, such as `calendar.events.propose`."""

IntegrationName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z0-9_.-]+$")]
"""An outside service, as tools name it, such as `caldav`."""


def office_hours() -> WorkingHours:
    """Return the default working hours: Monday to Friday, nine to five."""
    return {day: ["09:00", "17:00"] for day in ("mon", "tue", "wed", "thu", "fri")}


class Profile(Contract):
    """A user's details and permissions."""

    name: str = Field(min_length=1, max_length=200)
    """The name by which others find them."""
    email: Email | None = None
    timezone: Timezone = Field(default_factory=lambda: settings().default_timezone)
    """By default the deployment's, `TURNLOOM_DEFAULT_TIMEZONE`."""
    locale: Locale = "en"
    working_hours: WorkingHours = Field(default_factory=office_hours)
    """Weekday -> start and end, in their time zone; by default Monday to Friday, nine to five."""
    scopes: list[Grant] = Field(default_factory=list, max_length=100)
    """What the user allows tools to do for them."""


class AccountView(Contract):
    """An account of a user with an outside service; never its secret."""

    id: UUID
    integration: str
    status: AccountStatus
    settings: dict[str, Any]
    has_secret: bool
    updated_at: Moment


class UserView(Profile):
    """A user of the directory."""

    id: Identifier
    """The caller's own id, as in a turn's `user`."""
    accounts: list[AccountView]
    created_at: Moment


class UserPage(Contract):
    """Users, by id."""

    items: list[UserView]
    next_cursor: str | None
    """Hand it back as `cursor` for the next page; None at the end."""


class AccountRequest(Contract):
    """An account of a user with an outside service. It replaces the earlier one completely."""

    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings that are not secret, such as the address of the server."""
    secret: dict[str, Any] | None = None
    """Tokens and passwords. They are stored encrypted and never shown again."""
    status: Literal["active", "inactive"] = "active"


class ConnectionRequest(Contract):
    """Two users who know each other, or no longer do."""

    users: list[Identifier] = Field(min_length=2, max_length=2)
    status: ConnectionStatus = "active"


class ConnectionView(Contract):
    """Two users who know each other: each may propose meetings to the other while it is active."""

    id: UUID
    users: list[str]
    status: ConnectionStatus
