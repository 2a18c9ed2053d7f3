"""Push configurations and what is due for them, in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from a2a_contract.dialects import CANONICAL
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.caller import Scope
from a2a_runtime.clock import moment
from a2a_runtime.stores import cursor, plan
from a2a_runtime.stores.memory.base import Mailbox, MemoryBase
from a2a_runtime.stores.values import Delivery, PushFailure


class MemoryPushes(MemoryBase):
    """Keeps the configurations of a task, and hands out what is due."""

    async def put_push_config(
        self, scope: Scope, wire_id: str, config: TaskPushNotificationConfig, dialect: str = CANONICAL.name, *, most: int | None = None
    ) -> TaskPushNotificationConfig:
        """Add a configuration, or change the one of that id."""
        row = self._need(scope, wire_id)
        plan.check_room(len(self._mailboxes.get(row.key, {}).keys() - {config.id}), most)
        return self._subscribe(row, config, dialect)

    async def get_push_config(self, scope: Scope, wire_id: str, config_id: str) -> TaskPushNotificationConfig | None:
        """Read one configuration."""
        mailbox = self._of(scope, wire_id).get(config_id)
        return None if mailbox is None else mailbox.config

    async def list_push_configs(
        self, scope: Scope, wire_id: str, page_size: int = 100, page_token: str = ""
    ) -> tuple[Sequence[TaskPushNotificationConfig], str]:
        """Read a page of configurations, by their ids."""
        after = cursor.config_place(page_size, page_token, wire_id)
        mailboxes = self._of(scope, wire_id)
        ids = sorted(config_id for config_id in mailboxes if config_id > after)
        page = ids[:page_size]
        return [mailboxes[config_id].config for config_id in page], cursor.token((page[-1],), wire_id) if len(ids) > len(page) else ""

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
