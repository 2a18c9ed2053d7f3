"""Tasks that exist: reading, listing and canceling them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from json import dumps

from pydantic_core import from_json

from a2a_contract.base import Encoded
from a2a_contract.dialects import V0_3
from a2a_contract.errors import InvalidParamsError, TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse, Task, TaskState
from a2a_runtime.caller import Scope
from a2a_runtime.service.base import ServiceBase
from a2a_runtime.service.call import Call
from a2a_runtime.stores.cursor import check_page, read_token, task_place
from a2a_runtime.stores.port import TaskPage, TaskQuery

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
