"""The list of imported tools: what servers said of them when an operator last looked, next to the file of servers."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from models.contracts.base import Contract
from models.errors import Invalid

FORMAT = 1


class Pinned(Contract):
    """Definitions as the servers gave them, by server: nothing is translated, so that a reader sees what they say."""

    format: int = FORMAT
    servers: dict[str, list[dict[str, Any]]] = Field(default_factory=dict)


def path_of(servers: Path) -> Path:
    """Return where the list of a file of servers is."""
    return servers.with_suffix(".lock.json")


def load_pinned(servers: Path) -> Mapping[str, list[dict[str, Any]]]:
    """Return the imported definitions by server; none where nothing has been imported.

    Raises:
        Invalid: the list is broken, or of another format.
    """
    path = path_of(servers)
    try:
        found = Pinned.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (ValidationError, OSError) as error:
        raise Invalid(f"{path} cannot be read; `turnloom mcp import` writes it anew") from error
    if found.format != FORMAT:
        raise Invalid(f"{path} is of format {found.format}; `turnloom mcp import` writes format {FORMAT}")
    return found.servers


def save_pinned(servers: Path, definitions: Mapping[str, list[dict[str, Any]]]) -> None:
    """Write the list, whole or not at all."""
    path = path_of(servers)
    data = Pinned(servers=dict(sorted(definitions.items()))).model_dump()
    unfinished = path.with_suffix(f".{os.getpid()}.new")
    # In ASCII, so that whoever reads the list sees what would not be seen.
    unfinished.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", "ascii")
    unfinished.replace(path)
