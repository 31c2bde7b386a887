"""Beat's application only sends messages."""

import subprocess


def test_beat_does_not_change_the_workers_application(loaded_python: list[str]) -> None:
    """A process that loads both applications keeps the workers' tasks, results and current application."""
    load = "from celery import current_app; from turnloom.workers.broker import app as own, beat; app = own.app"
    shown = "print(type(app.backend).__module__, len(app.conf.include) > 0, current_app._get_current_object() is app)"

    command = [*loaded_python, "-c", f"{load}; {shown}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["turnloom.workers.broker.chords", "True", "True"]
