"""Skills as plain HTTP, for clients without the protocol.

Loaded where a skill is typed, or the agent has sources.
"""
