"""The list of imported tools, stored next to the file of servers: their definitions at the last import."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from turnloom.models.contracts.base import Contract
from turnloom.models.errors import Invalid

FORMAT = 1


class Pinned(Contract):
    """Definitions by server, untranslated, so that a reader sees exactly what the servers sent."""

    format: int = FORMAT
    servers: dict[str, list[dict[str, Any]]] = Field(default_factory=dict)


def path_of(servers: Path) -> Path:
    """Return the path of the list that belongs to a file of servers."""
    return servers.with_suffix(".lock.json")


def load_pinned(servers: Path) -> Mapping[str, list[dict[str, Any]]]:
    """Return the imported definitions by server. Empty if nothing has been imported.

    Raises:
        Invalid: the list cannot be read, or has another format.
    """
    path = path_of(servers)
    try:
        found = Pinned.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (ValidationError, OSError) as error:
        raise Invalid(f"{path} cannot be read; run `turnloom mcp import` to write it again") from error
    if found.format != FORMAT:
        raise Invalid(f"{path} has format {found.format}; run `turnloom mcp import` to write it in format {FORMAT}")
    return found.servers


def save_pinned(servers: Path, definitions: Mapping[str, list[dict[str, Any]]]) -> None:
    """Write the list atomically."""
    path = path_of(servers)
    data = Pinned(servers=dict(sorted(definitions.items()))).model_dump()
    unfinished = path.with_suffix(f".{os.getpid()}.new")
    # Write ASCII, so that invisible characters show up as escapes.
    unfinished.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", "ascii")
    unfinished.replace(path)
