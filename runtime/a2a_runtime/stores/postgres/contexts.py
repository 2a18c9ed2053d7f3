"""Conversations in Postgres, deleting, and what expires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from a2a_contract.v1_0 import Message
from a2a_runtime.caller import Scope
from a2a_runtime.stores import fragments
from a2a_runtime.stores.postgres.base import PostgresBase
from a2a_runtime.stores.postgres.statements import SQL


class PostgresContexts(PostgresBase):
    """What belongs to a conversation as a whole, and to a caller."""

    async def load_context(self, scope: Scope, context_id: str) -> Mapping[str, object] | None:
        """Read what a handler has stored with a conversation."""
        row = await self._pool.row(SQL["load_context"], scope.to_text(), context_id, self._recent())
        return None if row is None else fragments.members_of(row["data"])

    async def update_context(self, scope: Scope, context_id: str, data: Mapping[str, object]) -> None:
        """Store something with a conversation."""
        await self._pool.rows(SQL["update_context"], scope.to_text(), context_id, fragments.object_bytes(data), self._clock.millis())

    async def delete_context(self, scope: Scope, context_id: str) -> int:
        """Delete a conversation with all its tasks."""
        return await self._delete(scope, context_id)

    async def conversation(self, scope: Scope, context_id: str, limit: int = 100) -> Sequence[Message]:
        """Read the newest messages of a conversation."""
        found = await self._pool.rows(SQL["conversation"], scope.to_text(), context_id, self._recent(), limit)
        return [Message.model_validate_json(row["body"]) for row in found]

    async def scopes(self) -> Sequence[Scope]:
        """Say whose tasks and conversations there are."""
        return [Scope.from_text(row["scope"]) for row in await self._pool.rows(SQL["scopes"])]

    async def delete_scope(self, scope: Scope) -> int:
        """Delete all tasks and conversations of a caller."""
        return await self._delete(scope, None)

    async def sweep(self, limit: int = 500) -> int:
        """Delete what has expired, but no task with deliveries left; nothing while another process does."""
        recent = self._recent()
        async with self._pool.transaction() as connection:
            if not await connection.fetchval(SQL["lock_sweep"]):
                return 0
            ended = await connection.fetch(SQL["lock_ended"], self._options.expired(self._options.retention), limit)
            await connection.execute(SQL["sweep_tasks"], [row["key"] for row in ended])
            await connection.execute(SQL["sweep_expired_messages"], recent, limit)
            contexts = {(row["scope"], row["context_id"]) for row in ended}
            names = [scope for scope, _ in contexts], [context_id for _, context_id in contexts]
            await connection.execute(SQL["sweep_old_messages"], *names, self._options.conversation_limit)
            await connection.execute(SQL["sweep_contexts"], recent)
            now = self._server_millis()
            await connection.execute(SQL["sweep_processes"], now)
            await connection.execute(SQL["sweep_counts"], now)
        return len(ended)

    async def _delete(self, scope: Scope, context_id: str | None) -> int:
        async with self._pool.transaction() as connection:
            keys = [row["key"] for row in await connection.fetch(SQL["lock_context"], scope.to_text(), context_id)]
            await connection.execute(SQL["delete_tasks"], keys)
            await connection.execute(SQL["delete_context"], scope.to_text(), context_id)
        return len(keys)

    def _recent(self) -> int:
        """Say when a message must have been said to belong to its conversation still."""
        return self._options.expired(self._options.conversation)
