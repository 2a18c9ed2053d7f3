"""The tools of an MCP server as skills.

    Agent("files", sources=[McpSource("npx -y @modelcontextprotocol/server-filesystem /data")])
    Agent("search", sources=[McpSource("https://tools.example/mcp", headers={"x-api-key": "…"})])

One connection serves all calls, and is opened again when it is lost. The list of tools follows that
of the server.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypedDict, Unpack

from a2a_runtime.base.importing import explain_missing

with explain_missing(__name__, "mcp"):
    from mcp import MCPError

from pydantic import ValidationError

from a2a_contract.json_types import is_json_object
from a2a_runtime.base.origin import current_origin
from a2a_runtime.errors import SkillSourceError
from a2a_runtime.features.mcp.source.connection import (
    McpConnection,
    NotConnectedError,
    ToolRequest,
    describe_error,
)
from a2a_runtime.features.mcp.source.descriptors import describe_tool, needs_task, select_tools
from a2a_runtime.features.mcp.source.runs import OpenCalls, ToolRun
from a2a_runtime.features.mcp.source.tool_output import build_output
from a2a_runtime.features.mcp.source.transport import HeaderFactory, is_url, parse_server
from a2a_runtime.ports.skill_source import SkillDescriptor, SkillSource
from a2a_runtime.skills.context import SkillContext

__all__ = ["McpOptions", "McpSource", "is_url"]

DEFAULT_TIMEOUT_SECONDS = 300.0
DEFAULT_CONNECT_SECONDS = 30.0
DEFAULT_QUESTION_SECONDS = 3600.0

log = logging.getLogger(__name__)


class McpOptions(TypedDict, total=False):
    """Options of a source."""

    env: Mapping[str, str]
    """Variables for the process of a command, besides ``PATH``, ``HOME`` and their like."""
    headers: Mapping[str, str] | HeaderFactory
    """Headers for a URL: a mapping, or a function of the caller, which is ``None`` for requests
    that belong to no call.
    """
    include: Collection[str]
    """The tools that become skills. Default: all."""
    exclude: Collection[str]
    """Tools that do not."""
    prefix: str
    """Begin of the ids of the skills, for several servers with tools of one name."""
    timeout: float | None
    """Seconds of a call. Default: 300."""
    connect_timeout: float
    """Seconds until the server has to be connected. Default: 30."""
    question_timeout: float
    """Seconds that a call stays open for the answer to its question. Default: 3600."""


class McpSource(SkillSource):
    """The tools of one server, given by its command or its URL."""

    def __init__(self, server: str | Sequence[str], **options: Unpack[McpOptions]) -> None:
        if unknown := ", ".join(sorted(set(options) - McpOptions.__annotations__.keys())):
            raise TypeError(
                f"McpSource: unknown option {unknown}; known: "
                f"{', '.join(McpOptions.__annotations__)}"
            )
        self._server = parse_server(server, options.get("env"), options.get("headers"))
        self._options = options
        self._prefix = options.get("prefix", "")
        self._open_calls = OpenCalls(options.get("question_timeout", DEFAULT_QUESTION_SECONDS))
        self._connection: McpConnection | None = None
        self._left_out: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"MCP server {str(self._server)!r}"

    async def open(self, announce: Callable[[], None]) -> None:
        """Connect."""
        connection = McpConnection(
            self._server, self._options.get("connect_timeout", DEFAULT_CONNECT_SECONDS), announce
        )
        await connection.open()
        self._connection = connection

    async def close(self) -> None:
        """Give up the calls that wait for an answer, and disconnect."""
        await self._open_calls.close()
        if (connection := self._connection) is not None:
            self._connection = None
            await connection.close()

    async def describe(self) -> Sequence[SkillDescriptor]:
        """Describe the tools that the server lists."""
        try:
            listed = await self._require_connection().list_tools()
        except (MCPError, NotConnectedError, ValidationError) as error:
            raise SkillSourceError(
                f"{self}: its tools cannot be listed: {describe_error(error)}; correct the server"
            ) from error
        tools = select_tools(
            str(self), listed, self._options.get("include"), self._options.get("exclude", ())
        )
        left_out = frozenset(tool.name for tool in tools if needs_task(tool))
        for name in sorted(left_out - self._left_out):
            log.warning(
                "tool left out: %s of %s can be called only as a task of MCP 2025-11-25", name, self
            )
        self._left_out = left_out
        timeout = self._options.get("timeout", DEFAULT_TIMEOUT_SECONDS)
        return [
            describe_tool(tool, self._prefix, timeout)
            for tool in tools
            if tool.name not in left_out
        ]

    def summarize(self, skills: int) -> str:
        """Describe an agent by the number of its tools."""
        noun = "skill" if skills == 1 else "skills"
        return f"Tools of an MCP server: {skills} {noun}"

    async def call(self, skill: SkillDescriptor, value: object, context: SkillContext) -> object:
        """Call a tool."""
        connection = self._require_connection()
        self._server.set_caller(context.caller)
        run = ToolRun(connection, self._open_calls, skill, context)
        arguments = value if is_json_object(value) else {}
        result = await run.finish(
            ToolRequest(skill.id.removeprefix(self._prefix), arguments, trace=_build_trace())
        )
        return await build_output(result, connection.read_resource)

    def _require_connection(self) -> McpConnection:
        if self._connection is None:
            raise SkillSourceError(
                f"{self}: not open; start the agent before its skills are called"
            )
        return self._connection


def _build_trace() -> Mapping[str, str] | None:
    """Build the trace of a request that passes through; a traced process writes its own span
    instead.
    """
    origin = current_origin.get()
    if origin is None or not origin.traceparent:
        return None
    members = {"traceparent": origin.traceparent, "tracestate": origin.tracestate}
    return {name: value for name, value in members.items() if value}
