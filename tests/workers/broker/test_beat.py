"""Beat's application only sends."""

import subprocess
import sys


def test_beat_changes_nothing_of_the_workers_application() -> None:
    """A process that loads both keeps the tasks, their results, and the application that signatures belong to."""
    load = "from celery import current_app; from turnloom.workers.broker import app as own, beat; app = own.app"
    shown = "print(type(app.backend).__module__, len(app.conf.include) > 0, current_app._get_current_object() is app)"

    done = subprocess.run([sys.executable, "-c", f"{load}; {shown}"], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["turnloom.workers.broker.chords", "True", "True"]
