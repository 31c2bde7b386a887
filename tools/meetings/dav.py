"""A user's calendar on a CalDAV server (RFC 4791), by their account `caldav`.

The account's settings have the `url` of the calendar itself and, for a password, the `username`; its secret has
`password` or `token`. Each call waits until a given moment at most, and is made once: whoever calls may try again,
since neither reading, nor writing or removing once more, changes anything.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

from models.database import transaction
from models.errors import PolicyDenied, ToolFailed, TurnloomError, Unavailable
from models.ledger.calendars import Interval
from models.ledger.integrations import Account, access_of, needs_reauth
from models.ledger.users import User
from tools.guards.breaker import Circuit, guarded
from tools.meetings.calendars import Calendar

if TYPE_CHECKING:
    from caldav.davclient import DAVClient
    from icalendar import Event

INTEGRATION = "caldav"

MAX_ANSWER_BYTES = 8_388_608
"""Of a request, unpacked: what a window of two months may hold."""

_WIDER = timedelta(days=1)
"""A server reads times without a zone in one of its own; asked for this much more, it leaves none out."""


def open_calendar(tenant_id: UUID, user: User, until: float, *, is_own: bool) -> Calendar:
    """Return a user's calendar. Calls of it end at `until`, on this process's monotonic clock.

    `is_own`: it is the calendar of whoever asks, who can connect it again.

    Raises:
        ToolFailed: REAUTH_REQUIRED, where they must do so; CONNECTION_INACTIVE, where it is switched off, set up
            incompletely, or somebody else's that must be connected again.
    """
    with transaction() as db:
        account = access_of(db, tenant_id, user.id).accounts.get(INTEGRATION)
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
    """A calendar on a server, besides the one with us."""

    account: Account
    until: float
    is_own: bool

    @property
    def is_ours(self) -> bool:
        """No: the user's event is on the server."""
        return False

    def busy(self, window: Interval, but: str | None = None) -> list[Interval]:
        """Return when the user is busy, by the server and by what is held with us. Fails as `_asked` does."""
        # Not by super(): a dataclass with slots is another class than the one that this method was written in.
        held = Calendar.busy(self, window, but)
        # The circuit is the account's. Whatever a tool does in a calendar, it looks first: no other call needs a guard.
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
        """Put an event on the server, in place of the one of its uid. Fails as `_asked` does."""
        with self._asked() as client:
            answer = client.put(self._url_of(uid), event, {"Content-Type": "text/calendar; charset=utf-8"})
        self._check(answer.status)

    def remove(self, uid: str) -> None:
        """Take an event from the server, if it is there. Fails as `_asked` does."""
        with self._asked() as client:
            answer = client.delete(self._url_of(uid))
        self._check(200 if answer.status == 404 else answer.status)

    def unconnected(self) -> ToolFailed:
        """Return the failure of a call that needs the user to connect the calendar again."""
        if self.is_own:
            return ToolFailed("your calendar must be connected again: it refuses us", code="REAUTH_REQUIRED")
        return ToolFailed(f"{self.user.name} must connect their calendar again", code="CONNECTION_INACTIVE")

    @property
    def _url(self) -> str:
        url = str(self.account.settings.get("url", ""))
        if urlsplit(url).scheme not in ("http", "https"):
            raise ToolFailed(f"the account of {self.user.name} lacks the calendar's url", code="CONNECTION_INACTIVE")
        return url.removesuffix("/") + "/"

    def _url_of(self, uid: str) -> str:
        return f"{self._url}{uid}.ics"

    @contextmanager
    def _asked(self) -> Iterator["DAVClient"]:
        """Lend a client, and say what its failures mean.

        Raises:
            ToolFailed: the server refuses us, or the request.
            Unavailable: RATE_LIMITED or UPSTREAM_5XX; a write may have taken effect.
            TimeoutError: there was no answer in time; the same.
        """
        import caldav.lib.error as dav  # noqa: PLC0415 - 0.4 s: only processes that call such a server pay for it

        host = urlsplit(self._url).hostname
        try:
            with self._client() as client:
                yield client
        except PolicyDenied:
            message = f"the calendar of {self.user.name} is at an address that may not be called"
            raise ToolFailed(message, code="CONNECTION_INACTIVE") from None
        except (TurnloomError, TimeoutError):
            raise
        except dav.RateLimitError as error:
            message, pause_s = f"{host} wants fewer calls", error.retry_after_seconds
            raise Unavailable(message, code="RATE_LIMITED", retry_after_s=pause_s) from None
        except dav.DAVError as error:
            raise self._failure(error.status) from None
        except Exception as error:  # the library breaks in many ways over what is no answer of such a server
            raise Unavailable(f"{host} answers with something else than a calendar", code="UPSTREAM_5XX") from error

    def _client(self) -> "DAVClient":
        from caldav.davclient import DAVClient  # noqa: PLC0415 - see above

        from tools.outside_session import CheckedSession  # noqa: PLC0415 - see above

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
        return Unavailable(f"{host} fails", code="UPSTREAM_5XX")

    def _takes_time(self, event: "Event", but: str | None) -> bool:
        """Whether an event makes the user busy (RFC 5545, sections 3.8.2.7, 3.8.1.11 and 3.2.12)."""
        if event.get("UID") == but or event.get("TRANSP") == "TRANSPARENT" or event.get("STATUS") == "CANCELLED":
            return False
        attendees = event.get("ATTENDEE", [])
        mine = f"mailto:{self.user.email}".casefold()
        answers = (each.params.get("PARTSTAT") for each in _listed(attendees) if each.casefold() == mine)
        return "DECLINED" not in answers

    def _time_of(self, event: "Event") -> Interval | None:
        """Return an event's time; None where it has none. Days, and times without a zone, are the user's own."""
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
