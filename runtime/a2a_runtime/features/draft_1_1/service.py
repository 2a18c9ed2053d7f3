"""Operations of versions that number the changes of a task: the canonical ones, whose results get
generations and timelines from the log.

GetTask with currentGeneration     waits like a reader of the task's events:
                                   one future, woken by the event hub
SendMessage, ifGenerationMatch     checked with the version of the task,
                                   which the store compares in the write itself
results and events                 read once from the log, up to the event that they show
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from msgspec.structs import replace
from pydantic_core import from_json

from a2a_contract.base import Encoded
from a2a_contract.errors import TaskNotFoundError
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.lifecycle import TERMINAL, State
from a2a_contract.service import Event
from a2a_contract.v1_0 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageRequest,
    SendMessageResponse,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
)
from a2a_contract.v1_1_draft import GetTaskRequest as NumberedGetTaskRequest
from a2a_contract.v1_1_draft import ListTasksRequest as NumberedListTasksRequest
from a2a_contract.v1_1_draft import SendMessageConfiguration as NumberedConfiguration
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.hub import PAGE_EVENTS
from a2a_runtime.errors import EventsGoneError
from a2a_runtime.features.draft_1_1.timeline import (
    JsonMembers,
    TaskRecord,
    limit_history,
    read_history,
    render,
)
from a2a_runtime.service.context import CallContext
from a2a_runtime.service.service import Service
from a2a_runtime.stores.models import StoredTask

_ANY_STATE = frozenset(State)
_ARTIFACTS = Task.wire_name("artifacts")


class GenerationService(Service):
    """All operations of an agent, for clients that read generations."""

    async def send_message(
        self, request: SendMessageRequest, context: CallContext
    ) -> Encoded[SendMessageResponse]:
        """Accept a message if the task is at the generation that it names, and return its task with
        the timeline.
        """
        configuration = (
            request.configuration
            if isinstance(request.configuration, NumberedConfiguration)
            else NumberedConfiguration()
        )
        numbered = replace(
            context, if_last_seq=configuration.if_generation_match, shows_messages=True
        )
        response: JsonMembers = from_json((await super().send_message(request, numbered)).json)
        if not is_json_object(task := response.get("task")):
            return Encoded(SendMessageResponse, render(response))
        scope = context.task_scope(request.tenant)
        length = context.limit_history(configuration.history_length)
        rendered = await self._show(scope, str(task["id"]), length, configuration.timeline_length)
        return Encoded(SendMessageResponse, render({"task": rendered}))

    async def send_streaming_message(
        self, request: SendMessageRequest, context: CallContext
    ) -> AsyncGenerator[Event[StreamResponse], None]:
        """Accept a message as above, and yield its task and events with their generations."""
        configuration = (
            request.configuration
            if isinstance(request.configuration, NumberedConfiguration)
            else NumberedConfiguration()
        )
        numbered = replace(
            context, if_last_seq=configuration.if_generation_match, shows_messages=True
        )
        events = self._number(
            super().send_streaming_message(request, numbered),
            context.task_scope(request.tenant),
            configuration.timeline_length,
        )
        async with aclosing(events):
            async for event in events:
                yield event

    async def subscribe_to_task(
        self, request: SubscribeToTaskRequest, context: CallContext
    ) -> AsyncGenerator[Event[StreamResponse], None]:
        """Yield the task and its later events with their generations."""
        scope = context.task_scope(request.tenant)
        events = self._number(
            super().subscribe_to_task(request, replace(context, shows_messages=True)),
            scope,
            None,
            request.id,
        )
        async with aclosing(events):
            async for event in events:
                yield event

    async def get_task(self, request: GetTaskRequest, context: CallContext) -> Encoded[Task]:
        """Return a task with its timeline; if the client knows its generation, after the next
        change or a time-out.
        """
        scope = context.task_scope(request.tenant)
        length = context.limit_history(request.history_length)
        timeline_length: int | None = None
        if isinstance(request, NumberedGetTaskRequest):
            timeline_length = request.timeline_length
            if request.current_generation is not None:
                await self._wait_for_change(scope, request.id, request.current_generation)
        return Encoded(Task, render(await self._show(scope, request.id, length, timeline_length)))

    async def list_tasks(
        self, request: ListTasksRequest, context: CallContext
    ) -> Encoded[ListTasksResponse]:
        """List the tasks of the caller with their timelines."""
        page: JsonMembers = from_json((await super().list_tasks(request, context)).json)
        scope = context.task_scope(request.tenant)
        length = context.limit_history(request.history_length)
        timeline_length = (
            request.timeline_length if isinstance(request, NumberedListTasksRequest) else None
        )
        tasks = page["tasks"] if is_json_array(page["tasks"]) else []
        found: list[JsonMembers] = []
        for each in filter(is_json_object, tasks):
            with suppress(TaskNotFoundError):  # deleted after it was listed
                found.append(await self._show(scope, str(each["id"]), length, timeline_length))
        for each in found:
            if request.include_artifacts:
                each.setdefault(_ARTIFACTS, [])
            else:
                each.pop(_ARTIFACTS, None)
        return Encoded(ListTasksResponse, render({**page, "tasks": found}))

    async def cancel_task(self, request: CancelTaskRequest, context: CallContext) -> Encoded[Task]:
        """Cancel a task, wait for its end up to the cancel timeout, and return it with its
        timeline.
        """
        await super().cancel_task(request, context)
        return Encoded(
            Task,
            render(await self._show(context.task_scope(request.tenant), request.id, None, None)),
        )

    async def _wait_for_change(self, scope: TaskScope, wire_id: str, known: int) -> None:
        """Wait until a task has a later generation than the client knows, or has ended, up to the
        time-out.
        """
        stored = await self._engine.load(scope, wire_id, 0, include_artifacts=False)
        generation = stored.last_seq
        mark = stored.mark
        state = stored.state
        with suppress(TimeoutError, EventsGoneError):
            async with asyncio.timeout(self._dependencies.settings.long_poll_timeout):
                while generation <= known and state not in TERMINAL:
                    event = await self._engine.hub.wait_for(
                        stored.key, generation, _ANY_STATE, mark=mark
                    )
                    generation = event.seq
                    mark = event.mark
                    state = event.state

    async def _show(
        self,
        scope: TaskScope,
        wire_id: str,
        history_length: int | None,
        timeline_length: int | None,
    ) -> JsonMembers:
        """Load a task, and show it with its generation, its timeline and the spans of its
        artifacts.
        """
        stored = await self._engine.load(scope, wire_id)
        record = await self._read_record(stored, stored.last_seq)
        task: JsonMembers = from_json(stored.task.json)
        return limit_history(record.show_task(task, timeline_length), history_length)

    async def _read_record(self, stored: StoredTask, until: int) -> TaskRecord:
        """Read the log of a task up to an event; a log that is no longer kept gives the generation
        alone.
        """
        record = TaskRecord(read_history(stored.task.json))
        try:
            while record.generation < until:
                for event in await self._store.read_events(
                    stored.key, record.generation, min(PAGE_EVENTS, until - record.generation)
                ):
                    record.add(event.seq, event.body)
                await asyncio.sleep(0)  # a long log gives way to other requests
        except EventsGoneError:
            record = TaskRecord()
            record.generation = until
        return record

    async def _number(
        self,
        events: AsyncGenerator[Event[StreamResponse], None],
        scope: TaskScope,
        timeline_length: int | None,
        wire_id: str = "",
    ) -> AsyncGenerator[Event[StreamResponse], None]:
        """Show the events of a stream with their generations; the log before its first event is
        read once.
        """
        record: TaskRecord | None = None
        async with aclosing(events):
            async for event in events:
                body: JsonMembers = from_json(event.data.json)
                task = body.get("task") if event.seq else None
                if is_json_object(task):
                    record = await self._read_record(
                        await self._engine.load(scope, str(task["id"])), event.seq
                    )
                    yield Event(
                        event.seq,
                        Encoded(
                            StreamResponse,
                            render({"task": record.show_task(task, timeline_length)}),
                        ),
                        event.mark,
                    )
                elif not event.seq:
                    yield event
                else:
                    record = record or await self._read_record(
                        await self._engine.load(scope, wire_id), event.seq - 1
                    )
                    yield Event(
                        event.seq,
                        Encoded(StreamResponse, render(record.add(event.seq, event.data.json))),
                        event.mark,
                    )
