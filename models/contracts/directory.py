"""The directory: users, whom they know, and the accounts that they let us use."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from models.contracts.base import Contract, Moment
from models.contracts.turn import Identifier, Locale, Timezone

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

AccountStatus = Literal["active", "inactive", "reauth_required"]
"""`inactive`: switched off, calls end CONNECTION_INACTIVE. `reauth_required`: the service refuses the secret, the user
must connect it again."""

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
"""From when until when on a day, such as `["09:00", "17:00"]`, in the user's time zone."""

WorkingHours = dict[Weekday, Hours]
"""The hours of each working day; a day that is not named is free."""

Email = Annotated[str, Field(max_length=320, pattern=r"^[^@\s]+@[^@\s]+$")]

Grant = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z0-9_.:-]+$")]
"""A scope that tools ask for, such as `calendar.events.propose`."""

IntegrationName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z0-9_.-]+$")]
"""An outside service, as tools name it, such as `caldav`."""


def office_hours() -> WorkingHours:
    """Return what counts as working hours where nothing is said: Monday to Friday, nine to five."""
    return {day: ["09:00", "17:00"] for day in ("mon", "tue", "wed", "thu", "fri")}


class Profile(Contract):
    """A user's details and permissions."""

    name: str = Field(min_length=1, max_length=200)
    """By which others find them."""
    email: Email | None = None
    timezone: Timezone = "UTC"
    locale: Locale = "en"
    working_hours: WorkingHours = Field(default_factory=office_hours)
    """Weekday -> from when until when, in their time zone; Monday to Friday, nine to five, where nothing is said."""
    scopes: list[Grant] = Field(default_factory=list, max_length=100)
    """What they allow tools to do for them."""


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
    """An account of a user with an outside service. What stood there before is replaced whole."""

    settings: dict[str, Any] = Field(default_factory=dict)
    """What is no secret, such as the address of the server."""
    secret: dict[str, Any] | None = None
    """Tokens and passwords. Kept encrypted, and never shown again."""
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
