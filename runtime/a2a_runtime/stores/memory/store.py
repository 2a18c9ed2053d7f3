"""The store in memory, for development, tests and agents whose tasks need not outlive the process."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from a2a_contract.dialects import CANONICAL
from a2a_contract.errors import TaskNotCancelableError
from a2a_contract.v1_0 import Message, TaskPushNotificationConfig
from a2a_runtime import lifecycle
from a2a_runtime.caller import TaskScope
from a2a_runtime.clock import to_datetime
from a2a_runtime.counters import WindowCount
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.memory.index import MemoryTask
from a2a_runtime.stores.memory.state import Conversation, MemoryBase, PushQueue, message_time
from a2a_runtime.stores.memory.tasks import MemoryTasks
from a2a_runtime.stores.models import ClaimedRun, Delivery, PushFailure, StoredTask

# Who runs what, in memory. There is only one process, but the rules are those of stores that many share.


class MemoryRuns(MemoryBase):
    """Leases of processes, claims of tasks, cancellation."""

    async def register(self, process: str) -> None:
        """Begin the lease of a process."""
        self._processes[process] = self._options.clock.millis() + round(self._options.lease_seconds * 1000)

    async def renew_lease(self, process: str) -> Sequence[str]:
        """Renew the lease; the keys of those of its tasks that somebody wants canceled."""
        await self.register(process)
        return [key for key, row in self._cancels.items() if row.process == process]

    async def unregister(self, process: str) -> None:
        """End the lease."""
        self._processes.pop(process, None)

    async def claim(self, key: str, process: str) -> ClaimedRun | None:
        """Begin a run of a task."""
        row = self._index.active.get(key)
        if row is None or self._is_claimed(row):
            return None
        row.process = process
        row.epoch += 1
        return ClaimedRun(row.to_stored_task(), tuple(self._records.get(key, {}).values()))

    async def find_orphans(self, limit: int = 64, surfaces: Collection[str] | None = None) -> Sequence[str]:
        """Find active tasks that no live process runs."""
        left = (key for key, row in self._index.active.items() if not self._is_claimed(row) and (surfaces is None or row.scope.surface in surfaces))
        return sorted(left)[:limit]

    async def request_cancel(self, scope: TaskScope, wire_id: str) -> StoredTask:
        """Ask for the end of a task."""
        row = self._require_task(scope, wire_id)
        if not lifecycle.is_cancelable(row.state):
            raise TaskNotCancelableError(details={"task_id": wire_id})
        row.cancel_requested = True
        self._cancels[row.key] = row
        return row.to_stored_task()

    def _is_claimed(self, row: MemoryTask) -> bool:
        return row.process is not None and self._processes.get(row.process, 0) > self._options.clock.millis()


# Conversations in memory.


class MemoryContexts(MemoryBase):
    """What belongs to a conversation as a whole."""

    async def load_context(self, scope: TaskScope, context_id: str) -> Mapping[str, object] | None:
        """Read what a handler has stored with a conversation."""
        conversation = self._conversations.get((scope, context_id))
        if conversation is None or conversation.data is None or self._is_expired(conversation, scope, context_id):
            return None
        return fragments.decode_object(conversation.data)

    async def update_context(self, scope: TaskScope, context_id: str, data: Mapping[str, object]) -> None:
        """Store something with a conversation."""
        text = fragments.encode_object(data)
        conversation = self._touch_conversation(scope, context_id)
        conversation.data, conversation.updated_at_millis = text, self._index.now_millis()

    async def delete_context(self, scope: TaskScope, context_id: str) -> int:
        """Delete a conversation with all its tasks."""
        rows = list(self._index.find_in_context(scope, context_id))
        for row in rows:
            self._delete(row)
        self._conversations.pop((scope, context_id), None)
        return len(rows)

    async def load_conversation(self, scope: TaskScope, context_id: str, limit: int = 100) -> Sequence[Message]:
        """Read the newest messages of a conversation."""
        recent = self._options.cutoff_millis(self._options.conversation_retention_seconds)
        before = self._conversations.get((scope, context_id))
        said = [] if before is None else list(before.messages)
        for row in self._index.find_in_context(scope, context_id):
            said += row.history
        newest = sorted(((at, body) for at, body in said if at > recent), key=message_time)
        return [Message.model_validate_json(body) for _, body in newest[max(0, len(newest) - limit) :]]

    async def list_scopes(self) -> Sequence[TaskScope]:
        """Say whose tasks and conversations there are."""
        return sorted({*self._index.scopes, *(scope for scope, _ in self._conversations)}, key=TaskScope.to_text)

    async def delete_scope(self, scope: TaskScope) -> int:
        """Delete all tasks and conversations of a caller."""
        room = self._index.scopes.get(scope)
        contexts = {context_id for owner, context_id in self._conversations if owner == scope}
        return sum([await self.delete_context(scope, context_id) for context_id in contexts.union(room.by_context if room else ())])

    async def delete_expired(self, limit: int = 500) -> int:
        """Delete what has expired, but no task with deliveries left."""
        ended_by = self._options.cutoff_millis(self._options.retention_seconds)
        swept = 0
        while swept < limit and (row := self._index.pop_ended(ended_by, self._is_delivered)) is not None:
            self._expire(row)
            swept += 1
        for (scope, context_id), conversation in list(self._conversations.items()):
            recent = self._options.cutoff_millis(self._options.conversation_retention_seconds)
            conversation.messages = [(at, body) for at, body in conversation.messages if at > recent]
            if self._is_expired(conversation, scope, context_id):
                conversation.data = None
            if not conversation.messages and conversation.data is None:
                del self._conversations[scope, context_id]
        self._counts.remove_expired()
        now = self._options.clock.millis()
        self._processes = {process: until for process, until in self._processes.items() if until > now}
        return swept

    def _is_expired(self, conversation: Conversation, scope: TaskScope, context_id: str) -> bool:
        """Tell whether nobody needs the data of a conversation any more: it is old, and there are no tasks."""
        return conversation.updated_at_millis <= self._options.cutoff_millis(
            self._options.conversation_retention_seconds
        ) and not self._index.find_in_context(scope, context_id)


# Push configurations and what is due for them, in memory.


class MemoryPushes(MemoryBase):
    """Keeps the configurations of a task, and hands out what is due."""

    async def put_push_config(
        self, scope: TaskScope, wire_id: str, config: TaskPushNotificationConfig, dialect: str = CANONICAL.name, *, max_configs: int | None = None
    ) -> TaskPushNotificationConfig:
        """Add a configuration, or change the one of that id."""
        row = self._require_task(scope, wire_id)
        changes.check_webhook_limit(len(self._push_queues.get(row.key, {}).keys() - {config.id}), max_configs)
        return self._put_config(row, config, dialect)

    async def get_push_config(self, scope: TaskScope, wire_id: str, config_id: str) -> TaskPushNotificationConfig | None:
        """Read one configuration."""
        mailbox = self._get_queues(scope, wire_id).get(config_id)
        return None if mailbox is None else mailbox.config

    async def list_push_configs(
        self, scope: TaskScope, wire_id: str, page_size: int = 100, page_token: str = ""
    ) -> tuple[Sequence[TaskPushNotificationConfig], str]:
        """Read a page of configurations, by their ids."""
        after = pagination.parse_config_token(page_size, page_token, wire_id)
        mailboxes = self._get_queues(scope, wire_id)
        ids = sorted(config_id for config_id in mailboxes if config_id > after)
        page = ids[:page_size]
        return [mailboxes[config_id].config for config_id in page], pagination.encode_page_token((page[-1],), wire_id) if len(ids) > len(page) else ""

    async def delete_push_config(self, scope: TaskScope, wire_id: str, config_id: str) -> bool:
        """Delete a configuration and what is still due for it."""
        row = self._require_task(scope, wire_id)
        self._pending_queues.pop((row.key, config_id), None)
        return self._get_queues(scope, wire_id).pop(config_id, None) is not None

    async def list_push_failures(self, scope: TaskScope, wire_id: str) -> Mapping[str, PushFailure]:
        """Say which configurations have failed."""
        return {config_id: mailbox.failure for config_id, mailbox in self._get_queues(scope, wire_id).items() if mailbox.failure is not None}

    def _get_queues(self, scope: TaskScope, wire_id: str) -> dict[str, PushQueue]:
        return self._push_queues.get(self._require_task(scope, wire_id).key, {})

    async def claim_due(self, lease_seconds: float, limit: int = 32, surfaces: Collection[str] | None = None) -> Sequence[Delivery]:
        """Take deliveries that are due."""
        now = self._options.clock.millis()
        ours = (mailbox for mailbox in self._pending_queues.values() if surfaces is None or mailbox.task.scope.surface in surfaces)
        ready = [mailbox for mailbox in ours if mailbox.due_at_millis <= now]
        taken: list[Delivery] = []
        for mailbox in sorted(ready, key=lambda each: (each.due_at_millis, each.pending[0][0]))[:limit]:
            mailbox.attempts += 1
            mailbox.due_at_millis = now + round(lease_seconds * 1000)
            number, event = mailbox.pending[0]
            taken.append(Delivery(number, mailbox.attempts, mailbox.config, mailbox.dialect, event, mailbox.task.to_stored_task()))
        return taken

    async def mark_delivered(self, delivery: Delivery) -> bool:
        """Be done with a delivery."""
        mailbox = self._find_claimed(delivery)
        if mailbox is None:
            return False
        mailbox.pending.popleft()
        mailbox.attempts = mailbox.due_at_millis = 0
        if not mailbox.pending:
            del self._pending_queues[delivery.stored.key, delivery.config.id or ""]
        return True

    async def retry(self, delivery: Delivery, after_seconds: float) -> bool:
        """Put a delivery off."""
        mailbox = self._find_claimed(delivery)
        if mailbox is not None:
            mailbox.due_at_millis = self._options.clock.millis() + round(after_seconds * 1000)
        return mailbox is not None

    async def mark_failed(self, delivery: Delivery, reason: str) -> bool:
        """Mark the configuration as failed."""
        mailbox = self._find_claimed(delivery)
        if mailbox is None:
            return False
        mailbox.failure = PushFailure(to_datetime(self._options.clock.millis()), reason)
        mailbox.pending.clear()
        mailbox.attempts = mailbox.due_at_millis = 0
        del self._pending_queues[delivery.stored.key, delivery.config.id or ""]
        return True

    def _find_claimed(self, delivery: Delivery) -> PushQueue | None:
        mailbox = self._pending_queues.get((delivery.stored.key, delivery.config.id or ""))
        if mailbox is None or (mailbox.pending[0][0], mailbox.attempts) != (delivery.id, delivery.attempts):
            return None
        return mailbox


class MemoryStore(MemoryTasks, MemoryContexts, MemoryRuns, MemoryPushes):
    """Keeps everything in this process, up to a number of tasks; full, it forgets the finished one that ended longest ago."""

    is_durable = False

    def notifier(self) -> None:
        """Ring nobody: there is no other process."""

    async def count(self, key: str, seconds: float) -> WindowCount:
        """Count one more under a key."""
        return self._counts.add(key, seconds)

    async def open(self) -> None:
        """Need no preparation."""

    async def close(self) -> None:
        """Need no farewell; what is in memory stays readable until the store itself goes."""
