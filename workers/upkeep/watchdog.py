"""The watchdog tells the supervisor every two seconds that this process lives; after 15 s of silence it is killed.

The supervisor is systemd or the embedded stack. A living process reports even if Postgres and Redis do not answer.
"""

import logging

from gunicorn.systemd import sd_notify

from turnloom.models.runtime.daemon import Daemon

INTERVAL_S = 2.0


def tell_alive() -> None:
    """Tell the supervisor, if there is one, that this process is ready and lives."""
    sd_notify("READY=1\nWATCHDOG=1", logging.getLogger(__name__))


def start() -> None:
    """Tell it now, and go on as long as the process lives, even while it stops."""
    tell_alive()
    Daemon("watchdog", tell_alive, every_s=INTERVAL_S).start()
