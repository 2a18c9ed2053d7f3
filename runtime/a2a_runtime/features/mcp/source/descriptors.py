"""A tool as the descriptor of a skill.

readOnlyHint, idempotentHint    the skill may run again after a crash;
                                without one its call is not repeated
annotations, title              members of the skill on the card, under ``extensions.mcp``
inputSchema, outputSchema       those of the skill
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import mcp_types as mt

from a2a_runtime.errors import SkillSourceError
from a2a_runtime.ports.skill_source import SkillDescriptor

TAG = "mcp"
_JSON = "application/json"
_TEXT = "text/plain"


def describe_tool(tool: mt.Tool, prefix: str, timeout: float | None) -> SkillDescriptor:
    """Describe a tool as a skill."""
    hints = tool.annotations or mt.ToolAnnotations()
    published = hints.model_dump(mode="json", by_alias=True, exclude_none=True)
    annotations = {}
    if published:
        annotations = {"extensions": {TAG: {"annotations": published}}}
    return SkillDescriptor(
        f"{prefix}{tool.name}",
        tool.description or hints.title or tool.title or tool.name,
        tool.title or hints.title or "",
        tags=(TAG,),
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        input_modes=(_JSON, _TEXT),
        output_modes=(_TEXT,) if tool.output_schema is None else (_JSON,),
        is_read_only=bool(hints.read_only_hint),
        is_idempotent=bool(hints.idempotent_hint),
        asks=True,
        timeout=timeout,
        annotations=annotations,
    )


def select_tools(
    server: str, tools: Sequence[mt.Tool], include: Collection[str] | None, exclude: Collection[str]
) -> Sequence[mt.Tool]:
    """Select the tools that become skills.

    A name that the server does not have is an error: it may be misspelt.
    """
    names = {tool.name for tool in tools}
    if unknown := ", ".join(sorted({*(include or ()), *exclude} - names)):
        raise SkillSourceError(
            f"{server}: it has no tool {unknown}; its tools: {', '.join(sorted(names)) or 'none'}"
        )
    return [
        tool
        for tool in tools
        if (include is None or tool.name in include) and tool.name not in exclude
    ]


def needs_task(tool: mt.Tool) -> bool:
    """Return whether a tool can be called only as a task of the protocol of 2025-11-25, which its
    successor has no more.
    """
    return tool.execution is not None and tool.execution.task_support == "required"
