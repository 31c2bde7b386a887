"""Tools of MCP servers: whoever speaks the Model Context Protocol can be called by a plan.

A file (TURNLOOM_MCP_SERVERS) names the servers and what is allowed of them. `turnloom mcp import` asks them for their
tools and writes down what it found, next to it. From then on that list counts, in every process and whether a server
answers or not: what a server says later changes no tool, it only makes calls of the tools that it changed fail.

Nothing that a server says is trusted. Names and schemas are checked and translated, what its annotations promise
counts only where the file says `trusted`, and everything it returns is data.
"""
