"""MCP, both ways: tools of a server as skills, and the skills of an agent as tools of a server.

    source ──► connection     one connection to a server, which comes back by itself
       │           │
       │           └─ transport    stdio and streamable HTTP
       ├──► runs              one call: progress, questions, the rounds of the stateless protocol
       │     ├─ calls         a call in flight, which may outlive the run that has begun it
       │     └─ questions     an elicitation as a question to the caller
       ├──► tools             a tool as the descriptor of a skill
       └──► results           the result of a tool as an artifact

    mounting ──► skill_tools  the skills of an agent as tools, in the name of a caller
                    ├─ caller_questions    a question of a task as an elicitation
                    ├─ skill_tasks         work that takes long, as tasks of the extension
                    └─ tool_results        the result of a skill as that of a tool

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
