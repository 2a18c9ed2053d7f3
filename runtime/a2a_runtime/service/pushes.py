"""Push configurations: which webhooks hear of a task. What is sent to them, and when, is not decided here.

The credentials of a webhook are told to nobody, not even to who gave them. Its token is read by an owner who is one person; in a team, and where
callers cannot be told apart, they would read each other's.
"""

from __future__ import annotations

from collections.abc import Sequence

from a2a_contract.base import Encoded
from a2a_contract.errors import InvalidParamsError, TaskNotFoundError
from a2a_contract.v1_0 import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    TaskPushNotificationConfig,
)
from a2a_runtime.caller import Scope
from a2a_runtime.push.secret import opened
from a2a_runtime.service.base import ServiceBase
from a2a_runtime.service.call import Call
from a2a_runtime.service.order import need_push_notifications
from a2a_runtime.stores.cursor import MAX_PAGE


class Pushes(ServiceBase):
    """Keeps the webhooks of tasks."""

    async def create_task_push_notification_config(self, request: TaskPushNotificationConfig, call: Call) -> Encoded[TaskPushNotificationConfig]:
        """Add a webhook to a task, or change the one of that id."""
        scope = _open(call, request.tenant)
        if not request.task_id:
            raise InvalidParamsError(fields=((TaskPushNotificationConfig.wire_name("task_id"), "Field required"),))
        self._check(request)
        config = self._sealed(request, scope, request.task_id)
        kept = await self._store.put_push_config(scope, request.task_id, config, call.dialect, most=call.surface.limits.webhooks)
        return Encoded.of(without_credentials(kept.model_copy(update={"token": request.token})))

    async def get_task_push_notification_config(
        self, request: GetTaskPushNotificationConfigRequest, call: Call
    ) -> Encoded[TaskPushNotificationConfig]:
        """Read one webhook of a task; the first one where the dialect lets a client name none."""
        scope = _open(call, request.tenant)
        if request.id:
            config = await self._store.get_push_config(scope, request.task_id, request.id)
        else:
            config = next(iter((await self._store.list_push_configs(scope, request.task_id, 1))[0]), None)
        if config is None:
            raise TaskNotFoundError("Push notification configuration not found", details={"task_id": request.task_id, "config_id": request.id})
        return Encoded.of(self._shown(config, call, scope))

    async def list_task_push_notification_configs(
        self, request: ListTaskPushNotificationConfigsRequest, call: Call
    ) -> Encoded[ListTaskPushNotificationConfigsResponse]:
        """List the webhooks of a task: a page, or all of them for a client that does not ask for pages."""
        scope = _open(call, request.tenant)
        if request.page_size is None and not request.page_token:
            configs, token = await self._all(scope, request.task_id), ""
        else:
            size = MAX_PAGE if request.page_size is None else request.page_size
            configs, token = await self._store.list_push_configs(scope, request.task_id, size, request.page_token or "")
        shown = [self._shown(config, call, scope) for config in configs]
        return Encoded.of(ListTaskPushNotificationConfigsResponse(configs=shown, next_page_token=token))

    async def delete_task_push_notification_config(self, request: DeleteTaskPushNotificationConfigRequest, call: Call) -> None:
        """Delete a webhook, if it is there."""
        await self._store.delete_push_config(_open(call, request.tenant), request.task_id, request.id)

    def _shown(self, config: TaskPushNotificationConfig, call: Call, scope: Scope) -> TaskPushNotificationConfig:
        shown = without_credentials(config)
        if not call.caller.owns_alone:
            return shown.model_copy(update={"token": None})
        return opened(shown, self._means.vault, scope, config.task_id or "")

    async def _all(self, scope: Scope, wire_id: str) -> Sequence[TaskPushNotificationConfig]:
        configs, token = await self._store.list_push_configs(scope, wire_id, MAX_PAGE)
        found = [*configs]
        while token:
            configs, token = await self._store.list_push_configs(scope, wire_id, MAX_PAGE, token)
            found += configs
        return found


def without_credentials(config: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
    """Show a configuration without its secret."""
    if config.authentication is None or config.authentication.credentials is None:
        return config
    return config.model_copy(update={"authentication": config.authentication.model_copy(update={"credentials": None})})


def _open(call: Call, tenant: str | None) -> Scope:
    need_push_notifications(call.surface)
    return call.scope(tenant)
