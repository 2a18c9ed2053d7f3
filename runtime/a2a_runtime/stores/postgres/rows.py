"""What rows of the database mean."""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg

from a2a_contract.lifecycle import State
from a2a_runtime.stores import row as task_row
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
    chunks = zip(row["ids"], row["facts"], row["parts"], strict=True) if row["ids"] else ()
    return task_row.stored(row, row["bodies"] or (), chunks)
