"""Meetings: find times that suit both people, and write one of them into both calendars.

`proposing` finds the times at which both work and neither is busy. `calendars` and `dav` read and write the calendars.
A time is confirmed in steps: it is held for both, written into both calendars, and made final. If a step fails, the
earlier ones are undone. A confirmed meeting is moved or cancelled in the same way (`changes`).
`calendar_entries.clean_up` undoes the steps of a call that was lost.
"""
