"""The skills of an agent as tools of an MCP server."""
