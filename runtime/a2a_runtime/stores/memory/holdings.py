"""Tasks and conversations of each caller in a memory store, so that no caller takes the room of the
others.

    open     tasks that cannot be deleted: unfinished, or with pending deliveries;
             one caller may have a share of the store
    ended    tasks that can be deleted;
             with conversations, the caller who holds most loses them first

Callers are sorted by the power of two of what they hold (their level). So a change of a task costs
an addition, and the caller who holds most, or half as much, is found without a look at every
caller.
"""

from __future__ import annotations

import logging
from collections import deque
from math import inf
from typing import TYPE_CHECKING, Final

from a2a_contract.errors import RateLimitedError
from a2a_runtime.base.caller import TaskScope

if TYPE_CHECKING:  # the index of tasks has holdings
    from a2a_runtime.stores.memory.index import MemoryTask

ConversationKey = tuple[TaskScope, str]

_LEVELS: Final = 64
_SLACK_FOR_MESSAGES: Final = 1.5
"""How far messages for unfinished tasks may exceed the share: without an answer, a task that waits
for one could only be canceled.
"""

log = logging.getLogger(__name__)


class Holding:
    """Tasks and conversations of one caller."""

    __slots__ = (
        "bucket",
        "conversations",
        "ended",
        "has_warned",
        "lower",
        "name",
        "open_bytes",
        "open_count",
        "task_count",
        "upper",
        "weight",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        # Bytes of tasks and conversations, and for each of them as many as a task has on average in
        # a full store.
        self.weight = 0
        self.task_count = 0
        self.open_bytes = self.open_count = 0
        # In the order in which they ended, some deleted since then.
        self.ended: deque[MemoryTask] = deque()
        self.conversations: dict[ConversationKey, None] = {}  # the least recently used one first
        # Of the level: the next weights that are not in it are below the one, and the other itself.
        self.lower = self.upper = 0
        self.bucket: dict[str, Holding] | None = None
        self.has_warned = False

    def pop_ended(self) -> MemoryTask | None:
        """Return the task that ended first, once; none if there is none."""
        while self.ended:
            task = self.ended.popleft()
            if task.position:
                return task
        return None


class Holdings:
    """Holdings of all callers."""

    def __init__(self, max_tasks: int, max_bytes: int, caller_share: float) -> None:
        self.size_bytes = 0
        """Bytes of all tasks."""
        self._by_name: dict[str, Holding] = {}
        self._with_ended: list[dict[str, Holding]] = [{} for _ in range(_LEVELS)]
        self._with_conversations: list[dict[str, Holding]] = [{} for _ in range(_LEVELS)]
        """By level: callers with tasks that have ended; the others that have conversations."""
        self._task_weight = max_bytes // max_tasks
        is_limited = caller_share < 1
        self._max_open_bytes = max_bytes * caller_share if is_limited else inf
        self._max_open_tasks = max_tasks * caller_share if is_limited else inf

    def check_task(self, name: str) -> None:
        """Raise ``RateLimitedError`` if the unfinished tasks of a caller leave no room for another
        one.
        """
        holding = self._by_name.get(name)
        if holding is None:
            return
        if holding.open_bytes >= self._max_open_bytes or holding.open_count >= self._max_open_tasks:
            _refuse(holding)

    def check_message(self, name: str) -> None:
        """Raise ``RateLimitedError`` if the unfinished tasks of a caller leave no room for a
        message to one of them.
        """
        holding = self._by_name[name]
        if holding.open_bytes >= self._max_open_bytes * _SLACK_FOR_MESSAGES:
            _refuse(holding)

    def add_task(self, task: MemoryTask, size_bytes: int) -> None:
        """Count an unfinished task."""
        holding = self._by_name.get(task.limit_key) or self._begin(task.limit_key)
        holding.task_count += 1
        holding.open_count += 1
        holding.open_bytes += size_bytes
        holding.weight += self._task_weight + size_bytes
        self.size_bytes += size_bytes
        if not holding.lower <= holding.weight < holding.upper:
            self._place(holding)

    def resize(self, task: MemoryTask, change: int) -> None:
        """Count by how many bytes a task has grown or shrunk."""
        self.size_bytes += change
        holding = self._by_name[task.limit_key]
        holding.weight += change
        if task.is_open:
            holding.open_bytes += change
        if not holding.lower <= holding.weight < holding.upper:
            self._place(holding)

    def release(self, task: MemoryTask, change: int = 0) -> None:
        """Count a task that can be deleted from now on, and by how many bytes it has grown or
        shrunk with its end.
        """
        holding = self._by_name[task.limit_key]
        task.is_open = False
        holding.open_count -= 1
        holding.open_bytes -= task.size_bytes - change
        holding.weight += change
        self.size_bytes += change
        is_first = not holding.ended
        holding.ended.append(task)
        if is_first or not holding.lower <= holding.weight < holding.upper:
            self._place(holding)

    def remove_task(self, task: MemoryTask) -> None:
        """Forget a task that was deleted, and whose bytes were given back by ``resize``."""
        holding = self._by_name[task.limit_key]
        holding.task_count -= 1
        holding.weight -= self._task_weight
        if task.is_open:
            holding.open_count -= 1
        ended = holding.ended
        while ended and not ended[0].position:
            ended.popleft()
        self._place(holding)

    def touch_conversation(self, name: str, key: ConversationKey) -> None:
        """Count a conversation, as the most recently used one."""
        holding = self._by_name.get(name) or self._begin(name)
        if key in holding.conversations:
            del holding.conversations[key]
        else:
            holding.weight += self._task_weight
        holding.conversations[key] = None
        self._place(holding)

    def resize_conversation(self, name: str, change: int) -> None:
        """Count by how many bytes a conversation has grown or shrunk."""
        holding = self._by_name[name]
        holding.weight += change
        self._place(holding)

    def remove_conversation(self, name: str, key: ConversationKey) -> None:
        """Forget a conversation, whose bytes were given back by ``resize_conversation``."""
        holding = self._by_name[name]
        del holding.conversations[key]
        holding.weight -= self._task_weight
        self._place(holding)

    def find_largest(self, *, needs_task: bool = False) -> Holding | None:
        """Find the caller who holds most, at least half as much as any other, of those with
        something to delete, or with tasks to delete.
        """
        for with_ended, with_conversations in zip(
            reversed(self._with_ended), reversed(self._with_conversations), strict=True
        ):
            if with_ended:
                return next(iter(with_ended.values()))
            if with_conversations and not needs_task:
                return next(iter(with_conversations.values()))
        return None

    def pop_ended(self, holding: Holding) -> MemoryTask | None:
        """Return the task of a caller that ended first, once; none if they have none."""
        task = holding.pop_ended()
        if not holding.ended:
            self._place(holding)
        return task

    def _begin(self, name: str) -> Holding:
        holding = self._by_name[name] = Holding(name)
        return holding

    def _place(self, holding: Holding) -> None:
        """Sort a caller by what they hold now; forget one who holds nothing."""
        if holding.bucket is not None:
            del holding.bucket[holding.name]
            holding.bucket = None
        level = holding.weight.bit_length()
        holding.lower = 1 << level >> 1
        holding.upper = 1 << level
        if holding.ended:
            holding.bucket = self._with_ended[level]
        elif holding.conversations:
            holding.bucket = self._with_conversations[level]
        elif not holding.task_count:
            del self._by_name[holding.name]
        if holding.bucket is not None:
            holding.bucket[holding.name] = holding


def _refuse(holding: Holding) -> None:
    if not holding.has_warned:
        holding.has_warned = True
        log.warning(
            "store: memory: unfinished tasks of one caller take their share of it, and "
            "further messages are refused; "
            "raise A2A_MEMORY_CALLER_SHARE if the agent has few callers"
        )
    raise RateLimitedError(
        "The unfinished tasks of this caller take all their room; wait until one ends, or "
        "cancel one"
    )
