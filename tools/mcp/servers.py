"""The file of MCP servers, in the format that other MCP clients use, with our terms for each server."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.plan import Effect
from turnloom.models.contracts.rate import Rate
from turnloom.models.errors import Invalid, NotFound
from turnloom.models.runtime.value_faults import faults_of

_NAME = re.compile(r"[a-z](?:[a-z0-9-]|_(?!_)){0,23}")


class ToolTerms(Contract):
    """The treatment of a server's tools. Absent fields come from the server's terms, or from the tool's annotations."""

    effect: Effect | None = None
    approval: bool | None = None
    """Whether a person must approve each call."""
    timeout_s: float | None = Field(None, gt=0, le=3_600)
    scopes: frozenset[str] | None = None
    """Scopes that the user must have granted."""
    per_user: Rate | None = None
    per_tenant: Rate | None = None
    remember_s: float | None = Field(None, ge=0, le=30 * 86_400)
    """How long a conversation remembers what a call returned."""


class McpServer(ToolTerms):
    """A server: a program that we start, or a URL. `${NAME}` in its values stands for an environment variable."""

    command: str | None = None
    """The program that speaks MCP over its standard input and output."""
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables for the program, in addition to those that every program needs."""
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    trusted: bool = False
    """Whether we believe its annotations, which say which tools only read, destroy nothing or may be repeated."""
    tools: dict[str, ToolTerms] = Field(default_factory=lambda: {"*": ToolTerms()})
    """The tools that may be called, with terms that differ from the server's. `*` stands for all tools not named."""

    @model_validator(mode="after")
    def one_way_there(self) -> Self:
        """Refuse a server with both a command and a URL, or with neither."""
        if (self.command is None) == (self.url is None):
            raise ValueError("a server has either a `command` or a `url`")
        if self.url is not None and not self.url.startswith(("https://", "http://")):
            raise ValueError("the `url` must begin with https:// or http://")
        return self

    def terms_of(self, tool: str) -> ToolTerms | None:
        """Return the terms of a tool; None if it may not be called."""
        own = self.tools.get(tool, self.tools.get("*"))
        if own is None:
            return None
        stated = {name: getattr(self, name) for name in ToolTerms.model_fields}
        return ToolTerms(**stated | own.model_dump(exclude_none=True))


class McpServerFile(Contract):
    """The whole file."""

    servers: dict[str, McpServer] = Field(alias="mcpServers")

    @field_validator("servers")
    @classmethod
    def named_well(cls, servers: dict[str, McpServer]) -> dict[str, McpServer]:
        """Refuse server names that cannot be part of a tool's name."""
        for name in servers:
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} cannot name a server: use 1 to 24 of a-z, 0-9, - and _, a letter first")
        return servers


def load_servers(path: Path) -> Mapping[str, McpServer]:
    """Read the file, YAML or JSON.

    Raises:
        NotFound: the file cannot be read.
        Invalid: the file has a fault. The message says where.
    """
    try:
        data: Any = yaml.safe_load(path.read_text("utf-8"))
        return McpServerFile.model_validate(data).servers
    except OSError as error:
        raise NotFound(f"TURNLOOM_MCP_SERVERS: {path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise Invalid(f"TURNLOOM_MCP_SERVERS: {path}: {faults_of(error)}") from error
    except (ValueError, yaml.YAMLError) as error:
        raise Invalid(f"TURNLOOM_MCP_SERVERS: {path} is neither YAML nor JSON: {error}") from error
