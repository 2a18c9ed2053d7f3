"""A task in memory.

While a task lives, its content is cheap to add to: lists of messages and chunks. When it ends, the content is packed: tuples, one chunk for each
artifact. So the many tasks that are over are a few byte strings each, with nothing for the garbage collector to walk through.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from a2a_contract.base import Encoded
from a2a_contract.lifecycle import INITIAL, State
from a2a_contract.v1_0 import Task
from a2a_runtime.caller import Scope
from a2a_runtime.clock import moment
from a2a_runtime.stores import fragments
from a2a_runtime.stores.fragments import NO_MEMBERS, Chunk, Pieces
from a2a_runtime.stores.plan import ChunkRow
from a2a_runtime.stores.values import LoggedEvent, NewTask, StoredTask


class Said(NamedTuple):
    """A message, and when it came."""

    at: int
    body: bytes


class Live:
    """The content of a task that grows."""

    __slots__ = ("artifacts", "history", "metadata", "status")

    def __init__(self, status: bytes, metadata: bytes, history: Iterable[Said], artifacts: Iterable[tuple[str, Chunk]] = ()) -> None:
        self.status = status
        self.metadata = metadata
        self.history = list(history)
        self.artifacts = {artifact_id: [chunk] for artifact_id, chunk in artifacts}

    def write(self, row: ChunkRow) -> None:
        """Put a chunk where it belongs; an artifact that is replaced keeps its place."""
        if row.replaces:
            self.artifacts[row.artifact_id] = [row.chunk]
        else:
            self.artifacts.setdefault(row.artifact_id, []).append(row.chunk)

    def packed(self) -> Packed:
        """Make it small."""
        artifacts = tuple((artifact_id, fragments.join_chunks(chunks)) for artifact_id, chunks in self.artifacts.items())
        return Packed(self.status, self.metadata, tuple(self.history), artifacts)


class Packed(NamedTuple):
    """The content of a task that has ended."""

    status: bytes
    metadata: bytes
    history: Sequence[Said]
    artifacts: Sequence[tuple[str, Chunk]]

    def unpacked(self) -> Live:
        """Make it ready for more."""
        return Live(*self)


GONE = Packed(b"", NO_MEMBERS, (), ())


class Row:
    """One task.

    ``moved`` is the number of its last change of state among those of all tasks: negative when a newer task has its wire id, 0 when the task is gone.
    """

    __slots__ = (
        "cancel_requested",
        "content",
        "context_id",
        "dialect",
        "epoch",
        "events",
        "key",
        "last_seq",
        "moved",
        "process",
        "scope",
        "skill",
        "state",
        "status_at",
        "version",
        "wire_id",
    )

    def __init__(self, scope: Scope, key: str, wire_id: str, new: NewTask) -> None:
        self.scope, self.key, self.wire_id = scope, key, wire_id
        self.context_id, self.skill, self.dialect = new.context_id, new.skill, new.dialect
        self.state: State = INITIAL
        self.status_at = self.moved = 0
        self.version = self.last_seq = 1
        self.process = new.process
        self.epoch = 0 if new.process is None else 1
        self.cancel_requested = False
        self.content: Live | Packed = GONE
        self.events: list[LoggedEvent] | None = []  # None: no longer kept

    def live(self) -> Live:
        """Get the content as something that can grow."""
        content = self.content
        if isinstance(content, Packed):
            content = self.content = content.unpacked()
        return content

    def view(self, history_length: int | None = None, *, include_artifacts: bool = True) -> StoredTask:
        """Show the task as it is now."""
        return StoredTask(
            key=self.key,
            wire_id=self.wire_id,
            context_id=self.context_id,
            scope=self.scope,
            skill=self.skill,
            dialect=self.dialect,
            state=self.state,
            version=self.version,
            last_seq=self.last_seq,
            epoch=self.epoch,
            process=self.process,
            cancel_requested=self.cancel_requested,
            updated_at=moment(self.status_at),
            task=Encoded.raw(Task, self._body(history_length, include_artifacts=include_artifacts)),
        )

    def _body(self, history_length: int | None, *, include_artifacts: bool) -> bytes:
        content = self.content
        history = fragments.newest([said.body for said in content.history], history_length)
        artifacts: list[bytes] = []
        if include_artifacts and isinstance(content, Packed):
            artifacts = [fragments.artifact(artifact_id, (chunk,)) for artifact_id, chunk in content.artifacts]
        elif include_artifacts and isinstance(content, Live):
            artifacts = [fragments.artifact(artifact_id, chunks) for artifact_id, chunks in content.artifacts.items()]
        return fragments.task(fragments.ids(self.wire_id, self.context_id), Pieces(content.status, artifacts, history, content.metadata))
