"""The result of a skill as the result of a tool: text, structured content, and files as images,
sounds, resources and links.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote

import mcp_types as mt

from a2a_contract.json_types import is_json_array, is_json_object
from a2a_runtime.engine.handlers.results import BYTES
from a2a_runtime.features.remote_tools import RemoteFile, RemoteResult
from a2a_runtime.skills.schema import SchemaValidator

_FILE_URI = "a2a:///artifacts/"


def build_tool_result(
    result: RemoteResult, output: SchemaValidator | None, wrapper: str | None
) -> mt.CallToolResult:
    """Build the result; one that has to match a schema has structured content."""
    files = [_to_content(each) for each in result.files]
    if output is None:
        text = result.value
        if not isinstance(text, str):
            text = json.dumps(text, ensure_ascii=False)
        texts = [] if text == "" and files else [mt.TextContent(text=text)]
        return mt.CallToolResult(content=[*texts, *files])
    found = next(
        (each for each in _list_candidates(result.value, wrapper) if output.is_valid(each)), None
    )
    if found is None:
        return build_error_result("The result does not match the schema of the skill")
    return mt.CallToolResult(
        content=[mt.TextContent(text=json.dumps(found, ensure_ascii=False)), *files],
        structured_content=found,
    )


def build_error_result(text: str) -> mt.CallToolResult:
    """Build the result of a call that has failed."""
    return mt.CallToolResult(is_error=True, content=[mt.TextContent(text=text)])


def _list_candidates(value: object, wrapper: str | None) -> Iterator[dict[str, object]]:
    """List the values that may be the output: the whole, the data beside a text, and one of several
    data.
    """
    candidates = [value]
    if is_json_object(value) and value.keys() == {"text", "data"}:
        candidates.append(value["data"])
    for found in tuple(candidates):
        if is_json_array(found):
            candidates += found
    for each in candidates:
        if wrapper is not None:
            yield {wrapper: each}
        elif is_json_object(each):
            yield dict(each)


def _to_content(file: RemoteFile) -> mt.ContentBlock:
    media_type = file.media_type or BYTES
    if file.data is None:
        return mt.ResourceLink(
            uri=file.url or "", name=file.name or file.url or "", mime_type=file.media_type
        )
    data = base64.b64encode(file.data).decode()
    if media_type.startswith("image/"):
        return mt.ImageContent(data=data, mime_type=media_type)
    if media_type.startswith("audio/"):
        return mt.AudioContent(data=data, mime_type=media_type)
    uri = _FILE_URI + quote(file.name or "file")
    return mt.EmbeddedResource(
        resource=mt.BlobResourceContents(uri=uri, blob=data, mime_type=media_type)
    )
