"""The tools of MCP servers as skills of an agent."""
