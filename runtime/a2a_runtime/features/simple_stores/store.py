"""The store made of a storage: lists, conversations, and the one process that may use it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, suppress
from typing import Any, TypeGuard

from a2a_contract.dialects import CANONICAL
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Task, TaskPushNotificationConfig
from a2a_runtime.base import lifecycle
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.clock import to_datetime
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.features.simple_stores import reserved
from a2a_runtime.features.simple_stores.exclusive import PROCESS_CONTEXT, ProcessLease
from a2a_runtime.features.simple_stores.tasks import SimpleTasks
from a2a_runtime.stores import changes, pagination
from a2a_runtime.stores.base import DEFAULT_OPTIONS, StoreOptions
from a2a_runtime.stores.memory.index import MemoryTask
from a2a_runtime.stores.models import PushFailure, RenewedLease, StoredTask, TaskPage, TaskQuery

log = logging.getLogger(__name__)

_CONTEXTS = f"{reserved.PREFIX}contexts"
_NO_TASK = "00000000-0000-0000-0000-000000000000"


class SimpleStore(SimpleTasks):
    """A store made of a storage with ``load_task``, ``create_task`` and ``update_task``, for one
    process.

    Leases, events and webhooks live in the process. A task that is active when the process ends is
    failed when it is next read; one that waits for its caller goes on. How long tasks are kept is
    up to the storage.
    """

    is_durable = True
    runs_again = False
    accepts_task_ids = False

    def __init__(self, storage: object, options: StoreOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(storage, options)
        self.storage = storage
        self._exit_stack = AsyncExitStack()
        self._has_contexts = self._codec.has("load_context", "update_context")
        self._has_record = False
        self._checked_scopes: set[TaskScope] = set()
        self._process_lease = ProcessLease(
            self._clock, options.lease_seconds, self._load_process, self._save_process
        )

    async def open(self) -> None:
        """Open the storage if it can be opened, refuse a second process, and say what a storage
        does not keep.
        """
        if _can_be_entered(self.storage):
            await self._exit_stack.enter_async_context(self.storage)
        if self._has_contexts:
            try:
                await self._process_lease.acquire()
                self._has_record = True
            except StoreUnavailableError as error:
                if type(error) is not StoreUnavailableError:  # in use
                    await self._exit_stack.aclose()
                    raise
                log.warning(
                    "store: %s: cannot tell whether another process uses it (%s)",
                    self._codec.name,
                    error,
                )
        lacks = ""
        if self._codec.missing:
            lacks = f"; without {', '.join(self._codec.missing)}"
        log.info(
            (
                "store: %s keeps tasks for one process only; leases, events and webhooks live in "
                "it: tasks that run when it ends fail%s"
            ),
            self._codec.name,
            lacks,
        )

    async def close(self) -> None:
        """Finish the writes in progress, and close the storage."""
        if self._writes:
            await asyncio.wait(self._writes)
        with suppress(StoreUnavailableError):
            await self._remove_abandoned()
        if self._has_record:
            self._has_record = False
            try:
                await self._process_lease.release()
            except StoreUnavailableError as error:
                log.info(
                    "store: %s: the record of this process stays until its lease ends: %s",
                    self._codec.name,
                    error,
                )
        await self._exit_stack.aclose()

    async def check(self) -> None:
        """Read a task that does not exist."""
        await self._call("load_task", _NO_TASK, 0, include_artifacts=False)

    async def renew_lease(self, process: str) -> RenewedLease:
        """Renew the lease, and the record of this process."""
        lease = await super().renew_lease(process)
        if self._has_record:
            try:
                await self._process_lease.renew()
            except StoreUnavailableError as error:
                log.debug(
                    "store: %s: record of the process not renewed: %s", self._codec.name, error
                )
        return lease

    async def _load_process(self) -> object:
        return await self._call("load_context", PROCESS_CONTEXT)

    async def _save_process(self, record: object) -> None:
        await self._call("update_context", PROCESS_CONTEXT, record)

    # Lists

    async def list_tasks(self, scope: TaskScope, query: TaskQuery) -> TaskPage:
        """List tasks, newest status first.

        The storage knows no owners, so the first page reads the whole list, to count.
        """
        self._require("list_tasks")
        pagination.check_page_size(query.page_size, query.history_length)
        if query.by_creation:
            return await self._list_by_creation(scope, query)
        token, skipped, total = _parse_token(query)
        found: list[str] = []
        next_position: tuple[str, int] | None = None
        matched = 0
        async with aclosing(self._iter_listed(scope, query, token)) as listed:
            async for page_token, index, task in listed:
                if page_token == token and index < skipped:
                    continue
                matched += 1
                if len(found) < query.page_size:
                    found.append(task.id)
                elif next_position is None:
                    next_position = (page_token, index)
                if next_position is not None and total is not None:
                    break
        if total is None:
            total = matched if not query.page_token else await self._count_listed(scope, query)
        loaded = await self._load_listed(scope, query, found)
        next_token = "" if next_position is None else _encode_token(query, next_position, total)
        return TaskPage(loaded, next_token, total)

    async def _load_listed(
        self, scope: TaskScope, query: TaskQuery, wire_ids: Iterable[str]
    ) -> list[StoredTask]:
        """Load the tasks of a page; one that was deleted since it was listed is left out."""
        loaded: list[StoredTask] = []
        for wire_id in wire_ids:
            task = await self.load_task(
                scope, wire_id, query.history_length, include_artifacts=query.include_artifacts
            )
            if task is not None:
                loaded.append(task)
        return loaded

    async def _count_listed(self, scope: TaskScope, query: TaskQuery) -> int:
        """Count a list again whose total was counted for a reader of other skills."""
        async with aclosing(self._iter_listed(scope, query)) as listed:
            return len([task.id async for _, _, task in listed])

    async def _list_by_creation(self, scope: TaskScope, query: TaskQuery) -> TaskPage:
        """List tasks, newest first: a storage has an order of its own, so each page reads the whole
        list.
        """
        await self._fail_lost_tasks(scope)
        listed = [
            (facts.created, task.id)
            async for _, _, task, facts in self._iter_pages(query)
            if facts.scope == scope and self._is_match(query, task, facts)
        ]
        left = sorted(
            [
                each
                for each in listed
                if not query.page_token or each < _parse_creation_token(query)
            ],
            reverse=True,
        )
        page = left[: query.page_size]
        loaded = await self._load_listed(scope, query, [wire_id for _, wire_id in page])
        next_token = ""
        if len(left) > len(page):
            next_token = pagination.encode_page_token(page[-1], *query.token_filters)
        return TaskPage(loaded, next_token, len(listed))

    async def _iter_listed(
        self, scope: TaskScope, query: TaskQuery, page_token: str = ""
    ) -> AsyncGenerator[tuple[str, int, Task], None]:
        """Iterate over the tasks of a scope: the token of the page of the storage, the position in
        it, and the task as listed.
        """
        await self._fail_lost_tasks(scope)
        async with aclosing(self._iter_pages(query, page_token)) as listed:
            async for token, index, task, facts in listed:
                if facts.scope == scope and self._is_match(query, task, facts):
                    yield token, index, task

    async def _iter_pages(
        self, query: TaskQuery, page_token: str = ""
    ) -> AsyncGenerator[tuple[str, int, Task, reserved.TaskFacts], None]:
        """Iterate over the tasks of all scopes; those without an owner are left out."""
        seen: set[str] = set()
        while page_token not in seen:
            seen.add(page_token)
            page = await self._call(
                "list_tasks", self._codec.to_query(query, pagination.MAX_PAGE_SIZE, page_token)
            )
            for index, theirs in enumerate(page.tasks):
                task = self._codec.read_task(theirs)
                if (found := reserved.parse_metadata(task.metadata)) is not None:
                    yield page_token, index, task, found.facts
            if not page.next_page_token:
                return
            page_token = page.next_page_token

    async def _fail_lost_tasks(self, scope: TaskScope) -> None:
        """Fail the tasks of a scope that were active when an earlier process ended, before a list
        shows them or is ordered by their ends.
        """
        if scope in self._checked_scopes:
            return
        for state in lifecycle.ACTIVE:
            lost = [
                task.id
                async for _, _, task, facts in self._iter_pages(TaskQuery(state=state))
                if facts.scope == scope
            ]
            for wire_id in lost:
                await self._find(scope, wire_id)
        self._checked_scopes.add(scope)

    def _is_match(self, query: TaskQuery, listed: Task, facts: reserved.TaskFacts) -> bool:
        """Check the skill, and state and time again, by the clock of this process where it has the
        task.
        """
        if facts.skill in query.hidden_skills:
            return False
        task = self._index.find(facts.scope, listed.id)
        if task is None:
            state = State(listed.status.state)
            at = listed.status.timestamp
        else:
            state = task.state
            at = to_datetime(task.status_at)
        return query.state in {None, state} and (
            query.changed_after is None or (at is not None and at >= query.changed_after)
        )

    # Conversations

    async def load_context(
        self, scope: TaskScope, context_id: str, hidden_skills: Collection[str] = ()
    ) -> Mapping[str, object] | None:
        """Load the data that handlers have stored with a conversation."""
        if not self._has_contexts:
            return await super().load_context(scope, context_id, hidden_skills)
        data, skills = _read_entry(
            _read_contexts(await self._call("load_context", context_id)), scope
        )
        if skills.isdisjoint(hidden_skills):
            return data
        return None

    async def update_context(
        self,
        scope: TaskScope,
        context_id: str,
        data: Mapping[str, object],
        skill: str = "",
        hidden_skills: Collection[str] = (),
    ) -> None:
        """Replace the data of a conversation."""
        changes.check_context_data(data)
        if not self._has_contexts:
            await super().update_context(scope, context_id, data, skill, hidden_skills)
            return
        await self._finish(self._replace_context(scope, context_id, data, skill, hidden_skills))

    async def _replace_context(
        self,
        scope: TaskScope,
        context_id: str,
        data: Mapping[str, object] | None,
        skill: str = "",
        hidden_skills: Collection[str] = (),
    ) -> None:
        """Replace the entry of a scope; other scopes and what others have stored with the context
        stay.
        """
        async with self._lock(f"context {context_id}"):
            stored = await self._call("load_context", context_id)
            contexts = _read_contexts(stored)
            _, skills = _read_entry(contexts, scope)
            changes.check_context_written(skills.isdisjoint(hidden_skills))
            others = {name: entry for name, entry in contexts.items() if name != scope.to_text()}
            entry: dict[str, object] = {}
            if data is not None:
                names = sorted(skills | {skill} - {""})
                entry[scope.to_text()] = {"data": dict(data), "skills": names}
            kept = stored if is_json_object(stored) else {}
            await self._call("update_context", context_id, {**kept, _CONTEXTS: {**others, **entry}})

    async def load_conversation(
        self,
        scope: TaskScope,
        context_id: str,
        limit: int = 100,
        hidden_skills: Collection[str] = (),
    ) -> Sequence[Message]:
        """Load the newest messages of a conversation, oldest first."""
        if self._codec.has("list_tasks"):
            listed = [
                (facts.created, task.id)
                async for _, _, task, facts in self._iter_pages(TaskQuery(context_id))
                if facts.scope == scope
            ]
            for _, wire_id in sorted(listed):  # oldest first, as memory keeps them
                await self._find(scope, wire_id)
        return await super().load_conversation(scope, context_id, limit, hidden_skills)

    async def delete_context(self, scope: TaskScope, context_id: str) -> int:
        """Delete a conversation with all its tasks, one by one: a context of the storage may have
        tasks of other owners.
        """
        self._require("delete_task")
        wire_ids = {task.wire_id for task in self._index.find_in_context(scope, context_id)}
        if self._codec.has("list_tasks"):
            async with aclosing(self._iter_listed(scope, TaskQuery(context_id))) as listed:
                wire_ids |= {task.id async for _, _, task in listed}
        deleted = 0
        for wire_id in sorted(wire_ids):
            deleted += await self.delete_task(scope, wire_id)
        if self._has_contexts:
            await self._finish(self._replace_context(scope, context_id, None))
        self._drop_conversation((scope, context_id))
        return deleted

    async def list_scopes(self) -> Sequence[TaskScope]:
        """Return the scopes of all tasks."""
        self._require("list_tasks")
        return sorted(
            {facts.scope async for _, _, _, facts in self._iter_pages(TaskQuery())},
            key=TaskScope.to_text,
        )

    async def delete_scope(self, scope: TaskScope) -> int:
        """Delete all tasks of a scope, with the data of their conversations."""
        self._require("list_tasks")
        contexts = {
            task.context_id or ""
            async for _, _, task, facts in self._iter_pages(TaskQuery())
            if facts.scope == scope
        }
        deleted = 0
        for context_id in sorted(contexts):
            deleted += await self.delete_context(scope, context_id)
        return deleted

    def _expire(self, task: MemoryTask) -> None:
        """Forget a task that has ended; a storage with a list still has its messages for the
        conversation.
        """
        if self._codec.has("list_tasks"):
            self._delete(task)
        else:
            super()._expire(task)

    # Webhooks: those of tasks of earlier processes are gone, but the tasks may get new ones

    async def put_push_config(
        self,
        scope: TaskScope,
        wire_id: str,
        config: TaskPushNotificationConfig,
        dialect: str = CANONICAL.name,
        *,
        max_configs: int | None = None,
    ) -> TaskPushNotificationConfig:
        """Add a configuration, or replace the one of that id."""
        await self._find(scope, wire_id)
        return await super().put_push_config(
            scope, wire_id, config, dialect, max_configs=max_configs
        )

    async def get_push_config(
        self, scope: TaskScope, wire_id: str, config_id: str
    ) -> TaskPushNotificationConfig | None:
        """Load one configuration."""
        await self._find(scope, wire_id)
        return await super().get_push_config(scope, wire_id, config_id)

    async def list_push_configs(
        self, scope: TaskScope, wire_id: str, page_size: int = 100, page_token: str = ""
    ) -> tuple[Sequence[TaskPushNotificationConfig], str]:
        """Load a page of configurations, ordered by id."""
        await self._find(scope, wire_id)
        return await super().list_push_configs(scope, wire_id, page_size, page_token)

    async def delete_push_config(self, scope: TaskScope, wire_id: str, config_id: str) -> bool:
        """Delete a configuration and its pending deliveries."""
        await self._find(scope, wire_id)
        return await super().delete_push_config(scope, wire_id, config_id)

    async def list_push_failures(self, scope: TaskScope, wire_id: str) -> Mapping[str, PushFailure]:
        """Return the failed configurations, by id."""
        await self._find(scope, wire_id)
        return await super().list_push_failures(scope, wire_id)


def _can_be_entered(storage: object) -> TypeGuard[AbstractAsyncContextManager[Any]]:
    return all(hasattr(type(storage), name) for name in ("__aenter__", "__aexit__"))


def _parse_token(query: TaskQuery) -> tuple[str, int, int | None]:
    """Return where a list continues: the page of the storage, the number of its tasks to skip, and
    the total that was counted.
    """
    if not query.page_token:
        return "", 0, None
    match pagination.parse_page_token(query.page_token, *query.token_filters):
        case (str(token), int(skipped), int(total), *hidden):
            return token, skipped, pagination.parse_total(query, total, *hidden)
        case _:
            raise pagination.invalid_token_error()


def _encode_token(query: TaskQuery, position: tuple[str, int], total: int) -> str:
    return pagination.encode_page_token(
        (*position, *pagination.encode_total(query, total)), *query.token_filters
    )


def _parse_creation_token(query: TaskQuery) -> tuple[int, str]:
    """Return the creation and the id of the task after which a list continues."""
    match pagination.parse_page_token(query.page_token, *query.token_filters):
        case (int(created), str(wire_id)):
            return created, wire_id
        case _:
            raise pagination.invalid_token_error()


def _read_contexts(stored: object) -> Mapping[str, object]:
    """Return the entries of all scopes in the data of a context."""
    contexts = stored.get(_CONTEXTS) if is_json_object(stored) else None
    if is_json_object(contexts):
        return contexts
    return {}


def _read_entry(
    contexts: Mapping[str, object], scope: TaskScope
) -> tuple[Mapping[str, object] | None, frozenset[str]]:
    """Return the data of a scope, and the skills that have written it."""
    entry = contexts.get(scope.to_text())
    if not is_json_object(entry):
        return None, frozenset()
    data = entry.get("data")
    skills = entry.get("skills")
    names = map(str, skills) if is_json_array(skills) else ()
    return data if is_json_object(data) else None, frozenset(names)
