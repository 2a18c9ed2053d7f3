"""Push configurations and what is due for them, in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from a2a_contract.dialects import CANONICAL
from a2a_contract.errors import TaskNotFoundError
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.caller import Scope
from a2a_runtime.clock import moment
from a2a_runtime.stores import cursor, plan
from a2a_runtime.stores.postgres import rows
from a2a_runtime.stores.postgres.base import PostgresBase
from a2a_runtime.stores.postgres.pool import Connection
from a2a_runtime.stores.postgres.statements import SQL
from a2a_runtime.stores.values import Delivery, PushFailure


class PostgresPushes(PostgresBase):
    """Keeps the configurations of a task, and hands out what is due."""

    async def put_push_config(
        self, scope: Scope, wire_id: str, config: TaskPushNotificationConfig, dialect: str = CANONICAL.name, *, most: int | None = None
    ) -> TaskPushNotificationConfig:
        """Add a configuration, or change the one of that id."""
        config_id = config.id or self._ids.new()
        kept = config.model_copy(update={"id": config_id, "task_id": wire_id})
        async with self._pool.transaction() as connection:
            key = await _held(connection, scope, wire_id)
            if most is not None:
                plan.check_room(await connection.fetchval(SQL["other_configs"], key, config_id), most)
            await connection.execute(SQL["put_config"], key, config_id, dialect, kept.to_json())
            await connection.execute(SQL["count_configs"], key)
        return kept

    async def get_push_config(self, scope: Scope, wire_id: str, config_id: str) -> TaskPushNotificationConfig | None:
        """Read one configuration."""
        row = await self._pool.row(SQL["get_config"], await self._key(scope, wire_id), config_id)
        return None if row is None else TaskPushNotificationConfig.model_validate_json(row["body"])

    async def list_push_configs(
        self, scope: Scope, wire_id: str, page_size: int = 100, page_token: str = ""
    ) -> tuple[Sequence[TaskPushNotificationConfig], str]:
        """Read a page of configurations, by their ids."""
        after = cursor.config_place(page_size, page_token, wire_id)
        found = await self._pool.rows(SQL["list_configs"], await self._key(scope, wire_id), after, page_size + 1)
        page = found[:page_size]
        token = cursor.token((page[-1]["config_id"],), wire_id) if len(found) > len(page) else ""
        return [TaskPushNotificationConfig.model_validate_json(row["body"]) for row in page], token

    async def delete_push_config(self, scope: Scope, wire_id: str, config_id: str) -> bool:
        """Delete a configuration and what is still due for it."""
        async with self._pool.transaction() as connection:
            key = await _held(connection, scope, wire_id)
            deleted = await connection.fetch(SQL["delete_config"], key, config_id)
            await connection.execute(SQL["count_configs"], key)
        return bool(deleted)

    async def push_failures(self, scope: Scope, wire_id: str) -> Mapping[str, PushFailure]:
        """Say which configurations have failed."""
        found = await self._pool.rows(SQL["failures"], await self._key(scope, wire_id))
        return {row["config_id"]: PushFailure(moment(row["failed_at"]), row["failure"]) for row in found}

    async def due(self, lease_seconds: float, limit: int = 32, surfaces: Collection[str] | None = None) -> Sequence[Delivery]:
        """Take deliveries that are due."""
        now, of = self._clock.millis(), None if surfaces is None else [*surfaces]
        taken = await self._pool.rows(SQL["take_due"], now, now + round(lease_seconds * 1000), limit, of)
        if not taken:
            return []
        tasks = await self._load([row["key"] for row in taken])
        return [
            Delivery(
                id=row["id"],
                attempts=row["attempts"],
                config=TaskPushNotificationConfig.model_validate_json(row["config"]),
                dialect=row["dialect"],
                event=rows.event(row),
                stored=tasks[str(row["key"])],
            )
            for row in taken
            if str(row["key"]) in tasks
        ]

    async def settle(self, delivery: Delivery) -> bool:
        """Be done with a delivery."""
        return bool(await self._pool.rows(SQL["settle"], delivery.id, delivery.attempts))

    async def retry(self, delivery: Delivery, after_seconds: float) -> bool:
        """Put a delivery off."""
        at = self._clock.millis() + round(after_seconds * 1000)
        return bool(await self._pool.rows(SQL["retry"], delivery.id, delivery.attempts, at))

    async def give_up(self, delivery: Delivery, reason: str) -> bool:
        """Mark the configuration as failed."""
        return bool(await self._pool.rows(SQL["give_up"], delivery.id, delivery.attempts, self._clock.millis(), reason))


async def _held(connection: Connection, scope: Scope, wire_id: str) -> UUID:
    key: UUID | None = await connection.fetchval(SQL["hold_task"], scope.to_text(), wire_id)
    if key is None:
        raise TaskNotFoundError(details={"task_id": wire_id})
    return key
