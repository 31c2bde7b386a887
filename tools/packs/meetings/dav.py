"""A user's calendar on a CalDAV server (RFC 4791), reached through their `caldav` account.

The account's settings contain the `url` of the calendar itself and, for a password, the `username`. Its secret contains
`password` or `token`. Each call is made once and ends at a given time. The caller may try again, since repeating a
read, a write or a removal changes nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

from turnloom.models.connections.database import transaction
from turnloom.models.errors import PolicyDenied, ToolFailed, TurnloomError, Unavailable
from turnloom.models.ledger.integrations import Account, access_by_user, needs_reauth
from turnloom.models.ledger.users import DirectoryUser
from turnloom.tools.guards.breaker import Circuit, guarded
from turnloom.tools.packs.meetings.calendars import Calendar
from turnloom.tools.packs.meetings.store.calendars import Interval

if TYPE_CHECKING:
    from caldav.davclient import DAVClient
    from icalendar import Event

INTEGRATION = "caldav"

MAX_ANSWER_BYTES = 8_388_608
"""Largest answer to a request, unpacked. A window of two months may hold that much."""

_WIDER = timedelta(days=1)
"""A server reads times without a zone in a zone of its own. With a search window that is wider by this much on both
sides, it leaves none out."""


def open_calendars(
    tenant_id: UUID, users: Sequence[DirectoryUser], until: float, owner: DirectoryUser
) -> list[Calendar]:
    """Return the calendars of some users. Their calls end at `until`, on this process's monotonic clock.

    `owner` is the user who asks, and who can connect the own calendar again.

    Raises:
        ToolFailed: REAUTH_REQUIRED, the user's own calendar must be connected again; CONNECTION_INACTIVE, the calendar
            is switched off, or it belongs to somebody else who must connect it again.
    """
    with transaction() as db:
        access = access_by_user(db, tenant_id, [user.id for user in users])
    accounts = [access[user.id].accounts.get(INTEGRATION) for user in users]
    opened = zip(users, accounts, strict=True)
    return [_opened(tenant_id, user, account, until, is_own=user is owner) for user, account in opened]


def _opened(tenant_id: UUID, user: DirectoryUser, account: Account | None, until: float, *, is_own: bool) -> Calendar:
    if account is None:
        return Calendar(tenant_id=tenant_id, user=user)
    if account.status == "inactive":
        raise ToolFailed(f"the calendar of {user.name} is switched off", code="CONNECTION_INACTIVE")
    calendar = DavCalendar(tenant_id=tenant_id, user=user, account=account, until=until, is_own=is_own)
    if account.status == "reauth_required":
        raise calendar.unconnected()
    return calendar


@dataclass(frozen=True, slots=True, kw_only=True)
class DavCalendar(Calendar):
    """A calendar on a server, in addition to the one in our database."""

    account: Account
    until: float
    is_own: bool

    @property
    def is_ours(self) -> bool:
        """False: the user's event is on the server."""
        return False

    def busy(self, window: Interval, but: Collection[str] = ()) -> list[Interval]:
        """Return the busy times on the server and those held in our database. Fails as `_asked` does."""
        # super() does not work here: a dataclass with slots is a new class, not the one this method was defined in.
        held = Calendar.busy(self, window, but)
        # The circuit belongs to the account. Only this call needs a guard: a tool reads a calendar before it writes.
        circuit = Circuit(str(self.account.id), f"the calendar of {self.user.name}")
        events = guarded(circuit, self.until, partial(self._found, window))
        there = (self._time_of(event) for event in events if self._takes_time(event, but))
        return held + [at for at in there if at is not None and at.overlaps(window)]

    def _found(self, window: Interval) -> "list[Event]":
        with self._asked() as client:
            found = client.calendar(url=self._url).search(  # type: ignore[no-untyped-call]
                start=window.starts - _WIDER, end=window.ends + _WIDER, event=True, expand=True
            )
            return [event.component for event in found]

    def write(self, uid: str, event: str) -> None:
        """Write an event to the server, or replace the one with this uid. Fails as `_asked` does."""
        with self._asked() as client:
            answer = client.put(self._url_of(uid), event, {"Content-Type": "text/calendar; charset=utf-8"})
        self._check(answer.status)

    def remove(self, uid: str) -> None:
        """Remove an event from the server if it is there. Fails as `_asked` does."""
        with self._asked() as client:
            answer = client.delete(self._url_of(uid))
        self._check(200 if answer.status == 404 else answer.status)

    def unconnected(self) -> ToolFailed:
        """Return the failure that says that the user must connect the calendar again."""
        if self.is_own:
            return ToolFailed("your calendar refuses its credentials: connect it again", code="REAUTH_REQUIRED")
        return ToolFailed(f"{self.user.name} must connect their calendar again", code="CONNECTION_INACTIVE")

    @property
    def _url(self) -> str:
        url = str(self.account.settings.get("url", ""))
        if urlsplit(url).scheme not in ("http", "https"):
            message = f"the caldav account of {self.user.name} has no `url` of the calendar"
            raise ToolFailed(message, code="CONNECTION_INACTIVE")
        return url.removesuffix("/") + "/"

    def _url_of(self, uid: str) -> str:
        return f"{self._url}{uid}.ics"

    @contextmanager
    def _asked(self) -> Iterator["DAVClient"]:
        """Lend a client, and translate its failures.

        Raises:
            ToolFailed: the server refuses our credentials or the request, or the calendar's URL is missing or may not
                be called.
            Unavailable: RATE_LIMITED or UPSTREAM_5XX. A write may have taken effect.
            TimeoutError: there was no answer in time. A write may have taken effect.
        """
        import caldav.lib.error as dav  # noqa: PLC0415 - takes 0.4 s, and only processes that call a server need it

        host = urlsplit(self._url).hostname
        try:
            with self._client() as client:
                yield client
        except PolicyDenied:
            message = f"the calendar of {self.user.name} has an address that may not be called"
            raise ToolFailed(message, code="CONNECTION_INACTIVE") from None
        except (TurnloomError, TimeoutError):
            raise
        except dav.RateLimitError as error:
            message, pause_s = f"{host} limits our requests", error.retry_after_seconds
            raise Unavailable(message, code="RATE_LIMITED", retry_after_s=pause_s) from None
        except dav.DAVError as error:
            raise self._failure(error.status) from None
        except Exception as error:  # the library fails in many ways on answers that are not CalDAV
            raise Unavailable(f"{host} did not answer with a calendar", code="UPSTREAM_5XX") from error

    def _client(self) -> "DAVClient":
        from caldav.davclient import DAVClient  # noqa: PLC0415 - see above

        from turnloom.tools.http.checked_session import CheckedSession  # noqa: PLC0415 - see above

        secret = self.account.secret or {}
        client = DAVClient(
            self._url,
            username=self.account.settings.get("username"),
            password=secret.get("token") or secret.get("password"),
            auth_type="bearer" if "token" in secret else None,
            enable_rfc6764=False,
        )
        client.session.close()
        client.session = CheckedSession(self.until, MAX_ANSWER_BYTES)
        return client

    def _check(self, status: int) -> None:
        if status >= 300:
            raise self._failure(status)

    def _failure(self, status: int | None) -> ToolFailed | Unavailable:
        host = urlsplit(self._url).hostname
        if status == 401:
            with transaction() as db:
                needs_reauth(db, self.tenant_id, self.account.id, self.account.updated_at)
            return self.unconnected()
        if status is not None and status < 500:
            return ToolFailed(f"{host} refuses the request with HTTP {status}", code="UPSTREAM_4XX")
        return Unavailable(f"{host} failed to handle the request", code="UPSTREAM_5XX")

    def _takes_time(self, event: "Event", but: Collection[str]) -> bool:
        """Whether an event makes the user busy (RFC 5545, sections 3.8.2.7, 3.8.1.11 and 3.2.12)."""
        if event.get("UID") in but or event.get("TRANSP") == "TRANSPARENT" or event.get("STATUS") == "CANCELLED":
            return False
        attendees = event.get("ATTENDEE", [])
        mine = f"mailto:{self.user.email}".casefold()
        answers = (each.params.get("PARTSTAT") for each in _listed(attendees) if each.casefold() == mine)
        return "DECLINED" not in answers

    def _time_of(self, event: "Event") -> Interval | None:
        """Return an event's time; None if it has none. Days, and times without a zone, are in the user's time zone."""
        from icalendar.error import IncompleteComponent, InvalidCalendar  # noqa: PLC0415 - see above

        try:
            at = Interval(*(self._moment(each) for each in (event.start, event.end)))
        except (IncompleteComponent, InvalidCalendar):
            return None
        return at if at.starts < at.ends else None

    def _moment(self, at: date) -> datetime:
        moment = at if isinstance(at, datetime) else datetime.combine(at, datetime.min.time())
        zone = ZoneInfo(self.user.timezone)
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)


def _listed(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else [value]
