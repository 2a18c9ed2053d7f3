"""Authorization beyond ownership: the policy of a surface, and the requirements of its skills.

    async def is_allowed(caller, action, task):
        return action != "CancelTask" or "boss" in caller.roles

    Surface(agent, gate=…, policy=is_allowed)

``action`` is the name of an operation in the canonical dialect; ``task`` is the present task of the
operation, or ``None``. A policy only restricts: the task scope is checked before it. A task that a
caller may not read does not exist for this caller: it is in no list, and no message can refer to
it. A handler can read its whole conversation, so a message is accepted only from a caller whom the
policy lets read every task in it. Of a deleted task only messages are left; the policy is called
with a task of these messages, without a state.

The requirements of a skill hold for every caller who reads, follows or cancels its tasks: a token
without access to a skill has no access to its results. It has none to what the skill has written
into a conversation either, also not by a message to another skill: a run reads what the caller who
began its task may read (``NewTask.hidden_skills``). A message to a task that another caller has
begun, and whose run reads more than its sender may, is refused if there is more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from inspect import isawaitable
from operator import attrgetter
from typing import TypeAlias, TypeVar

from msgspec.structs import replace

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.errors import PermissionDeniedError, TaskNotFoundError
from a2a_contract.interceptor import ServiceInterceptor
from a2a_contract.operations import GET_TASK
from a2a_contract.service import AgentService
from a2a_contract.v1_0 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
)
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.logs import audit
from a2a_runtime.service.context import CallContext
from a2a_runtime.service.validation import require_permission
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import StoredTask, TaskPage, TaskQuery
from a2a_runtime.stores.pagination import (
    MAX_PAGE_SIZE,
    encode_page_token,
    invalid_token_error,
    parse_page_token,
)

Request = TypeVar("Request", bound=WireModel)


_MAX_COMPARED_MESSAGES = 10_000
_MAX_COUNTED_TASKS = 1_000
"""Tasks of a list for which the policy is called to count them."""
_TENANT: attrgetter[str | None] = attrgetter("tenant")


class AuthorizingService(ServiceInterceptor[CallContext]):
    """Authorizes each operation before another service runs it."""

    def __init__(
        self, service: AgentService[CallContext], store: Store, *, has_client_task_ids: bool = False
    ) -> None:
        super().__init__(service)
        self._store = store
        self._has_client_task_ids = has_client_task_ids

    async def before(self, operation: Operation, request: Request, context: CallContext) -> Request:
        """Refuse an operation that the caller may not run; remove references that the caller may
        not read.
        """
        stored = await self._authorize(operation, context, _TENANT(request), _find_task_id(request))
        if not isinstance(request, SendMessageRequest):
            return request
        message = request.message
        if (
            stored is None and self._has_client_task_ids and message.task_id
        ):  # the id of a new task, which the client has chosen
            await self._authorize(operation, context, request.tenant, None)
        scope = context.task_scope(request.tenant)
        context_id = message.context_id if stored is None else stored.context_id
        if stored is not None and await self._reads_more(stored, context):
            raise PermissionDeniedError(
                "The handler of this task reads more of the conversation than the caller may "
                "read; begin another task"
            )
        if (
            context_id
            and context.surface.policy is not None
            and not await self._can_read_conversation(context, scope, context_id)
        ):
            raise PermissionDeniedError("The caller may not read all of this conversation")
        if not message.reference_task_ids or _is_unrestricted(context):
            return request
        readable: list[str] = []
        for task_id in message.reference_task_ids:
            referenced = await self._store.load_task(scope, task_id)
            if referenced is not None and await _can_read(referenced, context):
                readable.append(referenced.wire_id)
        return request.model_copy(
            update={"message": message.model_copy(update={"reference_task_ids": readable})}
        )

    async def _authorize(
        self, operation: Operation, context: CallContext, tenant: str | None, task_id: str | None
    ) -> StoredTask | None:
        """Return the task of an operation that is allowed; ``None`` for one about no task, or about
        a task that does not exist.
        """
        if _is_unrestricted(context):
            return None
        stored = (
            await self._store.load_task(context.task_scope(tenant), task_id) if task_id else None
        )
        if stored is None:
            if not task_id and not await is_allowed(context, operation, None):
                raise PermissionDeniedError
            return None  # the service raises for a task that does not exist
        task = stored.task.model
        if not await is_allowed(context, operation, task):
            if operation is not GET_TASK and await is_allowed(context, GET_TASK, task):
                raise PermissionDeniedError
            raise _to_hidden_error(context, operation, stored)
        skill = context.surface.skills.get(stored.skill)
        if skill is not None:
            if not skill.is_visible_to(context.caller):
                raise _to_hidden_error(context, operation, stored)
            require_permission(skill, context)
        return stored

    async def _reads_more(self, stored: StoredTask, context: CallContext) -> bool:
        """Return whether the handler of a task reads messages or state of skills that are hidden
        from the sender of a message to it.
        """
        hidden = {*context.hidden_skills} - {*stored.hidden_skills}
        if not hidden:
            return False
        store = self._store
        scope = stored.scope
        context_id = stored.context_id
        limit = _MAX_COMPARED_MESSAGES
        all_messages = await store.load_conversation(scope, context_id, limit)
        visible = await store.load_conversation(scope, context_id, limit, hidden)
        if len(all_messages) != len(visible) or len(all_messages) == limit:
            return True
        return await store.load_context(scope, context_id) != await store.load_context(
            scope, context_id, hidden
        )

    async def _can_read_conversation(
        self, context: CallContext, scope: TaskScope, context_id: str
    ) -> bool:
        """Return whether the policy lets the caller read all tasks of a conversation, but for those
        of skills that are hidden from its handler too.

        A policy is code of the application, so it is called for each task. The cost is one query
        per 100 tasks of the conversation, and one for its messages.
        """
        found = set[str]()
        hidden = context.hidden_skills
        query = TaskQuery(context_id, page_size=MAX_PAGE_SIZE)
        while True:
            page = await self._store.list_tasks(scope, query)
            for stored in page.tasks:
                found.add(stored.wire_id)
                if stored.skill not in hidden and not await is_allowed(
                    context, GET_TASK, stored.task.model
                ):
                    return False
            if not page.next_page_token:
                break
            query = replace(query, page_token=page.next_page_token)
        deleted: dict[str, list[Message]] = {}
        for message in await self._store.load_conversation(scope, context_id, hidden_skills=hidden):
            if message.task_id not in found:
                deleted.setdefault(message.task_id or "", []).append(message)
        status = TaskStatus(state=TaskState.UNSPECIFIED)
        for task_id, messages in deleted.items():
            task = Task(id=task_id, context_id=context_id, status=status, history=messages)
            if not await is_allowed(context, GET_TASK, task):
                return False
        return True


def _find_task_id(request: WireModel) -> str | None:
    """Find the task that a request is about; ``None`` for one about no task."""
    match request:
        case SendMessageRequest():
            return request.message.task_id
        case GetTaskRequest() | CancelTaskRequest() | SubscribeToTaskRequest():
            return request.id
        case (
            TaskPushNotificationConfig()
            | GetTaskPushNotificationConfigRequest()
            | ListTaskPushNotificationConfigsRequest()
        ):
            return request.task_id
        case DeleteTaskPushNotificationConfigRequest():
            return request.task_id
        case _:
            return None


async def is_allowed(context: CallContext, operation: Operation, task: Task | None) -> bool:
    """Call the policy of a surface; ``True`` without one."""
    policy = context.surface.policy
    if policy is None:
        return True
    allowed = policy(context.caller, operation.name, task)
    if isawaitable(allowed):
        return await allowed
    return allowed


ListPage: TypeAlias = Callable[[TaskQuery], Awaitable[TaskPage]]
"""Reads a page of the tasks of a caller from the store."""


async def list_readable(list_page: ListPage, query: TaskQuery, context: CallContext) -> TaskPage:
    """Read a page of the tasks that the caller may read.

    The store leaves out the tasks of hidden skills. The policy is called for each task of a page,
    which may become shorter than its size; and for the total, which is counted with the first page,
    for each of the newest thousand tasks. The page tokens carry that total to the other pages.
    """
    query = replace(query, hidden_skills=frozenset(context.hidden_skills))
    if context.surface.policy is None:
        return await list_page(query)
    inner_token, total_size = _parse_policy_token(query) if query.page_token else ("", None)
    page = await list_page(replace(query, page_token=inner_token))
    tasks = await find_readable(page.tasks, context)
    if total_size is None:
        total_size = len(tasks) + await _count_following(
            list_page, replace(query, page_token=page.next_page_token), len(page.tasks), context
        )
    total_size = max(total_size, len(tasks))
    token = (
        encode_page_token((page.next_page_token, total_size), *query.token_filters)
        if page.next_page_token
        else ""
    )
    return TaskPage(tasks, token, total_size)


def _parse_policy_token(query: TaskQuery) -> tuple[str, int]:
    """Return the page token of the store, and the total, from a page token of a surface with a
    policy.
    """
    match parse_page_token(query.page_token, *query.token_filters):
        case (str(inner_token), int(total_size)) if total_size >= 0:
            return inner_token, total_size
        case _:
            raise invalid_token_error()


async def _count_following(
    list_page: ListPage, query: TaskQuery, checked: int, context: CallContext
) -> int:
    """Count the tasks after the first page that the policy lets the caller read, among the newest
    thousand.
    """
    count = 0
    while query.page_token and checked < _MAX_COUNTED_TASKS:
        page = await list_page(
            replace(query, page_size=min(MAX_PAGE_SIZE, _MAX_COUNTED_TASKS - checked))
        )
        count += len(await find_readable(page.tasks, context))
        checked += len(page.tasks)
        query = replace(query, page_token=page.next_page_token)
    return count


async def find_readable(tasks: Iterable[StoredTask], context: CallContext) -> Sequence[StoredTask]:
    """Find the tasks that the caller may read."""
    return [stored for stored in tasks if await _can_read(stored, context)]


async def _can_read(stored: StoredTask, context: CallContext) -> bool:
    skill = context.surface.skills.get(stored.skill)
    return (skill is None or skill.is_readable_by(context.caller)) and await is_allowed(
        context, GET_TASK, stored.task.model
    )


def _can_use_all_skills(context: CallContext) -> bool:
    return all(skill.is_usable_by(context.caller) for skill in context.surface.skills.values())


def _is_unrestricted(context: CallContext) -> bool:
    """Return whether the surface has no policy and no skill that the caller may not use."""
    return context.surface.policy is None and _can_use_all_skills(context)


def _to_hidden_error(
    context: CallContext, operation: Operation, stored: StoredTask
) -> TaskNotFoundError:
    """Audit a denial, and hide the task from the caller."""
    caller = context.caller
    audit(
        "denied",
        caller=caller.owner,
        tenant=caller.tenant,
        action=operation.name,
        task=stored.wire_id,
        reason="hidden from the caller",
    )
    return TaskNotFoundError(details={"task_id": stored.wire_id})
