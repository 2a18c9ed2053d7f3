"""A service behind a policy: teams and roles, beyond what belongs to whom.

    async def may(caller, action, task):
        return action != "CancelTask" or "boss" in caller.roles

    Surface(agent, gate=…, policy=may)

``action`` is the name of an operation in the canonical dialect, ``task`` the one that it is about, as it is now, or ``None``. A policy only takes
away: whose tasks there are at all is decided before it is asked. A task that somebody may not even read does not exist for them, and is in none of
their lists.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from inspect import isawaitable

from a2a_contract import v1_0
from a2a_contract.base import Encoded
from a2a_contract.errors import PermissionDeniedError, TaskNotFoundError
from a2a_contract.operation import Operation
from a2a_contract.operations import (
    CANCEL_TASK,
    CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
    DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
    GET_EXTENDED_AGENT_CARD,
    GET_TASK,
    GET_TASK_PUSH_NOTIFICATION_CONFIG,
    LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
    LIST_TASKS,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
    SUBSCRIBE_TO_TASK,
)
from a2a_contract.service import AgentService, Event
from a2a_contract.v1_0 import StreamResponse, Task
from a2a_runtime.auth.audit import record
from a2a_runtime.service.call import Call
from a2a_runtime.stores.port import TaskStore
from a2a_runtime.surface import Policy


class PolicedService(AgentService[Call]):
    """Asks a policy before it asks a service."""

    def __init__(self, service: AgentService[Call], store: TaskStore, policy: Policy) -> None:
        self._service, self._store, self._policy = service, store, policy

    async def send_message(self, request: v1_0.SendMessageRequest, call: Call) -> Encoded[v1_0.SendMessageResponse]:
        """Take a message, if it may be sent."""
        await self._permit(SEND_MESSAGE, call, request.tenant, request.message.task_id)
        return await self._service.send_message(request, call)

    async def send_streaming_message(self, request: v1_0.SendMessageRequest, call: Call) -> AsyncGenerator[Event[StreamResponse], None]:
        """Take a message, if it may be sent, and yield what comes of it."""
        await self._permit(SEND_STREAMING_MESSAGE, call, request.tenant, request.message.task_id)
        async with aclosing(_passed(self._service.send_streaming_message(request, call))) as events:
            async for event in events:
                yield event

    async def get_task(self, request: v1_0.GetTaskRequest, call: Call) -> Encoded[Task]:
        """Read a task."""
        await self._permit(GET_TASK, call, request.tenant, request.id)
        return await self._service.get_task(request, call)

    async def list_tasks(self, request: v1_0.ListTasksRequest, call: Call) -> Encoded[v1_0.ListTasksResponse]:
        """List the tasks that may be read; a page may so have fewer than it could."""
        await self._permit(LIST_TASKS, call, request.tenant)
        page = (await self._service.list_tasks(request, call)).model
        seen = [task for task in page.tasks if await self._may(call, GET_TASK, task)]
        return Encoded.of(page.model_copy(update={"tasks": seen, "total_size": page.total_size - len(page.tasks) + len(seen)}))

    async def cancel_task(self, request: v1_0.CancelTaskRequest, call: Call) -> Encoded[Task]:
        """Stop a task."""
        await self._permit(CANCEL_TASK, call, request.tenant, request.id)
        return await self._service.cancel_task(request, call)

    async def subscribe_to_task(self, request: v1_0.SubscribeToTaskRequest, call: Call) -> AsyncGenerator[Event[StreamResponse], None]:
        """Follow a task."""
        await self._permit(SUBSCRIBE_TO_TASK, call, request.tenant, request.id)
        async with aclosing(_passed(self._service.subscribe_to_task(request, call))) as events:
            async for event in events:
                yield event

    async def create_task_push_notification_config(
        self, request: v1_0.TaskPushNotificationConfig, call: Call
    ) -> Encoded[v1_0.TaskPushNotificationConfig]:
        """Add a webhook."""
        await self._permit(CREATE_TASK_PUSH_NOTIFICATION_CONFIG, call, request.tenant, request.task_id)
        return await self._service.create_task_push_notification_config(request, call)

    async def get_task_push_notification_config(
        self, request: v1_0.GetTaskPushNotificationConfigRequest, call: Call
    ) -> Encoded[v1_0.TaskPushNotificationConfig]:
        """Read a webhook."""
        await self._permit(GET_TASK_PUSH_NOTIFICATION_CONFIG, call, request.tenant, request.task_id)
        return await self._service.get_task_push_notification_config(request, call)

    async def list_task_push_notification_configs(
        self, request: v1_0.ListTaskPushNotificationConfigsRequest, call: Call
    ) -> Encoded[v1_0.ListTaskPushNotificationConfigsResponse]:
        """List webhooks."""
        await self._permit(LIST_TASK_PUSH_NOTIFICATION_CONFIGS, call, request.tenant, request.task_id)
        return await self._service.list_task_push_notification_configs(request, call)

    async def delete_task_push_notification_config(self, request: v1_0.DeleteTaskPushNotificationConfigRequest, call: Call) -> None:
        """Delete a webhook."""
        await self._permit(DELETE_TASK_PUSH_NOTIFICATION_CONFIG, call, request.tenant, request.task_id)
        await self._service.delete_task_push_notification_config(request, call)

    async def get_extended_agent_card(self, request: v1_0.GetExtendedAgentCardRequest, call: Call) -> Encoded[v1_0.AgentCard]:
        """Read the card for known callers."""
        await self._permit(GET_EXTENDED_AGENT_CARD, call, request.tenant)
        return await self._service.get_extended_agent_card(request, call)

    async def _permit(self, action: Operation, call: Call, tenant: str | None, task_id: str | None = None) -> None:
        task: Task | None = None
        if task_id:
            stored = await self._store.load_task(call.scope(tenant), task_id)
            if stored is None:
                return  # the service says so, in its own words
            task = stored.task.model
        if await self._may(call, action, task):
            return
        if task is not None and (action is GET_TASK or not await self._may(call, GET_TASK, task)):
            caller = call.caller  # who is told that there is nothing is denied something all the same
            record("denied", caller=caller.owner, tenant=caller.tenant, action=action.name, task=task_id or "", reason="hidden by the policy")
            raise TaskNotFoundError(details={"task_id": task_id or ""})
        raise PermissionDeniedError

    async def _may(self, call: Call, action: Operation, task: Task | None) -> bool:
        answer = self._policy(call.caller, action.name, task)
        return await answer if isawaitable(answer) else answer


async def _passed(events: AsyncIterator[Event[StreamResponse]]) -> AsyncGenerator[Event[StreamResponse], None]:
    """Pass events on, and end with whoever reads them."""
    try:
        async for event in events:
            yield event
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()
