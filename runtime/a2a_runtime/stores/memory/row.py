"""A task in memory.

While a task lives, its artifacts are cheap to add to: lists of chunks. When it ends, they are packed: one byte string for each. What is left of the
many tasks that are over are tuples of plain values, at which the garbage collector soon stops to look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from a2a_contract.base import Encoded
from a2a_contract.lifecycle import INITIAL, State
from a2a_contract.v1_0 import Artifact, Task
from a2a_runtime.caller import Scope
from a2a_runtime.clock import moment
from a2a_runtime.stores import fragments
from a2a_runtime.stores.fragments import NO_MEMBERS, Chunk, Pieces
from a2a_runtime.stores.plan import ChunkRow
from a2a_runtime.stores.values import LoggedEvent, NewTask, StoredTask

Said: TypeAlias = tuple[int, bytes]
"""A message, and before it when it came."""


class Row:
    """One task. ``older`` and ``newer`` are its neighbours in its conversation.

    ``moved`` is the number of its last change of state among those of all tasks: negative when a newer task has its wire id, 0 when the task is gone.
    """

    __slots__ = (
        "artifacts",
        "cancel_requested",
        "context_id",
        "dialect",
        "epoch",
        "events",
        "history",
        "key",
        "last_seq",
        "metadata",
        "moved",
        "newer",
        "older",
        "process",
        "scope",
        "skill",
        "state",
        "status",
        "status_at",
        "version",
        "wire_id",
    )

    def __init__(self, scope: Scope, key: str, wire_id: str, new: NewTask) -> None:
        self.scope, self.key, self.wire_id = scope, key, wire_id
        self.context_id, self.skill, self.dialect = new.context_id, new.skill, new.dialect
        self.state: State = INITIAL
        self.status_at = self.moved = 0
        self.older: Row | None = None
        self.newer: Row | None = None
        self.version = self.last_seq = 1
        self.process = new.process
        self.epoch = 0 if new.process is None else 1
        self.cancel_requested = False
        self.events: list[LoggedEvent] | None = []  # None: no longer kept
        self.status, self.metadata = b"", NO_MEMBERS
        self.history: tuple[Said, ...] = ()
        self.artifacts: dict[str, list[Chunk]] | tuple[bytes, ...] = {}  # packed: each of them whole

    def write(self, chunk: ChunkRow) -> None:
        """Put a chunk where it belongs; an artifact that is replaced keeps its place."""
        artifacts = self.artifacts
        if isinstance(artifacts, tuple):
            artifacts = self.artifacts = dict(map(_unpacked, artifacts))
        if chunk.replaces:
            artifacts[chunk.artifact_id] = [chunk.chunk]
        else:
            artifacts.setdefault(chunk.artifact_id, []).append(chunk.chunk)

    def pack(self) -> None:
        """Make the content small: it will hardly change any more."""
        self.artifacts = tuple(self._whole_artifacts())

    def forget(self) -> None:
        """Let go of the content."""
        self.history, self.artifacts, self.events = (), (), None

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
        history = fragments.newest([body for _, body in self.history], history_length)
        artifacts = self._whole_artifacts() if include_artifacts else ()
        return fragments.task(fragments.ids(self.wire_id, self.context_id), Pieces(self.status, artifacts, history, self.metadata))

    def _whole_artifacts(self) -> Sequence[bytes]:
        artifacts = self.artifacts
        return artifacts if isinstance(artifacts, tuple) else [fragments.artifact(name, chunks) for name, chunks in artifacts.items()]


def _unpacked(whole: bytes) -> tuple[str, list[Chunk]]:
    artifact = Artifact.model_validate_json(whole)
    return artifact.artifact_id, [fragments.chunk(artifact)]
