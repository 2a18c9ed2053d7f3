"""The store in one file."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from a2a_contract.dialects import CANONICAL
from a2a_contract.errors import TaskNotCancelableError, TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, TaskPushNotificationConfig
from a2a_runtime import lifecycle
from a2a_runtime.caller import TaskScope
from a2a_runtime.clock import to_datetime
from a2a_runtime.counters import WindowCount
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.base import DEFAULT_OPTIONS, StoreOptions
from a2a_runtime.stores.models import ClaimedRun, Delivery, LoggedEvent, PushFailure, RecordKind, ReplayRecord, StoredTask
from a2a_runtime.stores.sqlite import connection, tasks
from a2a_runtime.stores.sqlite.base import SqliteBase, find_task, load_by_key, require_key
from a2a_runtime.stores.sqlite.connection import SQL, FileLock, connect, to_unavailable_error
from a2a_runtime.stores.sqlite.executor import ConnectionThread
from a2a_runtime.stores.sqlite.tasks import SqliteTasks

# Conversations in SQLite, and what is forgotten.


class SqliteContexts(SqliteBase):
    """What belongs to a conversation as a whole."""

    async def load_context(self, scope: TaskScope, context_id: str) -> Mapping[str, object] | None:
        """Read what a handler has stored with a conversation."""
        where = {
            "scope": scope.to_text(),
            "context_id": context_id,
            "recent": self._options.cutoff_millis(self._options.conversation_retention_seconds),
        }
        row = await self._read(lambda db: db.execute(SQL["load_context"], where).fetchone())
        return None if row is None else fragments.decode_object(row["data"])

    async def update_context(self, scope: TaskScope, context_id: str, data: Mapping[str, object]) -> None:
        """Store something with a conversation."""
        row = {"scope": scope.to_text(), "context_id": context_id, "data": fragments.encode_object(data), "at": self._options.clock.millis()}
        await self._write(lambda db: db.execute(SQL["put_context"], row))

    async def delete_context(self, scope: TaskScope, context_id: str) -> int:
        """Delete a conversation with all its tasks."""
        where = {"scope": scope.to_text(), "context_id": context_id}

        def delete(db: sqlite3.Connection) -> int:
            db.execute(SQL["delete_turns_of_context"], where)
            db.execute(SQL["delete_context"], where)
            return db.execute(SQL["delete_tasks_of_context"], where).rowcount

        return await self._write(delete)

    async def load_conversation(self, scope: TaskScope, context_id: str, limit: int = 100) -> Sequence[Message]:
        """Read the newest messages of a conversation."""
        recent = self._options.cutoff_millis(self._options.conversation_retention_seconds)
        where = {"scope": scope.to_text(), "context_id": context_id, "recent": recent, "limit": limit}
        rows = await self._read(lambda db: db.execute(SQL["conversation"], where).fetchall())
        return [Message.model_validate_json(row["body"]) for row in reversed(rows)]

    async def list_scopes(self) -> Sequence[TaskScope]:
        """Say whose tasks and conversations there are."""
        rows = await self._read(lambda db: db.execute(SQL["scopes"]).fetchall())
        return [TaskScope.from_text(row["scope"]) for row in rows]

    async def delete_scope(self, scope: TaskScope) -> int:
        """Delete all tasks and conversations of a caller."""
        where = {"scope": scope.to_text()}

        def delete(db: sqlite3.Connection) -> int:
            db.execute(SQL["delete_turns_of_scope"], where)
            db.execute(SQL["delete_contexts_of_scope"], where)
            return db.execute(SQL["delete_tasks_of_scope"], where).rowcount

        return await self._write(delete)

    async def delete_expired(self, limit: int = 500) -> int:
        """Delete what has expired, but no task with deliveries left."""
        return await self._write(lambda db: self._delete_expired(db, limit))

    def _delete_expired(self, db: sqlite3.Connection, limit: int) -> int:
        options = self._options
        recent = {"recent": options.cutoff_millis(options.conversation_retention_seconds)}
        expired = db.execute(SQL["expired"], {"ended_by": options.cutoff_millis(options.retention_seconds), "limit": limit}).fetchall()
        for row in expired:
            db.execute(SQL["keep_turns"], {**row, **recent})
            db.execute(SQL["trim_turns"], {**row, "keep": options.max_conversation_messages})
        db.executemany(SQL["delete_by_key"], [{"key": row["key"]} for row in expired])
        db.execute(SQL["delete_old_turns"], recent)
        db.execute(SQL["delete_old_contexts"], recent)
        now = {"now": options.clock.millis()}
        db.execute(SQL["end_old_leases"], now)
        db.execute(SQL["end_old_counts"], now)
        return len(expired)


# Who runs what, in SQLite.


class SqliteRuns(SqliteBase):
    """Leases of processes, claims of tasks, cancellation."""

    async def register(self, process: str) -> None:
        """Begin the lease of a process."""
        until = self._options.clock.millis() + round(self._options.lease_seconds * 1000)
        await self._write(lambda db: db.execute(SQL["renew_lease"], {"process": process, "until": until}))

    async def renew_lease(self, process: str) -> Sequence[str]:
        """Renew the lease; the keys of those of its tasks that somebody wants canceled."""
        await self.register(process)
        rows = await self._read(lambda db: db.execute(SQL["wanted_canceled"], {"process": process}).fetchall())
        return [row["key"] for row in rows]

    async def unregister(self, process: str) -> None:
        """End the lease."""
        await self._write(lambda db: db.execute(SQL["end_lease"], {"process": process}))

    async def claim(self, key: str, process: str) -> ClaimedRun | None:
        """Begin a run of a task."""

        def claim(db: sqlite3.Connection) -> ClaimedRun | None:
            who = {"key": key, "process": process, "now": self._options.clock.millis()}
            if not db.execute(SQL["claim"], who).rowcount:
                return None
            rows = db.execute(SQL["records_of"], {"key": key})
            records = [ReplayRecord(RecordKind(kind), name, body, fingerprint) for kind, name, fingerprint, body in rows]
            return ClaimedRun(load_by_key(db, key), records)

        return await self._write(claim)

    async def find_orphans(self, limit: int = 64, surfaces: Collection[str] | None = None) -> Sequence[str]:
        """Find active tasks that no live process runs."""
        of = None if surfaces is None else json.dumps([*surfaces])
        which = {"now": self._options.clock.millis(), "limit": limit, "surfaces": of}
        rows = await self._read(lambda db: db.execute(SQL["orphans"], which).fetchall())
        return [row["key"] for row in rows]

    async def request_cancel(self, scope: TaskScope, wire_id: str) -> StoredTask:
        """Ask for the end of a task."""

        def cancel(db: sqlite3.Connection) -> StoredTask:
            row = find_task(db, scope, wire_id)
            if row is None:
                raise TaskNotFoundError(details={"task_id": wire_id})
            if not lifecycle.is_cancelable(State(row["state"])):
                raise TaskNotCancelableError(details={"task_id": wire_id})
            db.execute(SQL["want_canceled"], {"key": row["key"]})
            return load_by_key(db, row["key"])

        return await self._write(cancel)


# Push configurations and what is due for them, in SQLite.


class SqlitePushes(SqliteBase):
    """Keeps the configurations of a task, and hands out what is due."""

    async def put_push_config(
        self, scope: TaskScope, wire_id: str, config: TaskPushNotificationConfig, dialect: str = CANONICAL.name, *, max_configs: int | None = None
    ) -> TaskPushNotificationConfig:
        """Add a configuration, or change the one of that id."""
        config = tasks.assign_ids(config, wire_id, self._ids)

        def put(db: sqlite3.Connection) -> TaskPushNotificationConfig:
            key = require_key(db, scope, wire_id)
            if max_configs is not None:
                changes.check_webhook_limit(db.execute(SQL["other_configs"], {"key": key, "config_id": config.id}).fetchone()[0], max_configs)
            return tasks.put_config(db, key, config, dialect)

        return await self._write(put)

    async def get_push_config(self, scope: TaskScope, wire_id: str, config_id: str) -> TaskPushNotificationConfig | None:
        """Read one configuration."""

        def load(db: sqlite3.Connection) -> bytes | None:
            row = db.execute(SQL["load_config"], {"key": require_key(db, scope, wire_id), "config_id": config_id}).fetchone()
            return None if row is None else row["body"]

        body = await self._read(load)
        return None if body is None else TaskPushNotificationConfig.model_validate_json(body)

    async def list_push_configs(
        self, scope: TaskScope, wire_id: str, page_size: int = 100, page_token: str = ""
    ) -> tuple[Sequence[TaskPushNotificationConfig], str]:
        """Read a page of configurations, by their ids."""
        after = pagination.parse_config_token(page_size, page_token, wire_id)

        def page(db: sqlite3.Connection) -> list[sqlite3.Row]:
            where = {"key": require_key(db, scope, wire_id), "after": after, "limit": page_size + 1}
            return db.execute(SQL["page_of_configs"], where).fetchall()

        rows = await self._read(page)
        shown = rows[:page_size]
        token = pagination.encode_page_token((shown[-1]["config_id"],), wire_id) if len(rows) > len(shown) else ""
        return [TaskPushNotificationConfig.model_validate_json(row["body"]) for row in shown], token

    async def delete_push_config(self, scope: TaskScope, wire_id: str, config_id: str) -> bool:
        """Delete a configuration and what is still due for it."""

        def delete(db: sqlite3.Connection) -> bool:
            return db.execute(SQL["delete_config"], {"key": require_key(db, scope, wire_id), "config_id": config_id}).rowcount > 0

        return await self._write(delete)

    async def list_push_failures(self, scope: TaskScope, wire_id: str) -> Mapping[str, PushFailure]:
        """Say which configurations have failed."""
        rows = await self._read(lambda db: db.execute(SQL["failed_configs"], {"key": require_key(db, scope, wire_id)}).fetchall())
        return {row["config_id"]: PushFailure(to_datetime(row["failed_at"]), row["failure"]) for row in rows}

    async def claim_due(self, lease_seconds: float, limit: int = 32, surfaces: Collection[str] | None = None) -> Sequence[Delivery]:
        """Take deliveries that are due."""
        now = self._options.clock.millis()
        which = {"now": now, "limit": limit, "surfaces": None if surfaces is None else json.dumps([*surfaces])}
        return await self._write(lambda db: self._claim_due(db, which, now + round(lease_seconds * 1000)))

    @staticmethod
    def _claim_due(db: sqlite3.Connection, which: Mapping[str, object], until: int) -> Sequence[Delivery]:
        rows = db.execute(SQL["due"], which).fetchall()
        db.executemany(SQL["take"], [{"id": row["id"], "until": until} for row in rows])
        return [
            Delivery(
                id=row["id"],
                attempts=row["attempts"] + 1,
                config=TaskPushNotificationConfig.model_validate_json(row["config"]),
                dialect=row["dialect"],
                event=LoggedEvent(row["seq"], row["body"], State(row["state"])),
                stored=load_by_key(db, row["task_key"]),
            )
            for row in rows
        ]

    async def mark_delivered(self, delivery: Delivery) -> bool:
        """Be done with a delivery."""
        mine = {"id": delivery.id, "attempts": delivery.attempts}
        return await self._write(lambda db: db.execute(SQL["settle"], mine).rowcount > 0)

    async def retry(self, delivery: Delivery, after_seconds: float) -> bool:
        """Put a delivery off."""
        until = self._options.clock.millis() + round(after_seconds * 1000)
        mine = {"id": delivery.id, "attempts": delivery.attempts, "until": until}
        return await self._write(lambda db: db.execute(SQL["put_off"], mine).rowcount > 0)

    async def mark_failed(self, delivery: Delivery, reason: str) -> bool:
        """Mark the configuration as failed."""
        mine = {"id": delivery.id, "attempts": delivery.attempts, "at": self._options.clock.millis(), "reason": reason}

        def mark(db: sqlite3.Connection) -> bool:
            db.execute(SQL["mark_failed"], mine)
            return db.execute(SQL["drop_due"], mine).rowcount > 0

        return await self._write(mark)


# Counts in SQLite.


class SqliteCounts(SqliteBase):
    """How often somebody has asked lately."""

    async def count(self, key: str, seconds: float) -> WindowCount:
        """Count one more."""
        now = self._options.clock.millis()
        one = {"key": key, "now": now, "until": now + round(seconds * 1000)}
        row = await self._write(lambda db: db.execute(SQL["count"], one).fetchone())
        return WindowCount(row["number"], (row["until"] - now) / 1000)


class SqliteStore(SqliteTasks, SqliteContexts, SqliteRuns, SqlitePushes, SqliteCounts):
    """Keeps everything in a file on a local disk; one process runs on it.

    With ``visits`` the store is opened beside the process that runs on the file, to look and to tidy up: it takes no lock, and begins no run.
    """

    is_durable = True

    def __init__(self, path: str | Path, options: StoreOptions = DEFAULT_OPTIONS, *, attach: bool = False) -> None:
        super().__init__(path, options)
        self._lock = None if attach else FileLock(self.path)

    def notifier(self) -> None:
        """Ring nobody: one process runs on a file."""

    async def open(self) -> None:
        """Lock the file, check it, bring its schema up to date, and start the two threads."""
        await asyncio.to_thread(self._open)

    def _open(self) -> None:
        if not self.path.parent.is_dir():
            raise StoreUnavailableError(f"{self.path}: its folder does not exist. Make it, or name another file")
        if self._lock is None and not self.path.exists():
            raise StoreUnavailableError(f"{self.path}: there is no such file. Name the one that an agent runs on")
        if self._lock is not None:
            self._lock.acquire()
        with ExitStack() as undo:
            if self._lock is not None:
                undo.callback(self._lock.release)
            writer = undo.enter_context(closing(connect(self.path)))
            connection.upgrade(writer, self.path)
            self._end_leases(writer)
            reader = connect(self.path, read_only=True)
            undo.pop_all()
        self._writer = ConnectionThread(self.path, writer, writes=True, fail_point=self._options.fail_point)
        self._reader = ConnectionThread(self.path, reader, writes=False)

    def _end_leases(self, writer: sqlite3.Connection) -> None:
        try:
            if self._lock is not None:
                writer.execute(SQL["end_all_leases"])
        except sqlite3.Error as error:
            raise to_unavailable_error(self.path, error) from error

    async def close(self) -> None:
        """Finish what was begun, and let go of the file."""
        for lane in (self._reader, self._writer):
            if lane is not None:
                await lane.close()
        if self._lock is not None:
            self._lock.release()
