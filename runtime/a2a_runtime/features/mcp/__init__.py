"""MCP, both ways: tools of a server as skills, and the skills of an agent as tools of a server.

Loaded where it is imported, and where ``a2a-gen serve`` gets a server of MCP.

    source/      a server as a source of skills
    source ──► connection     one connection to a server, which comes back by itself
       │           │
       │           └─ transport    stdio and streamable HTTP
       ├──► runs              one call: progress, questions, the rounds of the stateless protocol
       │     ├─ calls         a call in flight, which may outlive the run that has begun it
       │     └─ elicitations  an elicitation as a question to the caller
       ├──► descriptors       a tool as the descriptor of a skill
       └──► tool_output       the result of a tool as an artifact

    server/      an agent as a server
    mounting ──► tools        the skills of an agent as tools, in the name of a caller
                    ├─ questions     a question of a task as an elicitation
                    ├─ long_tools    work that takes long, as tasks of the extension
                    └─ results       the result of a skill as the result of a tool

The protocol has two eras. With 2026-07-28 a question ends the call, and the answer repeats it with
the state that the server has given: the question is durable. Before, a question is asked within the
call, which stays open in this process until the answer comes, up to a limit.

Extra ``mcp``.
"""

from typing import TYPE_CHECKING

from a2a_runtime.base.importing import lazy_names

if TYPE_CHECKING:
    from a2a_runtime.features.mcp.server.mounting import mount_mcp
    from a2a_runtime.features.mcp.source.source import McpSource

__all__ = ["McpSource", "mount_mcp"]
if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, __all__, "source.source", "server.mounting")
