"""The store in memory, for development, tests and agents whose tasks need not outlive the
process.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from a2a_contract.dialects import CANONICAL
from a2a_contract.errors import TaskNotCancelableError
from a2a_contract.v1_0 import Message, TaskPushNotificationConfig
from a2a_runtime.base import lifecycle
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.clock import to_datetime
from a2a_runtime.base.counters import WindowCount
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.memory.index import KeptMessage, MemoryTask
from a2a_runtime.stores.memory.state import Conversation, PushQueue, message_time
from a2a_runtime.stores.memory.tasks import MemoryTasks
from a2a_runtime.stores.models import (
    ClaimedRun,
    Delivery,
    PushFailure,
    RenewedLease,
    RunProgress,
    StoredTask,
)

_MAX_CHECKED_CONVERSATIONS = 1_000
"""Conversations that one call checks for expired messages: two milliseconds."""


class MemoryStore(MemoryTasks):
    """Store in this process, up to a number of tasks; a full store deletes the finished task that
    ended first.

    Only one process can use it, but leases and claims follow the rules of shared stores.
    """

    is_durable = runs_again = False
    accepts_task_ids = True

    def notifier(self) -> None:
        """Return none: there is no other process."""

    async def open(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing; tasks stay readable."""

    # Contexts

    async def load_context(
        self, scope: TaskScope, context_id: str, hidden_skills: Collection[str] = ()
    ) -> Mapping[str, object] | None:
        """Load the data that handlers have stored with a conversation."""
        conversation = self._conversations.get((scope, context_id))
        if (
            conversation is None
            or conversation.data is None
            or self._is_expired(conversation, scope, context_id)
        ):
            return None
        if conversation.skills.isdisjoint(hidden_skills):
            return fragments.decode_object(conversation.data)
        return None

    async def update_context(
        self,
        scope: TaskScope,
        context_id: str,
        data: Mapping[str, object],
        skill: str = "",
        hidden_skills: Collection[str] = (),
    ) -> None:
        """Replace the data of a conversation."""
        changes.check_context_data(data)
        body = fragments.encode_object(data)
        conversation = self._touch_conversation(scope, context_id)
        changes.check_context_written(conversation.skills.isdisjoint(hidden_skills))
        self._keep_data(conversation, body)
        conversation.updated_at_millis = self._index.now_millis()
        conversation.skills |= {skill} - {""}

    async def delete_context(self, scope: TaskScope, context_id: str) -> int:
        """Delete a conversation with all its tasks."""
        tasks = self._index.find_in_context(scope, context_id)
        for task in tasks:
            self._delete(task)
        self._drop_conversation((scope, context_id))
        return len(tasks)

    async def load_conversation(
        self,
        scope: TaskScope,
        context_id: str,
        limit: int = 100,
        hidden_skills: Collection[str] = (),
    ) -> Sequence[Message]:
        """Load the newest messages of a conversation, oldest first."""
        cutoff = self._conversation_cutoff()
        conversation = self._conversations.get((scope, context_id))
        messages: list[KeptMessage] = []
        if conversation is not None:
            messages += [each for each in conversation.messages if each[2] not in hidden_skills]
        for task in self._index.find_in_context(scope, context_id):
            if task.skill not in hidden_skills:
                messages += task.iter_messages()
        recent = sorted((message for message in messages if message[0] > cutoff), key=message_time)
        return [
            Message.model_validate_json(body)
            for _, body, _ in recent[max(0, len(recent) - limit) :]
        ]

    async def list_scopes(self) -> Sequence[TaskScope]:
        """Return the scopes of all tasks and conversations."""
        return sorted(
            {*self._index.scopes, *(scope for scope, _ in self._conversations)},
            key=TaskScope.to_text,
        )

    async def delete_scope(self, scope: TaskScope) -> int:
        """Delete all tasks and conversations of a scope."""
        index = self._index.scopes.get(scope)
        contexts = {context_id for owner, context_id in self._conversations if owner == scope}
        if index is not None:
            contexts.update(index.by_context)
        deleted = 0
        for context_id in contexts:
            deleted += await self.delete_context(scope, context_id)
        return deleted

    async def delete_expired(self, limit: int = 100) -> int:
        """Delete a batch of tasks, else messages and contexts of some conversations, leases and
        counters.
        """
        ended_by = self._options.cutoff_millis(self._options.retention_seconds)
        deleted = 0
        while (
            deleted < limit
            and (task := self._index.pop_ended(ended_by, self._is_delivered)) is not None
        ):
            self._expire(task)
            deleted += 1
        for dialect, seconds in self._options.dialect_retention_seconds.items():
            cutoff = self._options.cutoff_millis(seconds)
            while (
                deleted < limit
                and (task := self._index.pop_ended(cutoff, self._is_delivered, dialect)) is not None
            ):
                self._expire(task)
                deleted += 1
        if deleted:
            return deleted
        deleted = self._delete_old_messages()
        if self._unchecked:
            return max(deleted, 1)
        self._counter.remove_expired()
        now = self._clock.monotonic()
        self._leases = {process: until for process, until in self._leases.items() if until > now}
        return deleted

    def _delete_old_messages(self) -> int:
        """Delete what has expired of some conversations in turn, so that the event loop never waits
        for all; return the number of messages.
        """
        if not self._unchecked:
            self._unchecked = list(self._conversations)
        checked = self._unchecked[-_MAX_CHECKED_CONVERSATIONS:]
        self._unchecked = self._unchecked[:-_MAX_CHECKED_CONVERSATIONS]
        cutoff = self._conversation_cutoff()
        deleted = 0
        for key in checked:
            conversation = self._conversations.get(key)
            if conversation is None or _is_young(conversation, cutoff):
                continue
            kept = [message for message in conversation.messages if message[0] > cutoff]
            deleted += len(conversation.messages) - len(kept)
            self._keep_messages(conversation, kept)
            if self._is_expired(conversation, *key):
                self._keep_data(conversation, None)
                conversation.skills = frozenset()
            if not conversation.messages and conversation.data is None:
                self._drop_conversation(key)
        return deleted

    def _is_expired(self, conversation: Conversation, scope: TaskScope, context_id: str) -> bool:
        """Check whether the data of a conversation is old and has no tasks any more."""
        return (
            conversation.updated_at_millis <= self._conversation_cutoff()
            and not self._index.find_in_context(scope, context_id)
        )

    # Runs

    async def register(self, process: str) -> None:
        """Begin the lease of a process."""
        self._suspects.pop(process, None)
        self._leases[process] = self._clock.monotonic() + self._options.lease_seconds

    async def renew_lease(self, process: str) -> RenewedLease:
        """Renew the lease, and return the claims of this process."""
        await self.register(process)
        claimed = [task for task in self._index.active.values() if task.process == process]
        progress = {task.key: RunProgress(task.epoch, task.writes) for task in claimed}
        return RenewedLease(progress, [task.key for task in claimed if task.cancel_requested])

    async def release_claims(self, process: str, keys: Collection[str]) -> None:
        """End claims of this process."""
        for key in keys:
            task = self._index.active.get(key)
            if task is not None and task.process == process:
                task.process = None

    async def unregister(self, process: str) -> None:
        """End the lease."""
        self._leases.pop(process, None)
        self._suspects.pop(process, None)

    async def mark_suspect(self, process: str, key: str) -> None:
        """Note in which task the event loop of a process stands still."""
        self._suspects[process] = key

    async def claim(self, key: str, process: str) -> ClaimedRun | None:
        """Begin a run of a task."""
        task = self._index.active.get(key)
        if task is None or task.process == process or self._is_claimed(task):
            return None
        task.crashes += task.process is not None and self._suspects.get(task.process, key) == key
        task.process = process
        task.epoch += 1
        task.writes = 0
        return ClaimedRun(
            task.to_stored_task(), tuple(self._records.get(key, {}).values()), task.crashes
        )

    async def find_orphans(
        self, limit: int = 64, surfaces: Collection[str] | None = None
    ) -> Sequence[str]:
        """Find active tasks without a live process."""
        tasks = self._index.active.items()
        return sorted(
            key
            for key, task in tasks
            if not self._is_claimed(task) and _is_of_surface(task, surfaces)
        )[:limit]

    async def request_cancel(self, scope: TaskScope, wire_id: str) -> StoredTask:
        """Request the cancellation of a task."""
        task = self._require_task(scope, wire_id)
        if not lifecycle.is_cancelable(task.state):
            raise TaskNotCancelableError(details={"task_id": wire_id})
        task.cancel_requested = True
        self._index.active[task.key] = task
        return task.to_stored_task()

    def _is_claimed(self, task: MemoryTask) -> bool:
        until = None if task.process is None else self._leases.get(task.process)
        return until is not None and until > self._clock.monotonic()

    # Push configurations

    async def put_push_config(
        self,
        scope: TaskScope,
        wire_id: str,
        config: TaskPushNotificationConfig,
        dialect: str = CANONICAL.name,
        *,
        max_configs: int | None = None,
    ) -> TaskPushNotificationConfig:
        """Add a configuration, or replace the one of that id."""
        task = self._require_task(scope, wire_id)
        changes.check_webhook_limit(
            len(self._push_queues.get(task.key, {}).keys() - {config.id}), max_configs
        )
        config = changes.bind_config(config, wire_id, self._ids)
        self._put_config(task, config, dialect)
        return config

    async def get_push_config(
        self, scope: TaskScope, wire_id: str, config_id: str
    ) -> TaskPushNotificationConfig | None:
        """Load one configuration."""
        queue = self._get_queues(scope, wire_id).get(config_id)
        if queue is None:
            return None
        return queue.config

    async def list_push_configs(
        self, scope: TaskScope, wire_id: str, page_size: int = 100, page_token: str = ""
    ) -> tuple[Sequence[TaskPushNotificationConfig], str]:
        """Load a page of configurations, ordered by id."""
        after = pagination.parse_config_token(page_size, page_token, wire_id)
        queues = self._get_queues(scope, wire_id)
        ids = sorted(config_id for config_id in queues if config_id > after)
        page = ids[:page_size]
        next_token = ""
        if len(ids) > len(page):
            next_token = pagination.encode_page_token((page[-1],), wire_id)
        return [queues[config_id].config for config_id in page], next_token

    async def delete_push_config(self, scope: TaskScope, wire_id: str, config_id: str) -> bool:
        """Delete a configuration and its pending deliveries."""
        task = self._require_task(scope, wire_id)
        self._pending_queues.pop((task.key, config_id), None)
        deleted = self._get_queues(scope, wire_id).pop(config_id, None)
        self._release_if_delivered(task)
        return deleted is not None

    async def list_push_failures(self, scope: TaskScope, wire_id: str) -> Mapping[str, PushFailure]:
        """Return the failed configurations, by id."""
        return {
            config_id: queue.failure
            for config_id, queue in self._get_queues(scope, wire_id).items()
            if queue.failure is not None
        }

    def _get_queues(self, scope: TaskScope, wire_id: str) -> dict[str, PushQueue]:
        return self._push_queues.get(self._require_task(scope, wire_id).key, {})

    # Deliveries

    async def claim_due(
        self, lease_seconds: float, limit: int = 32, surfaces: Collection[str] | None = None
    ) -> Sequence[Delivery]:
        """Claim deliveries that are due."""
        now = self._clock.millis()
        due = [
            queue
            for queue in self._pending_queues.values()
            if queue.due_at_millis <= now and _is_of_surface(queue.task, surfaces)
        ]
        claimed: list[Delivery] = []
        for queue in sorted(due, key=lambda queue: (queue.due_at_millis, queue.pending[0][0]))[
            :limit
        ]:
            queue.attempts += 1
            queue.due_at_millis = now + round(lease_seconds * 1000)
            delivery_id, event = queue.pending[0]
            claimed.append(
                Delivery(
                    delivery_id,
                    queue.attempts,
                    queue.config,
                    queue.dialect,
                    event,
                    queue.task.to_stored_task(),
                )
            )
        return claimed

    async def count_deliveries(self) -> int:
        """Count the deliveries in the outbox, due or not."""
        return sum(len(queue.pending) for queue in self._pending_queues.values())

    async def mark_delivered(self, delivery: Delivery) -> bool:
        """Remove a delivery that has arrived or was dropped."""
        queue = self._find_claimed(delivery)
        if queue is None:
            return False
        queue.pending.popleft()
        queue.attempts = queue.due_at_millis = 0
        if not queue.pending:
            del self._pending_queues[delivery.stored.key, delivery.config.id or ""]
            self._release_if_delivered(queue.task)
        return True

    async def retry(self, delivery: Delivery, after_seconds: float) -> bool:
        """Postpone a delivery."""
        queue = self._find_claimed(delivery)
        if queue is not None:
            queue.due_at_millis = self._clock.millis() + round(after_seconds * 1000)
        return queue is not None

    async def mark_failed(self, delivery: Delivery, reason: str) -> bool:
        """Mark the configuration as failed and drop its deliveries."""
        queue = self._find_claimed(delivery)
        if queue is None:
            return False
        queue.failure = PushFailure(to_datetime(self._clock.millis()), reason)
        queue.pending.clear()
        queue.attempts = queue.due_at_millis = 0
        del self._pending_queues[delivery.stored.key, delivery.config.id or ""]
        self._release_if_delivered(queue.task)
        return True

    def _find_claimed(self, delivery: Delivery) -> PushQueue | None:
        queue = self._pending_queues.get((delivery.stored.key, delivery.config.id or ""))
        if queue is None or (queue.pending[0][0], queue.attempts) != (
            delivery.id,
            delivery.attempts,
        ):
            return None
        return queue

    # Counters

    async def count(self, key: str, seconds: float) -> WindowCount:
        """Increment a counter."""
        return self._counter.add(key, seconds)


def _is_of_surface(task: MemoryTask, surfaces: Collection[str] | None) -> bool:
    return surfaces is None or task.scope.surface in surfaces


def _is_young(conversation: Conversation, cutoff: int) -> bool:
    """Return whether nothing of a conversation can have expired; its messages are ordered by
    time.
    """
    is_data_young = conversation.data is None or conversation.updated_at_millis > cutoff
    return (
        is_data_young
        and bool(conversation.messages or conversation.data)
        and (not conversation.messages or conversation.messages[0][0] > cutoff)
    )


# Each process has a memory of its own.
def build(_url: str, options: StoreOptions, *, attach: bool) -> MemoryStore:  # noqa: ARG001
    """Build the store, which has no address."""
    return MemoryStore(options)
