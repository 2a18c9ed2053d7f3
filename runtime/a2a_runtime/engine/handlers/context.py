"""Context of a handler: its message, its conversation, and all that it can do to its task.

Every handler gets a ``Context``; ``TaskContext`` adds status, artifacts and questions. The rules
for running a handler again are in the docstring of this package.
"""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from datetime import datetime
from functools import cached_property
from math import inf
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self, TypeAlias, TypeVar

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from a2a_contract.base import JsonAny, JsonObject
from a2a_contract.errors import UnsupportedOperationError
from a2a_contract.extensions import Usage
from a2a_contract.lifecycle import TERMINAL, State
from a2a_contract.v1_0 import Artifact, Message, Part, Role, Task
from a2a_runtime.base.caller import Caller, TaskScope
from a2a_runtime.base.clock import to_datetime
from a2a_runtime.base.texts import join_texts
from a2a_runtime.engine import replay
from a2a_runtime.engine.dependencies import RunDependencies
from a2a_runtime.engine.handlers import results
from a2a_runtime.engine.handlers.conversation_state import ContextState, SkillView
from a2a_runtime.engine.handlers.questions import Answer, AuthorizationRequest, mark_question
from a2a_runtime.engine.handlers.usage import DEFAULT_CURRENCY, UsageReport, add_usage, to_metadata
from a2a_runtime.engine.incoming import Inbox
from a2a_runtime.engine.replay import EMPTY_REQUEST_INFO, RequestInfo
from a2a_runtime.engine.signals import RunStopped, TaskEnded, TaskSuspended
from a2a_runtime.engine.writer import TaskWriter
from a2a_runtime.stores.fragments import encode_chunk
from a2a_runtime.stores.models import ClaimedRun, RecordKind, ReplayRecord

T = TypeVar("T")

Bytes: TypeAlias = bytes  # ArtifactWriter has a method of that name

_JSON: TypeAdapter[object] = TypeAdapter(JsonAny)


class ArtifactWriter:
    """Writer of one artifact, which its name identifies; each call commits one chunk and one event.

    async with ctx.artifact("report") as report:
        await report.text("first line")
        await report.text("last line", last=True)
    """

    def __init__(
        self,
        writer: TaskWriter,
        name: str,
        *,
        description: str | None = None,
        metadata: JsonObject | None = None,
    ) -> None:
        self._writer = writer
        self._name = name
        self._description = description
        self._metadata = metadata
        self._is_complete = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_complete = True

    async def text(self, text: str, *, last: bool = False, media_type: str | None = None) -> None:
        """Write text."""
        await self.write(Part(text=text, media_type=media_type), last=last)

    async def json(
        self, value: object, *, last: bool = False, media_type: str | None = None
    ) -> None:
        """Write JSON, or a value that can be serialized as JSON; ``None`` is null."""
        await self.write(results.to_json_part(value, media_type), last=last)

    async def bytes(
        self, data: Bytes, *, last: bool = False, media_type: str = results.BYTES
    ) -> None:
        """Write bytes."""
        await self.write(Part(raw=data, media_type=media_type), last=last)

    async def file(
        self,
        source: Path | Bytes,
        *,
        name: str | None = None,
        media_type: str | None = None,
        last: bool = False,
    ) -> None:
        """Write a file, from its path or its content."""
        if isinstance(source, Path):
            name = name or source.name
            data = await asyncio.to_thread(source.read_bytes)
        else:
            data = source
        if name and not media_type:
            media_type = mimetypes.guess_type(name)[0]
        part = Part(raw=data, filename=name, media_type=media_type or results.BYTES)
        await self.write(part, last=last)

    async def link(
        self,
        url: str,
        *,
        name: str | None = None,
        media_type: str | None = None,
        last: bool = False,
    ) -> None:
        """Write the URL of a file."""
        await self.write(Part(url=url, filename=name, media_type=media_type), last=last)

    async def write(self, *parts: Part, last: bool = False) -> None:
        """Write parts as one chunk; ``last`` marks the artifact as complete."""
        if self._is_complete:
            raise ValueError(
                f"artifact {self._name!r}: already complete; write before last=True, or use "
                "another name"
            )
        chunk = Artifact(
            artifact_id=self._name,
            name=self._name,
            description=self._description,
            parts=list(parts),
            metadata=self._metadata,
        )
        await self._writer.write_chunk(encode_chunk(chunk), last_chunk=last)
        self._is_complete = last


_FULL_VIEW = SkillView()


class Context:
    """Context of every handler: the message, its caller, the conversation, and ways to refuse."""

    request: RequestInfo = EMPTY_REQUEST_INFO
    """The request without its message: metadata, media types that the caller accepts, active
    extensions.
    """
    consumed: Usage | None = None
    """The sum of what a handler without a task has reported."""
    is_cancelled = False

    def __init__(
        self,
        dependencies: RunDependencies,
        scope: TaskScope,
        caller: Caller,
        context_id: str,
        message: Message,
        view: SkillView = _FULL_VIEW,
    ) -> None:
        self._dependencies = dependencies
        self._view = view
        self.scope = scope
        """The scope of the task.

        With it and the task id, ``Engine.send_message`` can answer a question from elsewhere.
        """
        self.caller = caller
        self.context_id = context_id
        self._message = message

    @property
    def task_id(self) -> str | None:
        """The id of the task; ``None`` without a task."""
        return None

    @property
    def message(self) -> Message:
        """The message that started the task, with the ids of the conversation and the task."""
        return self.bind(self._message)

    @property
    def text(self) -> str:
        """The texts of the message."""
        return join_texts(self._message)

    @property
    def data(self) -> object:
        """The first JSON part of the message; ``None`` without one."""
        return results.find_data(self._message.parts)

    @property
    def tenant(self) -> str:
        """The tenant of the call; empty for none."""
        return self.scope.tenant

    @property
    def state(self) -> ContextState:
        """State that the tasks of the conversation share."""
        return ContextState(self._dependencies.store, self.scope, self.context_id, self._view)

    @cached_property
    def deadline(self) -> datetime | None:
        """The time at which the run times out; ``None`` without a timeout."""
        return None

    def bind(self, message: Message) -> Message:
        """Copy a message with the ids of this conversation and its task."""
        return message.model_copy(update={"task_id": self.task_id, "context_id": self.context_id})

    def describe_usage(self, reply: Message) -> Message:
        """Add what the handler has consumed to its reply, for one without a task."""
        if self.consumed is None:
            return reply
        return reply.model_copy(
            update={"metadata": {**(reply.metadata or {}), **to_metadata(self.consumed)}}
        )

    async def conversation(self, limit: int = 100) -> Sequence[Message]:
        """Read the newest messages of the conversation, oldest first, from all of its tasks whose
        skills the caller may use.
        """
        return await self._dependencies.store.load_conversation(
            self.scope, self.context_id, limit, self._view.hidden_skills
        )

    async def referenced_tasks(self) -> Sequence[Task]:
        """Read the tasks that the message refers to, as far as they exist for its caller."""
        found: list[Task] = []
        for wire_id in self.message.reference_task_ids or ():
            stored = await self._dependencies.store.load_task(self.scope, wire_id)
            if stored is not None:
                found.append(stored.task.model)
        return found

    async def fetch(self, part: Part) -> bytes:
        """Return the content of a part: its own, or that of its URL."""
        if part.url is not None:
            return await self._dependencies.fetcher.fetch(part.url)
        if part.raw is not None:
            return part.raw
        if part.text is not None:
            return part.text.encode()
        return to_json(part.data)

    def usage(
        self,
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cost: float = 0.0,
        currency: str = DEFAULT_CURRENCY,
    ) -> None:
        """Report what the work has consumed.

        Reports are summed, over all runs of a task; they are in the metadata of the task, or of the
        reply.
        """
        report = UsageReport(input_tokens, output_tokens, cost, currency)
        report.check()
        for announce in self._dependencies.observation.usage_reported:
            announce(self._view.skill, report)
        self._add_usage(report)

    def _add_usage(self, report: UsageReport) -> None:
        self.consumed = add_usage(self.consumed, report)

    def reply(self, *values: object) -> Message:
        """Build a message of the agent from texts, JSON, bytes and parts."""
        parts: list[Part] = []
        for value in values:
            parts += results.to_parts(value)
        return Message(
            message_id=self._dependencies.ids.new(),
            context_id=self.context_id,
            task_id=self.task_id,
            role=Role.AGENT,
            parts=parts,
        )

    def reject(self, reason: str) -> NoReturn:
        """Reject the task; the caller reads the reason."""
        raise TaskEnded(State.REJECTED, self.reply(reason))

    def fail(self, reason: str) -> NoReturn:
        """Fail the task; the caller reads the reason."""
        raise TaskEnded(State.FAILED, self.reply(reason))

    def block_on(self, coroutine: Coroutine[object, object, T]) -> T:
        """Run a coroutine from the thread of a plain function and wait for it."""
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._dependencies.hub.loop)
        except RuntimeError as error:  # the event loop is closed: the handler was abandoned
            coroutine.close()
            raise RunStopped from error
        return future.result()


class TaskContext(Context):
    """Context of a handler that works on a task."""

    can_ask: bool = True
    accepts_messages: bool = False

    def __init__(
        self,
        dependencies: RunDependencies,
        caller: Caller,
        claimed: ClaimedRun,
        writer: TaskWriter,
        message: Message,
        deadline: float = inf,
    ) -> None:
        stored = claimed.stored
        super().__init__(
            dependencies,
            stored.scope,
            caller,
            stored.context_id,
            message,
            SkillView(stored.skill, stored.hidden_skills),
        )
        self._task_id = stored.wire_id
        self._deadline = deadline
        self.attempt = stored.epoch
        self._writer = writer
        self._records = claimed.records

    @cached_property
    def deadline(self) -> datetime | None:
        """The time at which the run times out; ``None`` without a timeout."""
        clock = self._dependencies.clock
        if self._deadline == inf:
            return None
        return to_datetime(clock.millis() + round((self._deadline - clock.monotonic()) * 1000))

    def _add_usage(self, report: UsageReport) -> None:
        super()._add_usage(report)
        self._writer.add_usage(report)

    async def incoming(self) -> AsyncGenerator[Message, None]:
        """Yield the messages that are sent to the task while it runs, as they arrive, for as long
        as the handler asks for them.

        A later run gets them again from the first one. Declare the skill with
        ``accepts_messages=True``.
        """
        if not self.accepts_messages:
            raise TypeError(
                "ctx.incoming: the skill accepts no messages; declare it with accepts_messages=True"
            )
        await self._writer.require_task()
        while True:
            yield await self._inbox.take()

    @cached_property
    def _inbox(self) -> Inbox:
        return Inbox(self._dependencies.store, self._writer.stored)

    def notify_message(self) -> None:
        """Look for new messages soon; a no-op if the handler does not wait for them."""
        if "_inbox" in vars(self):
            self._inbox.wake()

    @cached_property
    def _replay(self) -> replay.Replay:
        return replay.Replay(self._records)

    @property
    def task_id(self) -> str:
        """The id of the task."""
        return self._task_id

    async def history(self) -> Sequence[Message]:
        """Read the messages of this task, also those that have arrived during the run."""
        stored = await self._dependencies.store.load_task(
            self.scope, self.task_id, include_artifacts=False
        )
        if stored:
            return stored.task.model.history or ()
        return ()

    async def wait_ended(self) -> None:
        """Wait until the task has ended, also after this run: what a question has left open is then
        of no use.
        """
        await self._dependencies.hub.wait_for(
            self._writer.stored.key, self._writer.last_seq, TERMINAL
        )

    async def status(self, text: str | None = None, *, progress: float | None = None) -> None:
        """Write a status: a text, a progress from 0 to 1, or both.

        Skipped until a repeated run reaches the last recorded answer.
        """
        if not self._replay.is_replaying:
            message = None if text is None else self.reply(text)
            metadata: JsonObject | None = None if progress is None else {"progress": progress}
            await self._writer.write_status(message, metadata)

    async def set_status(self, message: Message) -> None:
        """Write a status with a message."""
        if not self._replay.is_replaying:
            await self._writer.write_status(self.bind(message), None)

    def artifact(
        self, name: str, *, description: str | None = None, metadata: JsonObject | None = None
    ) -> ArtifactWriter:
        """Open an artifact to be written in chunks."""
        return ArtifactWriter(self._writer, name, description=description, metadata=metadata)

    async def flush(self) -> None:
        """Wait until all chunks are stored; every other write, a question and the end do so by
        themselves.
        """
        await self._writer.flush()

    async def once(self, key: str, function: Callable[[], Awaitable[T]]) -> T:
        """Call a function once for all runs and return its result, which must be JSON.

        The result is recorded after the call: if the process dies in between, the next run calls
        the function again.
        """
        record = self._replay.find_result(key)
        if record is None:
            record = ReplayRecord(
                RecordKind.ONCE, key, _JSON.dump_json(_JSON.validate_python(await function()))
            )
            await self._writer.write_record(record)
            self._replay.add_result(record)
        result: T = from_json(record.body, allow_inf_nan=False)
        return result

    async def ask(
        self, question: str | Message, schema: JsonObject | None = None, *, key: str | None = None
    ) -> Answer:
        """Ask the caller.

        Nothing stays in memory: when the answer comes, the handler runs again from the top and gets
        it here.
        """
        return await self._ask(State.INPUT_REQUIRED, question, schema, key)

    def authorization(self, key: str) -> str:
        """Return a text by which the application releases ``require_auth`` of this key
        (``a2a_runtime.local.release``), for it to keep.
        """
        return AuthorizationRequest(self.scope, self.task_id, key).to_text()

    async def require_auth(self, request: str | Message, *, key: str | None = None) -> Answer:
        """Ask the caller for an authorization outside of the protocol, and wait as ``ask`` does.

        The caller answers when it is done, or the application does, see ``authorization``.
        """
        return await self._ask(State.AUTH_REQUIRED, request, None, key)

    async def _ask(
        self,
        state: State,
        question: str | Message,
        schema: JsonObject | None,
        explicit_key: str | None,
    ) -> Answer:
        key = self._replay.next_key(explicit_key)
        expected = replay.fingerprint(state.name, schema)
        answer = self._replay.find_answer(key, expected)
        if answer is not None:
            return Answer(answer)
        if not self.can_ask:
            raise UnsupportedOperationError(
                "The skill asks a question, and this dialect has no way to answer it"
            )
        message = self.bind(question) if isinstance(question, Message) else self.reply(question)
        message = mark_question(message, key, schema)
        await self._writer.suspend(
            state, message, ReplayRecord(RecordKind.QUESTION, key, message.to_json(), expected)
        )
        raise TaskSuspended
