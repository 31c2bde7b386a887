"""Clean up: let tools undo what lost calls of theirs have left half done in the world, and nobody asks after."""

from models.runtime.logging import log
from workers.broker.app import app
from workers.turns.process_parts import registry


@app.task(name="clean_up", send_events=False)
def clean_up() -> None:
    """Let each tool that can do so clean up."""
    for name, tool in registry().tools.items():
        try:
            if tool.clean_up is not None:
                tool.clean_up()
        except Exception:  # noqa: BLE001 - foreign code: the next tool has its own to clean up
            log.exception("tool.unclean", tool=name)
