"""What a row of the table of tasks means; its columns have the same names in every database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Protocol, TypeAlias

from a2a_contract.base import Encoded
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Task
from a2a_runtime.caller import Scope
from a2a_runtime.clock import moment
from a2a_runtime.stores import fragments
from a2a_runtime.stores.fragments import Chunk, Pieces
from a2a_runtime.stores.values import StoredTask

StoredChunk: TypeAlias = tuple[str, bytes, bytes]
"""The id of an artifact, what is said about it, and some of its parts."""


class Row(Protocol):
    """A row as a driver gives it, which knows the types of its columns only when it runs."""

    def __getitem__(self, column: str, /) -> Any:  # noqa: ANN401 - so say the drivers
        """Read a column."""


def stored(row: Row, history: Sequence[bytes], chunks: Iterable[StoredChunk]) -> StoredTask:
    """Make a task of its row and what hangs on it; the chunks of one artifact stand together, in the order in which they came."""
    artifacts = [fragments.artifact(name, [Chunk(*chunk[1:]) for chunk in own]) for name, own in groupby(chunks, key=itemgetter(0))]
    pieces = Pieces(row["status"], artifacts, history, row["metadata"])
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
        cancel_requested=bool(row["cancel_requested"]),
        updated_at=moment(row["status_at"]),
        task=Encoded.raw(Task, fragments.task(fragments.ids(row["wire_id"], row["context_id"]), pieces)),
    )
