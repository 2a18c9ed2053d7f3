"""Push configurations and the outbox of their deliveries, of the stores that keep them in SQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter

from a2a_contract.dialects import CANONICAL
from a2a_contract.errors import TaskNotFoundError
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.clock import to_datetime
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.fragments import TaskRow
from a2a_runtime.stores.models import (
    Delivery,
    PushFailure,
    StoredTask,
)
from a2a_runtime.stores.sql_statements import SqlStatements, SqlTransaction, lock_task, to_list


class SqlWebhooks(SqlStatements):
    """Webhooks of tasks: their configurations, and what is to be sent to them."""

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
        config = changes.bind_config(config, wire_id, self._ids)

        async def put(transaction: SqlTransaction) -> None:
            key = await lock_task(transaction, scope, wire_id)
            if max_configs is not None:
                (others,) = await transaction.fetch(
                    "count_other_configs", key=key, config_id=config.id
                )
                changes.check_webhook_limit(others["number"], max_configs)
            await transaction.fetch(
                "put_config", key=key, config_id=config.id, dialect=dialect, body=config.to_json()
            )

        await self._transact(put)
        return config

    async def get_push_config(
        self, scope: TaskScope, wire_id: str, config_id: str
    ) -> TaskPushNotificationConfig | None:
        """Read one configuration."""
        rows = await self._fetch_configs("load_config", scope, wire_id, config_id=config_id)
        if rows:
            return _parse_config(rows[0]["body"])
        return None

    async def list_push_configs(
        self, scope: TaskScope, wire_id: str, page_size: int = 100, page_token: str = ""
    ) -> tuple[Sequence[TaskPushNotificationConfig], str]:
        """Read a page of configurations, by their ids."""
        after = pagination.parse_config_token(page_size, page_token, wire_id)
        rows = await self._fetch_configs(
            "list_configs", scope, wire_id, after=after, limit=page_size + 1
        )
        page = rows[:page_size]
        next_token = ""
        if len(rows) > len(page):
            next_token = pagination.encode_page_token((page[-1]["config_id"],), wire_id)
        return [_parse_config(row["body"]) for row in page], next_token

    async def delete_push_config(self, scope: TaskScope, wire_id: str, config_id: str) -> bool:
        """Delete a configuration and its pending deliveries."""

        async def delete(transaction: SqlTransaction) -> bool:
            key = await lock_task(transaction, scope, wire_id)
            return bool(await transaction.fetch("delete_config", key=key, config_id=config_id))

        return await self._transact(delete)

    async def list_push_failures(self, scope: TaskScope, wire_id: str) -> Mapping[str, PushFailure]:
        """Return the configurations that have failed."""
        rows = await self._fetch_configs("list_failed_configs", scope, wire_id)
        return {
            row["config_id"]: PushFailure(to_datetime(row["failed_at"]), row["failure"])
            for row in rows
        }

    async def _fetch_configs(
        self, section: str, scope: TaskScope, wire_id: str, **parameters: object
    ) -> Sequence[TaskRow]:
        """Run a statement that joins configurations to their task: a task without any is one row of
        nulls.
        """
        rows = await self._fetch(section, scope=scope.to_text(), wire_id=wire_id, **parameters)
        if not rows:
            raise TaskNotFoundError(details={"task_id": wire_id})
        return [row for row in rows if row["config_id"] is not None]

    # Deliveries

    async def claim_due(
        self, lease_seconds: float, limit: int = 32, surfaces: Collection[str] | None = None
    ) -> Sequence[Delivery]:
        """Claim deliveries that are due."""
        now = self._clock.millis()
        until = now + round(lease_seconds * 1000)
        rows = await self._execute(
            "claim_due", now=now, until=until, limit=limit, surfaces=to_list(surfaces)
        )
        if not rows:
            return []
        tasks = await self._load_tasks([str(row["key"]) for row in rows])
        ordered = sorted(rows, key=itemgetter("id"))
        return [
            _to_delivery(row, tasks[str(row["key"])]) for row in ordered if str(row["key"]) in tasks
        ]

    async def count_deliveries(self) -> int:
        """Count the deliveries in the outbox, due or not."""
        (row,) = await self._fetch("count_deliveries")
        return int(str(row["number"]))

    async def mark_delivered(self, delivery: Delivery) -> bool:
        """Remove a delivery from the outbox."""
        return bool(
            await self._execute("mark_delivered", id=delivery.id, attempts=delivery.attempts)
        )

    async def retry(self, delivery: Delivery, after_seconds: float) -> bool:
        """Postpone a delivery."""
        due_at = self._clock.millis() + round(after_seconds * 1000)
        return bool(
            await self._execute("retry", id=delivery.id, attempts=delivery.attempts, due_at=due_at)
        )

    async def mark_failed(self, delivery: Delivery, reason: str) -> bool:
        """Mark the configuration as failed and drop its deliveries."""
        claim = {"id": delivery.id, "attempts": delivery.attempts}

        async def mark(transaction: SqlTransaction) -> bool:
            await transaction.fetch(
                "mark_config_failed", **claim, now=self._clock.millis(), reason=reason
            )
            return bool(await transaction.fetch("drop_deliveries", **claim))

        return await self._transact(mark)


def _parse_config(body: bytes) -> TaskPushNotificationConfig:
    return TaskPushNotificationConfig.model_validate_json(body)


def _to_delivery(row: TaskRow, stored: StoredTask) -> Delivery:
    return Delivery(
        row["id"],
        row["attempts"],
        _parse_config(row["config"]),
        row["dialect"],
        fragments.to_logged_event(row),
        stored,
    )
