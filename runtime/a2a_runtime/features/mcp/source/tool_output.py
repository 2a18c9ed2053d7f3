"""The result of a tool as the output of a skill.

structured content    JSON, checked against the schema of the tool;
                      the text that repeats it is left out
text                  text
image, audio          a file
embedded resource     a file, or a text of its media type
link to a resource    a URL, if callers can reach it;
                      else the resource is read from the server, and becomes a file
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import mcp_types as mt
from mcp import MCPError

from a2a_contract.base import JSON_NULL
from a2a_contract.v1_0 import Artifact, Part
from a2a_runtime.engine.handlers.results import BYTES, RESULT

ResourceReader: TypeAlias = Callable[[str], Awaitable[mt.ReadResourceResult]]
Output: TypeAlias = Artifact | Part | object

_REACHABLE = ("http://", "https://")
_TEXT = "text/plain"

log = logging.getLogger(__name__)


async def build_output(result: mt.CallToolResult, read: ResourceReader) -> Output:
    """Build the output; a value of the schema if there is nothing else."""
    is_structured = (
        "structured_content" in result.model_fields_set and result.structured_content is not None
    )
    contents = [
        each for each in result.content if not (is_structured and isinstance(each, mt.TextContent))
    ]
    parts: list[Part] = []
    for each in contents:
        parts += await _to_parts(each, read)
    if not is_structured:
        if len(parts) == 1:
            return parts[0]
        return Artifact(artifact_id=RESULT, name=RESULT, parts=parts or [Part(text="")])
    value: object = result.structured_content
    if parts:
        return Artifact(
            artifact_id=RESULT,
            name=RESULT,
            parts=[Part(data=JSON_NULL if value is None else value), *parts],
        )
    return value


def join_text(result: mt.CallToolResult) -> str:
    """Join the texts of a result, which tell of an error."""
    return "\n".join(each.text for each in result.content if isinstance(each, mt.TextContent))


async def _to_parts(content: mt.ContentBlock, read: ResourceReader) -> Sequence[Part]:
    match content:
        case mt.TextContent():
            return [Part(text=content.text)]
        case mt.ImageContent() | mt.AudioContent():
            return [Part(raw=base64.b64decode(content.data), media_type=content.mime_type)]
        case mt.EmbeddedResource():
            return [_to_file(content.resource)]
        case mt.ResourceLink():
            return await _read_link(content, read)


async def _read_link(link: mt.ResourceLink, read: ResourceReader) -> Sequence[Part]:
    uri = str(link.uri)
    if not uri.startswith(_REACHABLE):
        try:
            resource = await read(uri)
            return [_to_file(each, link.name) for each in resource.contents]
        except MCPError as error:
            log.warning("resource %s: cannot be read, so that its link is sent: %s", uri, error)
    return [Part(url=uri, filename=link.name, media_type=link.mime_type)]


def _to_file(
    resource: mt.TextResourceContents | mt.BlobResourceContents, name: str | None = None
) -> Part:
    name = name or str(resource.uri).rstrip("/").rpartition("/")[2] or None
    if isinstance(resource, mt.TextResourceContents):
        return Part(text=resource.text, filename=name, media_type=resource.mime_type or _TEXT)
    return Part(
        raw=base64.b64decode(resource.blob), filename=name, media_type=resource.mime_type or BYTES
    )
