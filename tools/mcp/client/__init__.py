"""The client of MCP servers. Its modules import the heavy MCP library, so they are only imported for a call."""
