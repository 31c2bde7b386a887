"""Cleaning lets tools undo what their lost calls have left half done outside, and nobody asks about."""

from turnloom.models.runtime.logging import log
from turnloom.workers.broker.app import app
from turnloom.workers.turns.process_parts import registry


@app.task(name="clean_up", send_events=False)
def clean_up() -> None:
    """Let each tool that can clean up do so."""
    for name, tool in registry().tools.items():
        try:
            if tool.clean_up is not None:
                tool.clean_up()
        except Exception:  # noqa: BLE001 - foreign code: the next tool must still clean up
            log.exception("tool.unclean", tool=name)
