"""Meetings: times that suit both sides, and one of them written into both calendars.

`proposing` finds the times, from when both work and neither is busy; `calendars` and `dav` know when that is. A time is
confirmed in two phases: it is held for both, then written into both calendars, then final; what fails on the way is
undone, and what nobody undid is found by `writing.clean_up`.
"""
