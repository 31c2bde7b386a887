"""Free and busy times of several people. Each calendar may be on a server of its own, so they are read side by side."""

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from turnloom.tools.packs.meetings.calendars import Calendar
from turnloom.tools.packs.meetings.store.calendars import Interval


def busy_times(calendars: Sequence[Calendar], window: Interval, but: Collection[str] = ()) -> list[list[Interval]]:
    """Return the busy times of each calendar within a window. Events with the uids in `but` do not count.

    Nothing is cached: a time that somebody has just freed or taken counts at once. If calendars cannot be read, the
    failure of the first of them is raised when all have ended.
    """
    with ThreadPoolExecutor(len(calendars), "calendar") as pool:
        # The copies carry what logs are told about the call.
        reads = [pool.submit(copy_context().run, calendar.busy, window, but) for calendar in calendars]
    return [read.result() for read in reads]
