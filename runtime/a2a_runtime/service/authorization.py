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
from a2a_runtime.caller import Scope
from a2a_runtime.logs import record
from a2a_runtime.service.context import Call
from a2a_runtime.service.validation import need_permission
from a2a_runtime.stores.base import ContextStore, StoredTask, TaskQuery, TaskStore
from a2a_runtime.stores.pagination import MAX_PAGE


class Tasks(TaskStore, ContextStore, Protocol):
    """What of a store a policy is asked about."""


class PolicedService(AgentService[Call]):
    """Asks a policy before it asks a service."""

    def __init__(self, service: AgentService[Call], store: Tasks, *, senders_name_tasks: bool = False) -> None:
        self._service, self._store = service, store
        self._senders_name_tasks = senders_name_tasks

    async def send_message(self, request: v1_0.SendMessageRequest, call: Call) -> Encoded[v1_0.SendMessageResponse]:
        """Take a message, if it may be sent."""
        return await self._service.send_message(await self._permitted(SEND_MESSAGE, request, call), call)

    async def send_streaming_message(self, request: v1_0.SendMessageRequest, call: Call) -> AsyncGenerator[Event[StreamResponse], None]:
        """Take a message, if it may be sent, and yield what comes of it."""
        permitted = await self._permitted(SEND_STREAMING_MESSAGE, request, call)
        async with aclosing(_passed(self._service.send_streaming_message(permitted, call))) as events:
            async for event in events:
                yield event

    async def get_task(self, request: v1_0.GetTaskRequest, call: Call) -> Encoded[Task]:
        """Read a task."""
        await self._permit(GET_TASK, call, request.tenant, request.id)
        return await self._service.get_task(request, call)

    async def list_tasks(self, request: v1_0.ListTasksRequest, call: Call) -> Encoded[v1_0.ListTasksResponse]:
        """List the tasks that may be read; a page may so have fewer than it could, and only those are counted."""
        await self._permit(LIST_TASKS, call, request.tenant)
        answer = await self._service.list_tasks(request, call)
        if _may_everything(call):
            return answer
        scope, page = call.scope(request.tenant), answer.model
        seen = [task for task in page.tasks if await self._may_use_skill(call, scope, task.id) and await may(call, GET_TASK, task)]
        return Encoded.of(page.model_copy(update={"tasks": seen, "total_size": len(seen)}))

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

    async def _permitted(self, action: Operation, request: v1_0.SendMessageRequest, call: Call) -> v1_0.SendMessageRequest:
        """Refuse a message that may not be sent, and take away from one that may what it may not refer to."""
        message, scope = request.message, call.scope(request.tenant)
        task = await self._permit(action, call, request.tenant, message.task_id)
        if task is None and self._senders_name_tasks and message.task_id:
            await self._permit(action, call, request.tenant)
        context_id = message.context_id if task is None else task.context_id
        if context_id and call.surface.policy is not None and not await self._may_read_conversation(call, scope, context_id):
            raise PermissionDeniedError("The caller may not read all of this conversation")
        if not message.reference_task_ids or _may_everything(call):
            return request
        referred = [await self._store.load_task(scope, each) for each in message.reference_task_ids]
        there = [stored for stored in referred if stored is not None and _may_use_skill_of(stored, call)]
        readable = [stored.wire_id for stored in there if await may(call, GET_TASK, stored.task.model)]
        return request.model_copy(update={"message": message.model_copy(update={"reference_task_ids": readable})})

    async def _may_read_conversation(self, call: Call, scope: Scope, context_id: str) -> bool:
        """Whether a caller may read all that a handler can read of a conversation."""
        there: set[str] = set()
        query = TaskQuery(context_id, page_size=MAX_PAGE)
        while True:
            page = await self._store.list_tasks(scope, query)
            for stored in page.tasks:
                there.add(stored.wire_id)
                if not await may(call, GET_TASK, stored.task.model):
                    return False
            if not page.next_page_token:
                break
            query = replace(query, page_token=page.next_page_token)
        left = [each for each in await self._store.conversation(scope, context_id) if each.task_id not in there]
        gone = dict.fromkeys(each.task_id for each in left)
        return all([await may(call, GET_TASK, _remains(name or "", context_id, left)) for name in gone])

    async def _may_use_skill(self, call: Call, scope: Scope, task_id: str) -> bool:
        stored = await self._store.load_task(scope, task_id, 0, include_artifacts=False)
        return stored is not None and _may_use_skill_of(stored, call)

    async def _permit(self, action: Operation, call: Call, tenant: str | None, task_id: str | None = None) -> Task | None:
        if _may_everything(call):
            return None
        stored = await self._store.load_task(call.scope(tenant), task_id) if task_id else None
        if task_id and stored is None:
            return None  # the service says so, in its own words
        task = None if stored is None else stored.task.model
        if not await may(call, action, task):
            if stored is None or (action is not GET_TASK and await may(call, GET_TASK, task)):
                raise PermissionDeniedError
            raise _hidden(call, action, stored)
        skill = None if stored is None else call.surface.skills.get(stored.skill)
        if stored is not None and skill is not None:
            if not skill.is_there_for(call.caller):
                raise _hidden(call, action, stored)
            need_permission(skill, call)
        return task


def _may_everything(call: Call) -> bool:
    """Whether nothing of what is theirs is kept from a caller: there is no policy, and no skill that they may not use."""
    return call.surface.policy is None and all(each.may_use(call.caller) for each in call.surface.skills.values())


def _may_use_skill_of(stored: StoredTask, call: Call) -> bool:
    skill = call.surface.skills.get(stored.skill)
    return skill is None or skill.may_use(call.caller)


def _hidden(call: Call, action: Operation, stored: StoredTask) -> TaskNotFoundError:
    """Tell that there is nothing; who is told so is denied something all the same."""
    caller = call.caller
    record("denied", caller=caller.owner, tenant=caller.tenant, action=action.name, task=stored.wire_id, reason="hidden from the caller")
    return TaskNotFoundError(details={"task_id": stored.wire_id})


async def may(call: Call, action: Operation, task: Task | None) -> bool:
    """Ask the policy of a surface, if it has one."""
    policy = call.surface.policy
    if policy is None:
        return True
    answer = policy(call.caller, action.name, task)
    return await answer if isawaitable(answer) else answer


def _remains(task_id: str, context_id: str, messages: Sequence[Message]) -> Task:
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
