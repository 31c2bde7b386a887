"""A turn is shown on a terminal."""

from rich.console import Console

from turnloom.workers.cli.turn_display import show_events


def test_a_call_that_waits_for_approval_is_shown() -> None:
    """The output has the call's arguments and says how to decide about it."""
    data = {"turn_id": "t1", "at": "2026-01-01T00:00:00Z", "step": "w", "tool": "sim.approve", "args": {"value": [7]}}
    console = Console(record=True, width=120)

    show_events(console, [("turn.queued", {"at": data["at"]}), ("approval.requested", data)])

    shown = console.export_text()
    assert 'w sim.approve waits for approval of {"value":[7]}' in shown
    assert 'POST /v1/turns/t1/approvals/w {"decision": "approve"}' in shown
