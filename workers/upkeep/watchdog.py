"""Watchdog: tell the supervisor every two seconds that this process lives; it ends one that says nothing for 15 s.

The supervisor is systemd or the embedded stack. Whatever becomes of Postgres and Redis, a living process says so.
"""

import logging

from gunicorn.systemd import sd_notify

from models.runtime.daemon import Daemon

INTERVAL_S = 2.0


def tell_alive() -> None:
    """Tell the supervisor, where there is one that listens, that this process is ready and lives."""
    sd_notify("READY=1\nWATCHDOG=1", logging.getLogger(__name__))


def start() -> None:
    """Tell it now, and go on as long as the process lives, also while it stops."""
    tell_alive()
    Daemon("watchdog", tell_alive, every_s=INTERVAL_S).start()
