"""Messages that arrive while a handler works on its task.

The history of the task is their queue: it is durable, and every process appends to it. A run reads
from its first message on, so that a handler which runs again from the top gets the same messages in
the same order; a cursor would lose those of the run that died.

    process of the request    append to the history ─ commit ─► wake the run, or notify the others
    process of the run        read what is new; without news look again after a second,
                              because a notification may be lost
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.v1_0 import Message
from a2a_runtime.engine.handlers.questions import is_question
from a2a_runtime.stores.base import TaskStore
from a2a_runtime.stores.models import StoredTask

_POLL_SECONDS = 1.0


class Inbox:
    """Messages of one run that its handler has not taken yet."""

    def __init__(self, store: TaskStore, stored: StoredTask) -> None:
        self._store = store
        self._stored = stored
        self._unread: deque[Message] = deque()
        self._read_count = 0
        self._version: int | None = None
        self._news = asyncio.Event()

    def wake(self) -> None:
        """Look into the store: a message may have arrived."""
        self._news.set()

    async def take(self) -> Message:
        """Wait for the next message and take it. Cancelling this call loses no message."""
        while not self._unread:
            self._news.clear()
            await self._read()
            if not self._unread:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_SECONDS):
                        await self._news.wait()
        return self._unread.popleft()

    async def _read(self) -> None:
        """Read the history, if the task has changed."""
        version = await self._store.get_version(self._stored.scope, self._stored.wire_id)
        if version is not None and version == self._version:
            return
        stored = await self._store.load_task(
            self._stored.scope, self._stored.wire_id, include_artifacts=False
        )
        if stored is None or stored.key != self._stored.key:
            raise TaskNotFoundError(details={"task_id": self._stored.wire_id})
        found = [*find_incoming(stored.task.model.history or ())]
        self._unread.extend(found[self._read_count :])
        self._read_count = len(found)
        self._version = stored.version


def find_incoming(history: Sequence[Message]) -> Iterator[Message]:
    """Find the messages of a history that were sent to the running task: all but the first one, the
    questions and their answers.
    """
    # The first message is the request, which the handler has as ``ctx.message``.
    is_answer = True
    for message in history:
        if is_answer:
            is_answer = False
        elif is_question(message):
            is_answer = True
        else:
            yield message
