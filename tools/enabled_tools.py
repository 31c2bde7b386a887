"""All tools of this deployment: those of its packs and those imported from MCP servers."""

from turnloom.models.runtime.settings import settings
from turnloom.tools.extras import require
from turnloom.tools.pack_settings import read_pack_settings
from turnloom.tools.registry import Registry, load_registry


def enabled_tools() -> Registry:
    """Return the tools that the settings enable.

    Raises:
        Misconfigured: a setting of one of the packs is wrong.
        NotFound: the settings name a pack or a file that does not exist.
        Conflict: two installed packs have the same name.
        Unavailable: there are MCP servers, but the extra `mcp` is not installed.
        Invalid: the file of MCP servers, or the list of their tools, has a fault.
    """
    read_pack_settings()
    tools = dict(load_registry(settings().packs).tools)
    if (servers := settings().mcp_servers) is not None:
        require("mcp", "TURNLOOM_MCP_SERVERS")
        # The import takes 0.05 s, and most deployments have no servers.
        from turnloom.tools.mcp.imported_tools import imported  # noqa: PLC0415 - heavy, see above

        tools.update((tool.name, tool) for tool in imported(servers))
    return Registry(dict(sorted(tools.items())))
