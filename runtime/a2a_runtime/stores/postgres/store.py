"""The store in Postgres: any number of processes share it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

import asyncpg

from a2a_contract.dialects import CANONICAL
from a2a_contract.errors import TaskNotCancelableError, TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, TaskPushNotificationConfig
from a2a_runtime import lifecycle
from a2a_runtime.caller import TaskScope
from a2a_runtime.clock import to_datetime
from a2a_runtime.counters import WindowCount
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.models import ClaimedRun, Delivery, PushFailure, RecordKind, ReplayRecord, StoredTask
from a2a_runtime.stores.postgres import base, schema
from a2a_runtime.stores.postgres.base import FULL_TASK, SQL, PostgresBase, parse_key
from a2a_runtime.stores.postgres.notifier import PostgresNotifier
from a2a_runtime.stores.postgres.pool import Connection
from a2a_runtime.stores.postgres.tasks import PostgresTasks

# Conversations in Postgres, deleting, and what expires.


class PostgresContexts(PostgresBase):
    """What belongs to a conversation as a whole, and to a caller."""

    async def load_context(self, scope: TaskScope, context_id: str) -> Mapping[str, object] | None:
        """Read what a handler has stored with a conversation."""
        row = await self._pool.fetchrow(SQL["load_context"], scope.to_text(), context_id, self._conversation_cutoff_millis())
        return None if row is None else fragments.decode_object(row["data"])

    async def update_context(self, scope: TaskScope, context_id: str, data: Mapping[str, object]) -> None:
        """Store something with a conversation."""
        await self._pool.fetch(SQL["update_context"], scope.to_text(), context_id, fragments.encode_object(data), self._clock.millis())

    async def delete_context(self, scope: TaskScope, context_id: str) -> int:
        """Delete a conversation with all its tasks."""
        return await self._delete(scope, context_id)

    async def load_conversation(self, scope: TaskScope, context_id: str, limit: int = 100) -> Sequence[Message]:
        """Read the newest messages of a conversation."""
        found = await self._pool.fetch(SQL["conversation"], scope.to_text(), context_id, self._conversation_cutoff_millis(), limit)
        return [Message.model_validate_json(row["body"]) for row in found]

    async def list_scopes(self) -> Sequence[TaskScope]:
        """Say whose tasks and conversations there are."""
        return [TaskScope.from_text(row["scope"]) for row in await self._pool.fetch(SQL["scopes"])]

    async def delete_scope(self, scope: TaskScope) -> int:
        """Delete all tasks and conversations of a caller."""
        return await self._delete(scope, None)

    async def delete_expired(self, limit: int = 500) -> int:
        """Delete what has expired, but no task with deliveries left; nothing while another process does."""
        recent = self._conversation_cutoff_millis()
        async with self._pool.transaction() as connection:
            if not await connection.fetchval(SQL["lock_sweep"]):
                return 0
            ended = await connection.fetch(SQL["lock_ended"], self._options.cutoff_millis(self._options.retention_seconds), limit)
            await connection.execute(SQL["sweep_tasks"], [row["key"] for row in ended])
            await connection.execute(SQL["sweep_expired_messages"], recent, limit)
            contexts = {(row["scope"], row["context_id"]) for row in ended}
            names = [scope for scope, _ in contexts], [context_id for _, context_id in contexts]
            await connection.execute(SQL["sweep_old_messages"], *names, self._options.max_conversation_messages)
            await connection.execute(SQL["sweep_contexts"], recent)
            now = self._server_millis()
            await connection.execute(SQL["sweep_processes"], now)
            await connection.execute(SQL["sweep_counts"], now)
        return len(ended)

    async def _delete(self, scope: TaskScope, context_id: str | None) -> int:
        async with self._pool.transaction() as connection:
            keys = [row["key"] for row in await connection.fetch(SQL["lock_context"], scope.to_text(), context_id)]
            await connection.execute(SQL["delete_tasks"], keys)
            await connection.execute(SQL["delete_context"], scope.to_text(), context_id)
        return len(keys)

    def _conversation_cutoff_millis(self) -> int:
        """Say when a message must have been said to belong to its conversation still."""
        return self._options.cutoff_millis(self._options.conversation_retention_seconds)


# Who runs what, in Postgres: several processes share the tasks.

_CANCELABLE_STATES = [state for state in State if lifecycle.is_cancelable(state)]


class PostgresRuns(PostgresBase):
    """Leases of processes, claims of tasks, cancellation."""

    async def register(self, process: str) -> None:
        """Begin the lease of a process."""
        await self._pool.fetch(SQL["register"], process, self._lease_until_millis())

    async def renew_lease(self, process: str) -> Sequence[str]:
        """Renew the lease; the keys of those of its tasks that somebody wants canceled."""
        doubtful = tuple(self._unconfirmed.get(process, ()))
        canceled = await self._pool.fetch(SQL["beat"], process, self._lease_until_millis(), doubtful)
        self._unconfirmed.get(process, set()).difference_update(doubtful)
        return [str(row["key"]) for row in canceled]

    async def unregister(self, process: str) -> None:
        """End the lease."""
        await self._pool.fetch(SQL["unregister"], process)

    async def claim(self, key: str, process: str) -> ClaimedRun | None:
        """Begin a run of a task."""
        try:
            task = parse_key(key)
        except TaskNotFoundError:
            return None
        with self._track_unconfirmed(process, task):
            async with self._pool.transaction() as connection:
                if not await connection.fetch(SQL["claim"], task, process, self._server_millis()):
                    return None
                (whole,) = await connection.fetch(SQL["load_tasks"], *FULL_TASK, [task])
                records = await connection.fetch(SQL["records"], task)
        return ClaimedRun(base.to_stored_task(whole), [_to_replay_record(row) for row in records])

    async def find_orphans(self, limit: int = 64, surfaces: Collection[str] | None = None) -> Sequence[str]:
        """Find active tasks that no live process runs."""
        of = None if surfaces is None else [*surfaces]
        return [str(row["key"]) for row in await self._pool.fetch(SQL["orphans"], self._server_millis(), limit, of)]

    async def request_cancel(self, scope: TaskScope, wire_id: str) -> StoredTask:
        """Ask for the end of a task."""
        row = await self._pool.fetchrow(SQL["request_cancel"], scope.to_text(), wire_id, _CANCELABLE_STATES)
        stored = None if row is None else (await self._load_tasks([row["key"]])).get(str(row["key"]))
        if stored is None:
            await self._require_key(scope, wire_id)
            raise TaskNotCancelableError(details={"task_id": wire_id})
        return stored

    def _lease_until_millis(self) -> int:
        return self._server_millis() + round(self._options.lease_seconds * 1000)


def _to_replay_record(row: asyncpg.Record) -> ReplayRecord:
    return ReplayRecord(RecordKind(row["kind"]), row["record_key"], row["body"], row["fingerprint"])


# Push configurations and what is due for them, in Postgres.


class PostgresPushes(PostgresBase):
    """Keeps the configurations of a task, and hands out what is due."""

    async def put_push_config(
        self, scope: TaskScope, wire_id: str, config: TaskPushNotificationConfig, dialect: str = CANONICAL.name, *, max_configs: int | None = None
    ) -> TaskPushNotificationConfig:
        """Add a configuration, or change the one of that id."""
        config_id = config.id or self._ids.new()
        kept = config.model_copy(update={"id": config_id, "task_id": wire_id})
        async with self._pool.transaction() as connection:
            key = await _lock_key(connection, scope, wire_id)
            if max_configs is not None:
                changes.check_webhook_limit(await connection.fetchval(SQL["other_configs"], key, config_id), max_configs)
            await connection.execute(SQL["put_config"], key, config_id, dialect, kept.to_json())
            await connection.execute(SQL["count_configs"], key)
        return kept

    async def get_push_config(self, scope: TaskScope, wire_id: str, config_id: str) -> TaskPushNotificationConfig | None:
        """Read one configuration."""
        row = await self._pool.fetchrow(SQL["get_config"], await self._require_key(scope, wire_id), config_id)
        return None if row is None else TaskPushNotificationConfig.model_validate_json(row["body"])

    async def list_push_configs(
        self, scope: TaskScope, wire_id: str, page_size: int = 100, page_token: str = ""
    ) -> tuple[Sequence[TaskPushNotificationConfig], str]:
        """Read a page of configurations, by their ids."""
        after = pagination.parse_config_token(page_size, page_token, wire_id)
        found = await self._pool.fetch(SQL["list_configs"], await self._require_key(scope, wire_id), after, page_size + 1)
        page = found[:page_size]
        token = pagination.encode_page_token((page[-1]["config_id"],), wire_id) if len(found) > len(page) else ""
        return [TaskPushNotificationConfig.model_validate_json(row["body"]) for row in page], token

    async def delete_push_config(self, scope: TaskScope, wire_id: str, config_id: str) -> bool:
        """Delete a configuration and what is still due for it."""
        async with self._pool.transaction() as connection:
            key = await _lock_key(connection, scope, wire_id)
            deleted = await connection.fetch(SQL["delete_config"], key, config_id)
            await connection.execute(SQL["count_configs"], key)
        return bool(deleted)

    async def list_push_failures(self, scope: TaskScope, wire_id: str) -> Mapping[str, PushFailure]:
        """Say which configurations have failed."""
        found = await self._pool.fetch(SQL["failures"], await self._require_key(scope, wire_id))
        return {row["config_id"]: PushFailure(to_datetime(row["failed_at"]), row["failure"]) for row in found}

    async def claim_due(self, lease_seconds: float, limit: int = 32, surfaces: Collection[str] | None = None) -> Sequence[Delivery]:
        """Take deliveries that are due."""
        now, of = self._clock.millis(), None if surfaces is None else [*surfaces]
        taken = await self._pool.fetch(SQL["take_due"], now, now + round(lease_seconds * 1000), limit, of)
        if not taken:
            return []
        tasks = await self._load_tasks([row["key"] for row in taken])
        return [
            Delivery(
                id=row["id"],
                attempts=row["attempts"],
                config=TaskPushNotificationConfig.model_validate_json(row["config"]),
                dialect=row["dialect"],
                event=base.to_logged_event(row),
                stored=tasks[str(row["key"])],
            )
            for row in taken
            if str(row["key"]) in tasks
        ]

    async def mark_delivered(self, delivery: Delivery) -> bool:
        """Be done with a delivery."""
        return bool(await self._pool.fetch(SQL["settle"], delivery.id, delivery.attempts))

    async def retry(self, delivery: Delivery, after_seconds: float) -> bool:
        """Put a delivery off."""
        at = self._clock.millis() + round(after_seconds * 1000)
        return bool(await self._pool.fetch(SQL["retry"], delivery.id, delivery.attempts, at))

    async def mark_failed(self, delivery: Delivery, reason: str) -> bool:
        """Mark the configuration as failed."""
        return bool(await self._pool.fetch(SQL["give_up"], delivery.id, delivery.attempts, self._clock.millis(), reason))


async def _lock_key(connection: Connection, scope: TaskScope, wire_id: str) -> UUID:
    key: UUID | None = await connection.fetchval(SQL["hold_task"], scope.to_text(), wire_id)
    if key is None:
        raise TaskNotFoundError(details={"task_id": wire_id})
    return key


# Counts in Postgres, by the server's clock: all processes mean the same moment.


class PostgresCounts(PostgresBase):
    """How often somebody has asked lately."""

    async def count(self, key: str, seconds: float) -> WindowCount:
        """Count one more."""
        now = self._server_millis()
        (row,) = await self._pool.fetch(SQL["count"], key, now, now + round(seconds * 1000))
        return WindowCount(row["number"], (row["until"] - now) / 1000)


class PostgresStore(PostgresTasks, PostgresContexts, PostgresRuns, PostgresPushes, PostgresCounts):
    """Keeps everything in one database, whose schema ``a2a-gen db upgrade`` has made."""

    is_durable = True

    def notifier(self) -> PostgresNotifier:
        """Make a bell over the same server, with a connection of its own."""
        return PostgresNotifier(self._pool.dsn)

    async def open(self) -> None:
        """Connect, and see that the schema is one that this release can work with."""
        await self._pool.open()
        try:
            await schema.check_version(self._pool)
            (row,) = await self._pool.fetch(SQL["server_millis"])
            self._server_ahead = row["millis"] - round(self._clock.monotonic() * 1000)
        except BaseException:
            await self._pool.close()
            raise

    async def close(self) -> None:
        """Finish what was begun and let go of all connections."""
        for lane in (self._inserts, self._updates, self._loads):
            await lane.close()
        await self._pool.close()
