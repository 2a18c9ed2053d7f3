"""Tasks that this process has created and nobody has changed since: what their first change makes of them need not be read.

That is all there is to a task whose handler is done at once, and whoever waits for it gets it with the event that ends it. Of a task that has changed
more than once, only the database knows what others have added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from a2a_contract.base import Encoded
from a2a_contract.v1_0 import Task
from a2a_runtime import lifecycle
from a2a_runtime.clock import moment
from a2a_runtime.stores import fragments
from a2a_runtime.stores.fragments import Pieces
from a2a_runtime.stores.plan import ChangeRows, NewRows
from a2a_runtime.stores.values import Change, LoggedEvent, StoredTask, Written

_MOST = 1_000
_CHANGED_ONCE = 2  # the version of such a task


class Newborns:
    """What the newest tasks of this process were created with, up to a number of them, each until its first change."""

    def __init__(self) -> None:
        self._born: dict[str, tuple[StoredTask, NewRows]] = {}

    def add(self, stored: StoredTask, rows: NewRows) -> None:
        """Take note of a task."""
        if len(self._born) >= _MOST:
            del self._born[next(iter(self._born))]
        self._born[stored.key] = stored, rows

    def told(self, key: str, written: Written, change: Change, rows: ChangeRows, at: int) -> Written:
        """Let the last event of a first change bring the task with it, if the run is over with it."""
        born = self._born.pop(key, None)
        if born is None or written.version != _CHANGED_ONCE or not written.events or lifecycle.is_active(written.state) or change.metadata:
            return written
        return replace(written, events=_with_task(written.events, *born, change, rows, at))


def _with_task(events: Sequence[LoggedEvent], stored: StoredTask, born: NewRows, change: Change, rows: ChangeRows, at: int) -> Sequence[LoggedEvent]:
    last = events[-1]
    artifacts = [fragments.artifact(row.artifact_id, (row.chunk,)) for row in rows.chunks]
    pieces = Pieces(rows.status or born.status, artifacts, (born.message, *rows.messages), born.metadata)
    changed = replace(
        stored,
        state=last.state,
        version=_CHANGED_ONCE,
        last_seq=last.seq,
        process=None if change.release or lifecycle.is_terminal(last.state) else stored.process,
        updated_at=moment(at),
        task=Encoded.raw(Task, fragments.task(fragments.ids(stored.wire_id, stored.context_id), pieces)),
    )
    return (*events[:-1], replace(last, stored=changed))
