"""The store in memory, for development, tests and agents whose tasks need not outlive the process."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from a2a_contract.dialects import CANONICAL
from a2a_contract.errors import TaskNotCancelableError
from a2a_contract.v1_0 import Message, TaskPushNotificationConfig
from a2a_runtime import lifecycle
from a2a_runtime.caller import Scope
from a2a_runtime.clock import moment
from a2a_runtime.counters import Count
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.memory.index import Row
from a2a_runtime.stores.memory.state import Conversation, Mailbox, MemoryBase, when
from a2a_runtime.stores.memory.tasks import MemoryTasks
from a2a_runtime.stores.models import Delivery, PushFailure, Run, StoredTask

# Who runs what, in memory. There is only one process, but the rules are those of stores that many share.


class MemoryRuns(MemoryBase):
    """Leases of processes, claims of tasks, cancellation."""

    async def register(self, process: str) -> None:
        """Begin the lease of a process."""
        self._processes[process] = self._options.clock.millis() + round(self._options.lease * 1000)

    async def beat(self, process: str) -> Sequence[str]:
        """Renew the lease; the keys of those of its tasks that somebody wants canceled."""
        await self.register(process)
        return [key for key, row in self._cancels.items() if row.process == process]

    async def unregister(self, process: str) -> None:
        """End the lease."""
        self._processes.pop(process, None)

    async def claim(self, key: str, process: str) -> Run | None:
        """Begin a run of a task."""
        row = self._shelf.active.get(key)
        if row is None or self._is_run(row):
            return None
        row.process = process
        row.epoch += 1
        return Run(row.view(), tuple(self._records.get(key, {}).values()))

    async def orphans(self, limit: int = 64, surfaces: Collection[str] | None = None) -> Sequence[str]:
        """Find active tasks that no live process runs."""
        left = (key for key, row in self._shelf.active.items() if not self._is_run(row) and (surfaces is None or row.scope.surface in surfaces))
        return sorted(left)[:limit]

    async def request_cancel(self, scope: Scope, wire_id: str) -> StoredTask:
        """Ask for the end of a task."""
        row = self._need(scope, wire_id)
        if not lifecycle.is_cancelable(row.state):
            raise TaskNotCancelableError(details={"task_id": wire_id})
        row.cancel_requested = True
        self._cancels[row.key] = row
        return row.view()

    def _is_run(self, row: Row) -> bool:
        return row.process is not None and self._processes.get(row.process, 0) > self._options.clock.millis()


# Conversations in memory.


class MemoryContexts(MemoryBase):
    """What belongs to a conversation as a whole."""

    async def load_context(self, scope: Scope, context_id: str) -> Mapping[str, object] | None:
        """Read what a handler has stored with a conversation."""
        conversation = self._conversations.get((scope, context_id))
        if conversation is None or conversation.data is None or self._is_over(conversation, scope, context_id):
            return None
        return fragments.members_of(conversation.data)

    async def update_context(self, scope: Scope, context_id: str, data: Mapping[str, object]) -> None:
        """Store something with a conversation."""
        text = fragments.object_bytes(data)
        conversation = self._touched(scope, context_id)
        conversation.data, conversation.updated_at = text, self._shelf.now()

    async def delete_context(self, scope: Scope, context_id: str) -> int:
        """Delete a conversation with all its tasks."""
        rows = list(self._shelf.in_context(scope, context_id))
        for row in rows:
            self._drop(row)
        self._conversations.pop((scope, context_id), None)
        return len(rows)

    async def conversation(self, scope: Scope, context_id: str, limit: int = 100) -> Sequence[Message]:
        """Read the newest messages of a conversation."""
        recent = self._options.expired(self._options.conversation)
        before = self._conversations.get((scope, context_id))
        said = [] if before is None else list(before.turns)
        for row in self._shelf.in_context(scope, context_id):
            said += row.history
        newest = sorted(((at, body) for at, body in said if at > recent), key=when)
        return [Message.model_validate_json(body) for _, body in newest[max(0, len(newest) - limit) :]]

    async def scopes(self) -> Sequence[Scope]:
        """Say whose tasks and conversations there are."""
        return sorted({*self._shelf.rooms, *(scope for scope, _ in self._conversations)}, key=Scope.to_text)

    async def delete_scope(self, scope: Scope) -> int:
        """Delete all tasks and conversations of a caller."""
        room = self._shelf.rooms.get(scope)
        contexts = {context_id for owner, context_id in self._conversations if owner == scope}
        return sum([await self.delete_context(scope, context_id) for context_id in contexts.union(room.by_context if room else ())])

    async def sweep(self, limit: int = 500) -> int:
        """Delete what has expired, but no task with deliveries left."""
        ended_by = self._options.expired(self._options.retention)
        swept = 0
        while swept < limit and (row := self._shelf.take_ended(ended_by, self._is_delivered)) is not None:
            self._outlive(row)
            swept += 1
        for (scope, context_id), conversation in list(self._conversations.items()):
            recent = self._options.expired(self._options.conversation)
            conversation.turns = [(at, body) for at, body in conversation.turns if at > recent]
            if self._is_over(conversation, scope, context_id):
                conversation.data = None
            if not conversation.turns and conversation.data is None:
                del self._conversations[scope, context_id]
        self._counts.sweep()
        now = self._options.clock.millis()
        self._processes = {process: until for process, until in self._processes.items() if until > now}
        return swept

    def _is_over(self, conversation: Conversation, scope: Scope, context_id: str) -> bool:
        """Tell whether nobody needs the data of a conversation any more: it is old, and there are no tasks."""
        return conversation.updated_at <= self._options.expired(self._options.conversation) and not self._shelf.in_context(scope, context_id)


# Push configurations and what is due for them, in memory.


class MemoryPushes(MemoryBase):
    """Keeps the configurations of a task, and hands out what is due."""

    async def put_push_config(
        self, scope: Scope, wire_id: str, config: TaskPushNotificationConfig, dialect: str = CANONICAL.name, *, most: int | None = None
    ) -> TaskPushNotificationConfig:
        """Add a configuration, or change the one of that id."""
        row = self._need(scope, wire_id)
        changes.check_room(len(self._mailboxes.get(row.key, {}).keys() - {config.id}), most)
        return self._subscribe(row, config, dialect)

    async def get_push_config(self, scope: Scope, wire_id: str, config_id: str) -> TaskPushNotificationConfig | None:
        """Read one configuration."""
        mailbox = self._of(scope, wire_id).get(config_id)
        return None if mailbox is None else mailbox.config

    async def list_push_configs(
        self, scope: Scope, wire_id: str, page_size: int = 100, page_token: str = ""
    ) -> tuple[Sequence[TaskPushNotificationConfig], str]:
        """Read a page of configurations, by their ids."""
        after = pagination.config_place(page_size, page_token, wire_id)
        mailboxes = self._of(scope, wire_id)
        ids = sorted(config_id for config_id in mailboxes if config_id > after)
        page = ids[:page_size]
        return [mailboxes[config_id].config for config_id in page], pagination.token((page[-1],), wire_id) if len(ids) > len(page) else ""

    async def delete_push_config(self, scope: Scope, wire_id: str, config_id: str) -> bool:
        """Delete a configuration and what is still due for it."""
        row = self._need(scope, wire_id)
        self._waiting.pop((row.key, config_id), None)
        return self._of(scope, wire_id).pop(config_id, None) is not None

    async def push_failures(self, scope: Scope, wire_id: str) -> Mapping[str, PushFailure]:
        """Say which configurations have failed."""
        return {config_id: mailbox.failure for config_id, mailbox in self._of(scope, wire_id).items() if mailbox.failure is not None}

    def _of(self, scope: Scope, wire_id: str) -> dict[str, Mailbox]:
        return self._mailboxes.get(self._need(scope, wire_id).key, {})

    async def due(self, lease_seconds: float, limit: int = 32, surfaces: Collection[str] | None = None) -> Sequence[Delivery]:
        """Take deliveries that are due."""
        now = self._options.clock.millis()
        ours = (mailbox for mailbox in self._waiting.values() if surfaces is None or mailbox.row.scope.surface in surfaces)
        ready = [mailbox for mailbox in ours if mailbox.next_at <= now]
        taken: list[Delivery] = []
        for mailbox in sorted(ready, key=lambda each: (each.next_at, each.waiting[0][0]))[:limit]:
            mailbox.attempts += 1
            mailbox.next_at = now + round(lease_seconds * 1000)
            number, event = mailbox.waiting[0]
            taken.append(Delivery(number, mailbox.attempts, mailbox.config, mailbox.dialect, event, mailbox.row.view()))
        return taken

    async def settle(self, delivery: Delivery) -> bool:
        """Be done with a delivery."""
        mailbox = self._taken(delivery)
        if mailbox is None:
            return False
        mailbox.waiting.popleft()
        mailbox.attempts = mailbox.next_at = 0
        if not mailbox.waiting:
            del self._waiting[delivery.stored.key, delivery.config.id or ""]
        return True

    async def retry(self, delivery: Delivery, after_seconds: float) -> bool:
        """Put a delivery off."""
        mailbox = self._taken(delivery)
        if mailbox is not None:
            mailbox.next_at = self._options.clock.millis() + round(after_seconds * 1000)
        return mailbox is not None

    async def give_up(self, delivery: Delivery, reason: str) -> bool:
        """Mark the configuration as failed."""
        mailbox = self._taken(delivery)
        if mailbox is None:
            return False
        mailbox.failure = PushFailure(moment(self._options.clock.millis()), reason)
        mailbox.waiting.clear()
        mailbox.attempts = mailbox.next_at = 0
        del self._waiting[delivery.stored.key, delivery.config.id or ""]
        return True

    def _taken(self, delivery: Delivery) -> Mailbox | None:
        mailbox = self._waiting.get((delivery.stored.key, delivery.config.id or ""))
        if mailbox is None or (mailbox.waiting[0][0], mailbox.attempts) != (delivery.id, delivery.attempts):
            return None
        return mailbox


class MemoryStore(MemoryTasks, MemoryContexts, MemoryRuns, MemoryPushes):
    """Keeps everything in this process, up to a number of tasks; full, it forgets the finished one that ended longest ago."""

    durable = False

    def doorbell(self) -> None:
        """Ring nobody: there is no other process."""

    async def count(self, key: str, seconds: float) -> Count:
        """Count one more under a key."""
        return self._counts.add(key, seconds)

    async def open(self) -> None:
        """Need no preparation."""

    async def close(self) -> None:
        """Need no farewell; what is in memory stays readable until the store itself goes."""
