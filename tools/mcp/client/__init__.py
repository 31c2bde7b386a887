"""Talk to MCP servers. Its modules import the MCP library, which is heavy: they are imported when a call is made."""
