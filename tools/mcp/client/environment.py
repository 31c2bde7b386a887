"""Texts of the file of MCP servers that name environment variables, so that the file holds no secret."""

import os
import re

from turnloom.models.errors import NotFound


def fill_in(text: str) -> str:
    """Return a text with environment variables in place of `${NAME}`, which files hold instead of secrets.

    Raises:
        NotFound: the variable is not set; the message names it.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise NotFound(f"the environment has no variable {match[1]}")
        return os.environ[match[1]]

    return re.sub(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", value, text)
