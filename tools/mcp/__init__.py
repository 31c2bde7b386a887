"""Tools of MCP servers. A plan can call any server that speaks the Model Context Protocol.

A file (TURNLOOM_MCP_SERVERS) names the servers and the tools that may be called. `turnloom mcp import` asks the servers
for their tools and writes the answers to a list next to that file. From then on every process uses this list, whether a
server answers or not. If a server changes a tool later, our tool stays as it is, and calls of it fail.

Nothing that a server says is trusted. Names and schemas are checked and translated. Annotations count only if the file
says `trusted`. Everything that a server returns is data.
"""
