"""What rows of the database mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import asyncpg

from a2a_contract.base import Encoded
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Task
from a2a_runtime.caller import Scope
from a2a_runtime.clock import moment
from a2a_runtime.stores import fragments
from a2a_runtime.stores.fragments import Chunk, Pieces
from a2a_runtime.stores.values import LoggedEvent, StoredTask


@dataclass(frozen=True, slots=True)
class Names:
    """What a task is called; it never changes."""

    scope: str
    wire_id: str
    context_id: str


@dataclass(frozen=True, slots=True)
class Head:
    """What the rules ask of a task, and when its status was set."""

    state: State
    version: int
    epoch: int
    process: str | None
    status_at: int


def head(row: asyncpg.Record) -> Head:
    """Read what the rules ask."""
    return Head(State(row["state"]), row["version"], row["epoch"], row["process"], row["status_at"])


def event(row: asyncpg.Record) -> LoggedEvent:
    """Read an event."""
    return LoggedEvent(row["seq"], row["body"], State(row["state"]))


def stored(row: asyncpg.Record) -> StoredTask:
    """Read a whole task."""
    pieces = Pieces(row["status"], tuple(_artifacts(row)), row["bodies"] or (), row["metadata"])
    return StoredTask(
        key=str(row["key"]),
        wire_id=row["wire_id"],
        context_id=row["context_id"],
        scope=Scope.from_text(row["scope"]),
        skill=row["skill"],
        dialect=row["dialect"],
        state=State(row["state"]),
        version=row["version"],
        last_seq=row["last_seq"],
        epoch=row["epoch"],
        process=row["process"],
        cancel_requested=row["cancel_requested"],
        updated_at=moment(row["status_at"]),
        task=Encoded.raw(Task, fragments.task(fragments.ids(row["wire_id"], row["context_id"]), pieces)),
    )


def _artifacts(row: asyncpg.Record) -> Iterator[bytes]:
    """Put the chunks together; those of one artifact stand together, in the order in which they came."""
    if not row["ids"]:
        return
    chunks: dict[str, list[Chunk]] = {}
    for artifact_id, facts, parts in zip(row["ids"], row["facts"], row["parts"], strict=True):
        chunks.setdefault(artifact_id, []).append(Chunk(facts, parts))
    for artifact_id, own in chunks.items():
        yield fragments.artifact(artifact_id, own)
