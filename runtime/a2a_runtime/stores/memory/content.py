"""Content of a task in memory: fragments and a log while it changes, one JSON text after its end.

    TaskContent ──── pack ──────► bytes    a task that has ended,
                ◄─── from_json ──          unless it is large or its log is kept

A task is mostly read whole. One text lies in one place of the memory, its fragments in six: with
ten thousand tasks, finding and joining those took a tenth of the time of a read (measured). As
objects, the fragments take as much memory as the text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Self

from msgspec import Raw, Struct
from msgspec.json import Decoder

from a2a_contract.v1_0 import Artifact
from a2a_runtime.stores import fragments
from a2a_runtime.stores.changes import ChunkRow, join_rows
from a2a_runtime.stores.models import LoggedEvent

_JOINED_CHUNKS = 64
_SMALL_CHUNK_BYTES = 4096
_MAX_PACKED_BYTES = 65_536


class _SplitTask(Struct, rename="camel"):
    """The members of a task as they stand in its JSON."""

    id: Raw
    context_id: Raw
    status: Raw
    artifacts: tuple[Raw, ...] = ()
    history: tuple[Raw, ...] = ()
    metadata: Raw = Raw(fragments.EMPTY_OBJECT)


_split_task = Decoder(_SplitTask).decode


class TaskContent(Struct, eq=False, gc=False):
    """The fragments of a task, and its events.

    Artifacts are lists of chunks, which are cheap to append to, and one text each after the end.
    Small chunks are joined meanwhile: joining 20,000 at the end would stop the event loop for 8 ms
    (measured).
    """

    ids: bytes  # as they follow the name of the first one in the task and in its events
    status: bytes
    metadata: bytes
    history: tuple[bytes, ...]
    artifacts: dict[str, list[ChunkRow]] | tuple[bytes, ...]
    size_bytes: int  # without the events
    events: list[LoggedEvent] | None = None
    log_bytes: int = 0  # of what is in the events too, about

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Split a task."""
        task = _split_task(text)
        ids = fragments.JOINED_IDS % (task.id, task.context_id)
        return cls(
            ids,
            bytes(task.status),
            bytes(task.metadata),
            tuple(map(bytes, task.history)),
            tuple(map(bytes, task.artifacts)),
            len(text),
        )

    def encode(
        self, history_length: int | None = None, *, include_artifacts: bool = True
    ) -> Callable[[], bytes]:
        """Return the function that joins the task as it is now."""
        history = self.history
        if history_length is not None:
            history = history[max(0, len(history) - history_length) :]
        artifacts = self.list_artifacts() if include_artifacts else ()
        return partial(
            fragments.encode_task, self.ids, self.status, artifacts, history, self.metadata
        )

    def pack(self) -> bytes | None:
        """Join a task that has ended; none if it is large, which would be held twice meanwhile, or
        has a log, which consists of its fragments.
        """
        artifacts = self.artifacts = self.list_artifacts()
        if self.events is not None or self.size_bytes > _MAX_PACKED_BYTES:
            return None
        return fragments.encode_task(self.ids, self.status, artifacts, self.history, self.metadata)

    def write_chunk(self, row: ChunkRow) -> None:
        """Append a chunk to its artifact, or replace the artifact, which keeps its place."""
        artifacts = self.artifacts
        if isinstance(artifacts, tuple):
            artifacts = self.artifacts = dict(map(_unpack_artifact, artifacts))
        size_bytes = len(row.artifact)
        self.log_bytes += size_bytes
        self.size_bytes += size_bytes
        if row.replaces:
            if row.artifact_id in artifacts:
                self.size_bytes -= sum([len(each.artifact) for each in artifacts[row.artifact_id]])
            artifacts[row.artifact_id] = [row]
        else:
            rows = artifacts.setdefault(row.artifact_id, [])
            rows.append(row)
            if (
                len(rows) >= _JOINED_CHUNKS
                and len(rows[-_JOINED_CHUNKS].artifact) < _SMALL_CHUNK_BYTES
            ):
                self.size_bytes += _join_newest(rows)

    def list_artifacts(self) -> tuple[bytes, ...]:
        """Encode each artifact."""
        artifacts = self.artifacts
        if isinstance(artifacts, tuple):
            return artifacts
        encoded: list[bytes] = []
        for rows in artifacts.values():
            row = rows[0] if len(rows) == 1 else join_rows(rows)
            encoded.append(row.artifact)
        return tuple(encoded)


def _join_newest(rows: list[ChunkRow]) -> int:
    """Join the newest chunks of an artifact into one, so that no read and no end has to join
    thousands; return by how many bytes it is larger.
    """
    newest = rows[-_JOINED_CHUNKS:]
    rows[-_JOINED_CHUNKS:] = [joined := join_rows(newest)]
    return len(joined.artifact) - sum([len(each.artifact) for each in newest])


def _unpack_artifact(body: bytes) -> tuple[str, list[ChunkRow]]:
    chunk = fragments.encode_chunk(Artifact.model_validate_json(body))
    return chunk.artifact_id, [ChunkRow(chunk, True, body)]  # noqa: FBT003 - a column
