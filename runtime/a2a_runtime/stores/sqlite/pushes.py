"""Push configurations and what is due for them, in SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence

from a2a_contract.dialects import CANONICAL
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.caller import Scope
from a2a_runtime.clock import moment
from a2a_runtime.stores import cursor, plan
from a2a_runtime.stores.sqlite import writes
from a2a_runtime.stores.sqlite.base import SqliteBase, load_by_key, need_key
from a2a_runtime.stores.sqlite.connection import SQL
from a2a_runtime.stores.values import Delivery, LoggedEvent, PushFailure


class SqlitePushes(SqliteBase):
    """Keeps the configurations of a task, and hands out what is due."""

    async def put_push_config(
        self, scope: Scope, wire_id: str, config: TaskPushNotificationConfig, dialect: str = CANONICAL.name, *, most: int | None = None
    ) -> TaskPushNotificationConfig:
        """Add a configuration, or change the one of that id."""
        config = writes.named(config, wire_id, self._ids)

        def put(db: sqlite3.Connection) -> TaskPushNotificationConfig:
            key = need_key(db, scope, wire_id)
            if most is not None:
                plan.check_room(db.execute(SQL["other_configs"], {"key": key, "config_id": config.id}).fetchone()[0], most)
            return writes.put_config(db, key, config, dialect)

        return await self._write(put)

    async def get_push_config(self, scope: Scope, wire_id: str, config_id: str) -> TaskPushNotificationConfig | None:
        """Read one configuration."""

        def load(db: sqlite3.Connection) -> bytes | None:
            row = db.execute(SQL["load_config"], {"key": need_key(db, scope, wire_id), "config_id": config_id}).fetchone()
            return None if row is None else row["body"]

        body = await self._read(load)
        return None if body is None else TaskPushNotificationConfig.model_validate_json(body)

    async def list_push_configs(
        self, scope: Scope, wire_id: str, page_size: int = 100, page_token: str = ""
    ) -> tuple[Sequence[TaskPushNotificationConfig], str]:
        """Read a page of configurations, by their ids."""
        after = cursor.config_place(page_size, page_token, wire_id)

        def page(db: sqlite3.Connection) -> list[sqlite3.Row]:
            where = {"key": need_key(db, scope, wire_id), "after": after, "limit": page_size + 1}
            return db.execute(SQL["page_of_configs"], where).fetchall()

        rows = await self._read(page)
        shown = rows[:page_size]
        token = cursor.token((shown[-1]["config_id"],), wire_id) if len(rows) > len(shown) else ""
        return [TaskPushNotificationConfig.model_validate_json(row["body"]) for row in shown], token

    async def delete_push_config(self, scope: Scope, wire_id: str, config_id: str) -> bool:
        """Delete a configuration and what is still due for it."""

        def delete(db: sqlite3.Connection) -> bool:
            return db.execute(SQL["delete_config"], {"key": need_key(db, scope, wire_id), "config_id": config_id}).rowcount > 0

        return await self._write(delete)

    async def push_failures(self, scope: Scope, wire_id: str) -> Mapping[str, PushFailure]:
        """Say which configurations have failed."""
        rows = await self._read(lambda db: db.execute(SQL["failed_configs"], {"key": need_key(db, scope, wire_id)}).fetchall())
        return {row["config_id"]: PushFailure(moment(row["failed_at"]), row["failure"]) for row in rows}

    async def due(self, lease_seconds: float, limit: int = 32, surfaces: Collection[str] | None = None) -> Sequence[Delivery]:
        """Take deliveries that are due."""
        now = self._options.clock.millis()
        which = {"now": now, "limit": limit, "surfaces": None if surfaces is None else json.dumps([*surfaces])}
        return await self._write(lambda db: self._take(db, which, now + round(lease_seconds * 1000)))

    @staticmethod
    def _take(db: sqlite3.Connection, which: Mapping[str, object], until: int) -> Sequence[Delivery]:
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

    async def settle(self, delivery: Delivery) -> bool:
        """Be done with a delivery."""
        mine = {"id": delivery.id, "attempts": delivery.attempts}
        return await self._write(lambda db: db.execute(SQL["settle"], mine).rowcount > 0)

    async def retry(self, delivery: Delivery, after_seconds: float) -> bool:
        """Put a delivery off."""
        until = self._options.clock.millis() + round(after_seconds * 1000)
        mine = {"id": delivery.id, "attempts": delivery.attempts, "until": until}
        return await self._write(lambda db: db.execute(SQL["put_off"], mine).rowcount > 0)

    async def give_up(self, delivery: Delivery, reason: str) -> bool:
        """Mark the configuration as failed."""
        mine = {"id": delivery.id, "attempts": delivery.attempts, "at": self._options.clock.millis(), "reason": reason}

        def mark(db: sqlite3.Connection) -> bool:
            db.execute(SQL["mark_failed"], mine)
            return db.execute(SQL["drop_due"], mine).rowcount > 0

        return await self._write(mark)
