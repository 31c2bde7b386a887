"""Every tool that this deployment offers: of its packs, and of the MCP servers that it has imported."""

from models.settings import settings
from tools.registry import Registry, load_registry


def enabled_tools() -> Registry:
    """Return the tools that the settings enable.

    Raises:
        NotFound: there is no pack, or no file, that they name.
        Conflict: two installed packs have the same name.
        Invalid: the file of MCP servers, or the list of their tools, is not as it should be.
    """
    tools = dict(load_registry(settings().packs).tools)
    if (servers := settings().mcp_servers) is not None:
        # 0.05 s: most processes have no servers.
        from tools.mcp.imported import imported  # noqa: PLC0415 - heavy, see above

        tools.update((tool.name, tool) for tool in imported(servers))
    return Registry(dict(sorted(tools.items())))
