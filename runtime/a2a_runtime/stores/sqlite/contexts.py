"""Conversations in SQLite, and what is forgotten."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from a2a_contract.v1_0 import Message
from a2a_runtime.caller import Scope
from a2a_runtime.stores import fragments
from a2a_runtime.stores.sqlite.base import SqliteBase
from a2a_runtime.stores.sqlite.connection import SQL


class SqliteContexts(SqliteBase):
    """What belongs to a conversation as a whole."""

    async def load_context(self, scope: Scope, context_id: str) -> Mapping[str, object] | None:
        """Read what a handler has stored with a conversation."""
        where = {"scope": scope.to_text(), "context_id": context_id, "recent": self._options.expired(self._options.conversation)}
        row = await self._read(lambda db: db.execute(SQL["load_context"], where).fetchone())
        return None if row is None else fragments.members_of(row["data"])

    async def update_context(self, scope: Scope, context_id: str, data: Mapping[str, object]) -> None:
        """Store something with a conversation."""
        row = {"scope": scope.to_text(), "context_id": context_id, "data": fragments.object_bytes(data), "at": self._options.clock.millis()}
        await self._write(lambda db: db.execute(SQL["put_context"], row))

    async def delete_context(self, scope: Scope, context_id: str) -> int:
        """Delete a conversation with all its tasks."""
        where = {"scope": scope.to_text(), "context_id": context_id}

        def delete(db: sqlite3.Connection) -> int:
            db.execute(SQL["delete_turns_of_context"], where)
            db.execute(SQL["delete_context"], where)
            return db.execute(SQL["delete_tasks_of_context"], where).rowcount

        return await self._write(delete)

    async def conversation(self, scope: Scope, context_id: str, limit: int = 100) -> Sequence[Message]:
        """Read the newest messages of a conversation."""
        recent = self._options.expired(self._options.conversation)
        where = {"scope": scope.to_text(), "context_id": context_id, "recent": recent, "limit": limit}
        rows = await self._read(lambda db: db.execute(SQL["conversation"], where).fetchall())
        return [Message.model_validate_json(row["body"]) for row in reversed(rows)]

    async def scopes(self) -> Sequence[Scope]:
        """Say whose tasks and conversations there are."""
        rows = await self._read(lambda db: db.execute(SQL["scopes"]).fetchall())
        return [Scope.from_text(row["scope"]) for row in rows]

    async def delete_scope(self, scope: Scope) -> int:
        """Delete all tasks and conversations of a caller."""
        where = {"scope": scope.to_text()}

        def delete(db: sqlite3.Connection) -> int:
            db.execute(SQL["delete_turns_of_scope"], where)
            db.execute(SQL["delete_contexts_of_scope"], where)
            return db.execute(SQL["delete_tasks_of_scope"], where).rowcount

        return await self._write(delete)

    async def sweep(self, limit: int = 500) -> int:
        """Delete what has expired, but no task with deliveries left."""
        return await self._write(lambda db: self._sweep(db, limit))

    def _sweep(self, db: sqlite3.Connection, limit: int) -> int:
        options = self._options
        recent = {"recent": options.expired(options.conversation)}
        expired = db.execute(SQL["expired"], {"ended_by": options.expired(options.retention), "limit": limit}).fetchall()
        for row in expired:
            db.execute(SQL["keep_turns"], {**row, **recent})
            db.execute(SQL["trim_turns"], {**row, "keep": options.conversation_limit})
        db.executemany(SQL["delete_by_key"], [{"key": row["key"]} for row in expired])
        db.execute(SQL["delete_old_turns"], recent)
        db.execute(SQL["delete_old_contexts"], recent)
        now = {"now": options.clock.millis()}
        db.execute(SQL["end_old_leases"], now)
        db.execute(SQL["end_old_counts"], now)
        return len(expired)
