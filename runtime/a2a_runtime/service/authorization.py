"""A service behind a policy: teams and roles, beyond what belongs to whom, and what skills require of who has to do with their tasks.

    async def may(caller, action, task):
        return action != "CancelTask" or "boss" in caller.roles

    Surface(agent, gate=…, policy=may)

``action`` is the name of an operation in the canonical dialect, ``task`` the one that it is about, as it is now, or ``None``. A policy only takes
away: whose tasks there are at all is decided before it is asked. A task that somebody may not even read does not exist for them, is in none of their
lists, and no message can refer to it. Since a handler reads all of its conversation, only who may read every task in it may send a message there; a
task of which only messages are left is asked about with those, in no state.

What a skill requires is required of whoever reads, follows or cancels its tasks too: a token that may not use it does not get at its results.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from inspect import isawaitable
from typing import Protocol

from a2a_contract import v1_0
from a2a_contract.base import Encoded
from a2a_contract.binding import Operation
from a2a_contract.errors import PermissionDeniedError, TaskNotFoundError
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
from a2a_contract.v1_0 import Message, StreamResponse, Task, TaskState, TaskStatus
from a2a_runtime.caller import TaskScope
from a2a_runtime.logs import audit
from a2a_runtime.service.context import CallContext
from a2a_runtime.service.validation import require_permission
from a2a_runtime.stores.base import ContextStore, StoredTask, TaskQuery, TaskStore
from a2a_runtime.stores.pagination import MAX_PAGE_SIZE


class TaskLookup(TaskStore, ContextStore, Protocol):
    """What of a store a policy is asked about."""


class AuthorizingService(AgentService[CallContext]):
    """Asks a policy before it asks a service."""

    def __init__(self, service: AgentService[CallContext], store: TaskLookup, *, has_client_task_ids: bool = False) -> None:
        self._service, self._store = service, store
        self._has_client_task_ids = has_client_task_ids

    async def send_message(self, request: v1_0.SendMessageRequest, context: CallContext) -> Encoded[v1_0.SendMessageResponse]:
        """Take a message, if it may be sent."""
        return await self._service.send_message(await self._authorize_message(SEND_MESSAGE, request, context), context)

    async def send_streaming_message(self, request: v1_0.SendMessageRequest, context: CallContext) -> AsyncGenerator[Event[StreamResponse], None]:
        """Take a message, if it may be sent, and yield what comes of it."""
        permitted = await self._authorize_message(SEND_STREAMING_MESSAGE, request, context)
        async with aclosing(_passed(self._service.send_streaming_message(permitted, context))) as events:
            async for event in events:
                yield event

    async def get_task(self, request: v1_0.GetTaskRequest, context: CallContext) -> Encoded[Task]:
        """Read a task."""
        await self._authorize(GET_TASK, context, request.tenant, request.id)
        return await self._service.get_task(request, context)

    async def list_tasks(self, request: v1_0.ListTasksRequest, context: CallContext) -> Encoded[v1_0.ListTasksResponse]:
        """List the tasks that may be read; a page may so have fewer than it could, and only those are counted."""
        await self._authorize(LIST_TASKS, context, request.tenant)
        answer = await self._service.list_tasks(request, context)
        if _is_unrestricted(context):
            return answer
        scope, page = context.task_scope(request.tenant), answer.model
        seen = [task for task in page.tasks if await self._can_use_skill(context, scope, task.id) and await is_allowed(context, GET_TASK, task)]
        return Encoded.of(page.model_copy(update={"tasks": seen, "total_size": len(seen)}))

    async def cancel_task(self, request: v1_0.CancelTaskRequest, context: CallContext) -> Encoded[Task]:
        """Stop a task."""
        await self._authorize(CANCEL_TASK, context, request.tenant, request.id)
        return await self._service.cancel_task(request, context)

    async def subscribe_to_task(self, request: v1_0.SubscribeToTaskRequest, context: CallContext) -> AsyncGenerator[Event[StreamResponse], None]:
        """Follow a task."""
        await self._authorize(SUBSCRIBE_TO_TASK, context, request.tenant, request.id)
        async with aclosing(_passed(self._service.subscribe_to_task(request, context))) as events:
            async for event in events:
                yield event

    async def create_task_push_notification_config(
        self, request: v1_0.TaskPushNotificationConfig, context: CallContext
    ) -> Encoded[v1_0.TaskPushNotificationConfig]:
        """Add a webhook."""
        await self._authorize(CREATE_TASK_PUSH_NOTIFICATION_CONFIG, context, request.tenant, request.task_id)
        return await self._service.create_task_push_notification_config(request, context)

    async def get_task_push_notification_config(
        self, request: v1_0.GetTaskPushNotificationConfigRequest, context: CallContext
    ) -> Encoded[v1_0.TaskPushNotificationConfig]:
        """Read a webhook."""
        await self._authorize(GET_TASK_PUSH_NOTIFICATION_CONFIG, context, request.tenant, request.task_id)
        return await self._service.get_task_push_notification_config(request, context)

    async def list_task_push_notification_configs(
        self, request: v1_0.ListTaskPushNotificationConfigsRequest, context: CallContext
    ) -> Encoded[v1_0.ListTaskPushNotificationConfigsResponse]:
        """List webhooks."""
        await self._authorize(LIST_TASK_PUSH_NOTIFICATION_CONFIGS, context, request.tenant, request.task_id)
        return await self._service.list_task_push_notification_configs(request, context)

    async def delete_task_push_notification_config(self, request: v1_0.DeleteTaskPushNotificationConfigRequest, context: CallContext) -> None:
        """Delete a webhook."""
        await self._authorize(DELETE_TASK_PUSH_NOTIFICATION_CONFIG, context, request.tenant, request.task_id)
        await self._service.delete_task_push_notification_config(request, context)

    async def get_extended_agent_card(self, request: v1_0.GetExtendedAgentCardRequest, context: CallContext) -> Encoded[v1_0.AgentCard]:
        """Read the card for known callers."""
        await self._authorize(GET_EXTENDED_AGENT_CARD, context, request.tenant)
        return await self._service.get_extended_agent_card(request, context)

    async def _authorize_message(self, action: Operation, request: v1_0.SendMessageRequest, context: CallContext) -> v1_0.SendMessageRequest:
        """Refuse a message that may not be sent, and take away from one that may what it may not refer to."""
        message, scope = request.message, context.task_scope(request.tenant)
        task = await self._authorize(action, context, request.tenant, message.task_id)
        if task is None and self._has_client_task_ids and message.task_id:
            await self._authorize(action, context, request.tenant)
        context_id = message.context_id if task is None else task.context_id
        if context_id and context.surface.policy is not None and not await self._can_read_conversation(context, scope, context_id):
            raise PermissionDeniedError("The caller may not read all of this conversation")
        if not message.reference_task_ids or _is_unrestricted(context):
            return request
        referred = [await self._store.load_task(scope, each) for each in message.reference_task_ids]
        there = [stored for stored in referred if stored is not None and _can_use_skill_of_task(stored, context)]
        readable = [stored.wire_id for stored in there if await is_allowed(context, GET_TASK, stored.task.model)]
        return request.model_copy(update={"message": message.model_copy(update={"reference_task_ids": readable})})

    async def _can_read_conversation(self, context: CallContext, scope: TaskScope, context_id: str) -> bool:
        """Whether a caller may read all that a handler can read of a conversation."""
        there: set[str] = set()
        query = TaskQuery(context_id, page_size=MAX_PAGE_SIZE)
        while True:
            page = await self._store.list_tasks(scope, query)
            for stored in page.tasks:
                there.add(stored.wire_id)
                if not await is_allowed(context, GET_TASK, stored.task.model):
                    return False
            if not page.next_page_token:
                break
            query = replace(query, page_token=page.next_page_token)
        left = [each for each in await self._store.load_conversation(scope, context_id) if each.task_id not in there]
        gone = dict.fromkeys(each.task_id for each in left)
        return all([await is_allowed(context, GET_TASK, _build_deleted_task(name or "", context_id, left)) for name in gone])

    async def _can_use_skill(self, context: CallContext, scope: TaskScope, task_id: str) -> bool:
        stored = await self._store.load_task(scope, task_id, 0, include_artifacts=False)
        return stored is not None and _can_use_skill_of_task(stored, context)

    async def _authorize(self, action: Operation, context: CallContext, tenant: str | None, task_id: str | None = None) -> Task | None:
        if _is_unrestricted(context):
            return None
        stored = await self._store.load_task(context.task_scope(tenant), task_id) if task_id else None
        if task_id and stored is None:
            return None  # the service says so, in its own words
        task = None if stored is None else stored.task.model
        if not await is_allowed(context, action, task):
            if stored is None or (action is not GET_TASK and await is_allowed(context, GET_TASK, task)):
                raise PermissionDeniedError
            raise _to_hidden_error(context, action, stored)
        skill = None if stored is None else context.surface.skills.get(stored.skill)
        if stored is not None and skill is not None:
            if not skill.is_visible_to(context.caller):
                raise _to_hidden_error(context, action, stored)
            require_permission(skill, context)
        return task


def _is_unrestricted(context: CallContext) -> bool:
    """Whether nothing of what is theirs is kept from a caller: there is no policy, and no skill that they may not use."""
    return context.surface.policy is None and all(each.is_usable_by(context.caller) for each in context.surface.skills.values())


def _can_use_skill_of_task(stored: StoredTask, context: CallContext) -> bool:
    skill = context.surface.skills.get(stored.skill)
    return skill is None or skill.is_usable_by(context.caller)


def _to_hidden_error(context: CallContext, action: Operation, stored: StoredTask) -> TaskNotFoundError:
    """Tell that there is nothing; who is told so is denied something all the same."""
    caller = context.caller
    audit("denied", caller=caller.owner, tenant=caller.tenant, action=action.name, task=stored.wire_id, reason="hidden from the caller")
    return TaskNotFoundError(details={"task_id": stored.wire_id})


async def is_allowed(context: CallContext, action: Operation, task: Task | None) -> bool:
    """Ask the policy of a surface, if it has one."""
    policy = context.surface.policy
    if policy is None:
        return True
    answer = policy(context.caller, action.name, task)
    return await answer if isawaitable(answer) else answer


def _build_deleted_task(task_id: str, context_id: str, messages: Sequence[Message]) -> Task:
    """Show what is left of a task that is no more."""
    said = [each for each in messages if (each.task_id or "") == task_id]
    return Task(id=task_id, context_id=context_id, status=TaskStatus(state=TaskState.UNSPECIFIED), history=said)


async def _passed(events: AsyncIterator[Event[StreamResponse]]) -> AsyncGenerator[Event[StreamResponse], None]:
    """Pass events on, and end with whoever reads them."""
    try:
        async for event in events:
            yield event
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()
