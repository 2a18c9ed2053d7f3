"""Writing an artifact piece by piece, as a handler does it.

    async with ctx.artifact("report") as report:
        await report.text("first line")
        await report.text("last line", last=True)

Each call is one chunk, committed when it returns, and one event for those who follow.
"""

from __future__ import annotations

import asyncio
import mimetypes
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from a2a_contract.base import JSON_NULL, JsonObject
from a2a_contract.v1_0 import Artifact, Part
from a2a_runtime.execution.desk import Desk

Bytes: TypeAlias = bytes  # the class below has a method of that name

_BYTES = "application/octet-stream"


class ArtifactWriter:
    """An artifact of a task, known by its name; another writer of the same name goes on where this one ended."""

    def __init__(self, desk: Desk, name: str, *, description: str | None = None, metadata: JsonObject | None = None) -> None:
        self._desk, self._name, self._description, self._metadata = desk, name, description, metadata
        self._complete = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._complete = True

    async def text(self, text: str, *, last: bool = False, media_type: str | None = None) -> None:
        """Write a piece of text."""
        await self.write(Part(text=text, media_type=media_type), last=last)

    async def json(self, value: object, *, last: bool = False, media_type: str | None = None) -> None:
        """Write a piece of JSON, ``None`` being null."""
        await self.write(Part(data=JSON_NULL if value is None else value, media_type=media_type), last=last)

    async def bytes(self, data: Bytes, *, last: bool = False, media_type: str = _BYTES) -> None:
        """Write some bytes."""
        await self.write(Part(raw=data, media_type=media_type), last=last)

    async def file(self, source: Path | Bytes, *, name: str | None = None, media_type: str | None = None, last: bool = False) -> None:
        """Write a whole file, from its path or its content."""
        if isinstance(source, Path):
            name = name or source.name
            data = await asyncio.to_thread(source.read_bytes)
        else:
            data = source
        media_type = media_type or (mimetypes.guess_type(name)[0] if name else None) or _BYTES
        await self.write(Part(raw=data, filename=name, media_type=media_type), last=last)

    async def link(self, url: str, *, name: str | None = None, media_type: str | None = None, last: bool = False) -> None:
        """Write a reference to a file that can be fetched elsewhere."""
        await self.write(Part(url=url, filename=name, media_type=media_type), last=last)

    async def write(self, *parts: Part, last: bool = False) -> None:
        """Write ready-made parts as one chunk; ``last`` tells readers that the artifact is complete."""
        if self._complete:
            raise ValueError(f"artifact {self._name!r} is complete: nothing can be written to it any more")
        chunk = Artifact(artifact_id=self._name, name=self._name, description=self._description, parts=list(parts), metadata=self._metadata)
        await self._desk.artifact(chunk, last_chunk=last)
        self._complete = last
