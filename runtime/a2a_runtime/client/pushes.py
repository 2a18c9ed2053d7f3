"""The webhooks of a task."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeAlias

from a2a_contract.operations import (
    CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
    DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
    GET_TASK_PUSH_NOTIFICATION_CONFIG,
    LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
)
from a2a_contract.v1_0 import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    Task,
    TaskPushNotificationConfig,
)
from a2a_runtime.client.line import AgentLine

SomeTask: TypeAlias = Task | str
"""A task, or its id."""


def id_of(task: SomeTask) -> str:
    """Name a task."""
    return task.id if isinstance(task, Task) else task


class PushConfigs:
    """Who is told about a task; ``client.push_configs``."""

    def __init__(self, line: AgentLine) -> None:
        self._line = line

    async def create(self, task: SomeTask, config: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
        """Have the updates of a task delivered to a URL; the answer names the configuration."""
        request = config.model_copy(update={"task_id": id_of(task)})
        return await self._line.call(CREATE_TASK_PUSH_NOTIFICATION_CONFIG, request, TaskPushNotificationConfig)

    async def get(self, task: SomeTask, config_id: str) -> TaskPushNotificationConfig:
        """Read one configuration."""
        request = GetTaskPushNotificationConfigRequest(task_id=id_of(task), id=config_id)
        return await self._line.call(GET_TASK_PUSH_NOTIFICATION_CONFIG, request, TaskPushNotificationConfig)

    async def list(self, task: SomeTask) -> AsyncIterator[TaskPushNotificationConfig]:
        """Give all configurations of a task, page by page."""
        token: str | None = None
        while True:
            request = ListTaskPushNotificationConfigsRequest(task_id=id_of(task), page_token=token)
            page = await self._line.call(LIST_TASK_PUSH_NOTIFICATION_CONFIGS, request, ListTaskPushNotificationConfigsResponse)
            for config in page.configs or ():
                yield config
            if not page.next_page_token or page.next_page_token == token:
                return
            token = page.next_page_token

    async def delete(self, task: SomeTask, config_id: str) -> None:
        """Have nothing more delivered to a URL."""
        await self._line.tell(DELETE_TASK_PUSH_NOTIFICATION_CONFIG, DeleteTaskPushNotificationConfigRequest(task_id=id_of(task), id=config_id))
