"""Find out who runs a command, for the audit log."""

import os
from getpass import getuser


def user_name() -> str:
    """Return the name of the user who runs the command."""
    try:
        return getuser()
    except (KeyError, OSError):  # a container may run as a user that has no name there
        return f"uid {os.getuid()}"
