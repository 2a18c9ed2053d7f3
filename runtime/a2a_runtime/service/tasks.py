"""Tasks that exist: reading, listing and canceling them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from json import dumps

from pydantic_core import from_json

from a2a_contract.base import Encoded
from a2a_contract.dialects import V0_3, V0_3_PROTO
from a2a_contract.errors import InvalidParamsError, TaskNotFoundError
from a2a_contract.lifecycle import TERMINAL, State
from a2a_contract.service import Event
from a2a_contract.v1_0 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a_runtime.caller import Scope
from a2a_runtime.execution.engine import CURSOR, SETTLED, response
from a2a_runtime.push.notification import opened
from a2a_runtime.service.context import Call, ServiceBase
from a2a_runtime.service.validation import need_push_notifications, need_streaming
from a2a_runtime.stores.base import TaskPage, TaskQuery
from a2a_runtime.stores.pagination import MAX_PAGE, check_page, read_token, task_place

_PAGE = 50
_CONTEXT_MUST_EXIST = frozenset({V0_3.name})
_LOOKS = ("page_size", "page_token", "history_length", "include_artifacts")
_NO_FILTERS = frozenset((*_LOOKS, *map(ListTasksRequest.wire_name, _LOOKS)))
"""The members of a question that say how its answer is to look, and not which tasks it is about, in both of their spellings."""


class Tasks(ServiceBase):
    """Reads, lists and cancels tasks."""

    async def get_task(self, request: GetTaskRequest, call: Call) -> Encoded[Task]:
        """Read a task as it is now."""
        stored = await self._engine.load(call.scope(request.tenant), request.id, call.history(request.history_length))
        return stored.task

    async def list_tasks(self, request: ListTasksRequest, call: Call) -> Encoded[ListTasksResponse]:
        """List the caller's tasks, the most recently changed first."""
        scope, query = call.scope(request.tenant), query_of(request)
        page = await self._engine.list(scope, replace(query, history_length=call.history(query.history_length)))
        if not page.total_size and query.context_id and call.dialect in _CONTEXT_MUST_EXIST:
            await self._need_context(scope, query.context_id)
        return Encoded.raw(ListTasksResponse, page_json(page, query))

    async def cancel_task(self, request: CancelTaskRequest, call: Call) -> Encoded[Task]:
        """Ask for a task to stop, and wait a little until it has."""
        return (await self._engine.cancel(call.scope(request.tenant), request.id)).task

    async def home(self, task_id: str, call: Call) -> str | None:
        """Say in which dialect a task was created, where several dialects call an operation the same."""
        stored = await self._store.load_task(call.scope(), task_id, 0, include_artifacts=False)
        return None if stored is None else stored.dialect

    async def _need_context(self, scope: Scope, context_id: str) -> None:
        if not await self._store.conversation(scope, context_id, 1):
            raise TaskNotFoundError("There is no task in this context", details={"context_id": context_id})


def query_of(request: ListTasksRequest, left_out: Collection[str] = ()) -> TaskQuery:
    """Read which tasks are to be listed, or name everything that is wrong with the question; ``left_out`` is what was found wrong before."""
    status = None if request.status in {None, TaskState.UNSPECIFIED} else request.status
    wrong = [] if status is None or status.is_known else [(ListTasksRequest.wire_name("status"), f"{status} is not a state of a task")]
    query = TaskQuery(
        context_id=request.context_id or None,
        state=None if status is None or wrong else State(status),
        changed_after=request.status_timestamp_after,
        page_size=_PAGE if request.page_size is None else request.page_size,
        page_token=request.page_token or "",
        history_length=request.history_length,
        include_artifacts=bool(request.include_artifacts),
    )
    wrong += _wrong_in(query, has_all_filters=not wrong and _NO_FILTERS.issuperset(left_out))
    if wrong:
        raise InvalidParamsError(fields=tuple(wrong))
    return query


def _wrong_in(query: TaskQuery, *, has_all_filters: bool) -> Iterator[tuple[str, str]]:
    """Find what is wrong with each part of a question alone: who checks it as a whole stops at the first."""
    check_token: Callable[[], object] = partial(read_token, query.page_token) if query.page_token else bool
    if has_all_filters:  # else nobody can tell whether the token is of another list
        check_token = partial(task_place, TaskQuery(query.context_id, query.state, query.changed_after, page_token=query.page_token))
    for check in (partial(check_page, query.page_size), partial(check_page, 1, query.history_length), check_token):
        try:
            check()
        except InvalidParamsError as error:
            yield from error.fields


def page_json(page: TaskPage, query: TaskQuery) -> bytes:
    """Write a page of tasks by joining what the store has written; who asks for artifacts is told of every task which it has, or that it has none."""
    shown = _with_artifacts if query.include_artifacts else bytes
    tasks = b",".join([shown(stored.task.json) for stored in page.tasks])
    return b'{"tasks":[%b],"nextPageToken":%b,"pageSize":%d,"totalSize":%d}' % (
        tasks,
        dumps(page.next_page_token).encode(),
        query.page_size,
        page.total_size,
    )


def _with_artifacts(task: bytes) -> bytes:
    """Add an empty list to a task that has none; what is called so deeper inside is somebody's data, and only then it is read."""
    has_some = b',"artifacts":[' in task and "artifacts" in from_json(task)
    return task if has_some else task[:-1] + b',"artifacts":[]}'


# Streams of events: how far each dialect follows a task, and where a reader goes on.
#
# dialect   the stream ends
# 1.0       with the task
# 0.3       with the task, and whenever the task waits for the caller
#

_DIGITS = 18
"""Every number of so many digits can be the number of an event in any store."""
_ENDS: Mapping[str, frozenset[State]] = {V0_3.name: SETTLED, V0_3_PROTO.name: SETTLED}


def ends_of(dialect: str) -> frozenset[State]:
    """Say in which states of its task a stream ends."""
    return _ENDS.get(dialect, TERMINAL)


def cursor_of(last_event_id: str | None) -> int | None:
    """Read which event a client has seen last."""
    if last_event_id is None:
        return None
    if not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) <= _DIGITS):
        raise InvalidParamsError(fields=((CURSOR, "is not the number of an event"),))
    return int(last_event_id)


class Following(ServiceBase):
    """Lets clients follow tasks that exist."""

    async def subscribe_to_task(self, request: SubscribeToTaskRequest, call: Call) -> AsyncGenerator[Event[StreamResponse], None]:
        """Yield the task and what happens to it, or what has happened since the last event that the client has seen."""
        need_streaming(call.surface)
        cursor = cursor_of(call.last_event_id)
        async with aclosing(await self._engine.follow(call.scope(request.tenant), request.id, cursor, ends_of(call.dialect))) as events:
            async for event in events:
                yield Event(event.seq, response(event))


# Push configurations: which webhooks hear of a task. What is sent to them, and when, is not decided here.
#
# The credentials of a webhook are told to nobody, not even to who gave them. Its token is read by an owner who is one person; in a team, and where
# callers cannot be told apart, they would read each other's.
#


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
