"""What a handler sees of the world, and all that it can do to its task.

``Context`` is what every handler has. ``TaskContext`` adds what needs a task: news, artifacts, questions. How a handler is run again, and what
these calls then do, is told once, in the head of this package.
"""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Protocol, Self, TypeAlias, TypeVar

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from a2a_contract.base import JSON_NULL, JsonAny, JsonObject
from a2a_contract.errors import InvalidParamsError, UnsupportedOperationError
from a2a_contract.json_types import is_json_object
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Part, Role, Task
from a2a_runtime.caller import Caller, TaskScope
from a2a_runtime.clock import to_datetime
from a2a_runtime.execution import replay, results
from a2a_runtime.execution.replay import EMPTY_REQUEST_INFO, RequestInfo
from a2a_runtime.execution.signals import RunStopped, TaskEnded, TaskSuspended
from a2a_runtime.execution.writer import TaskWriter
from a2a_runtime.ids import IdGenerator
from a2a_runtime.stores.base import ClaimedRun, RecordKind, ReplayRecord, Store

# Writing an artifact piece by piece, as a handler does it.
#
#     async with ctx.artifact("report") as report:
#         await report.text("first line")
#         await report.text("last line", last=True)
#
# Each call is one chunk, committed when it returns, and one event for those who follow.
#

Bytes: TypeAlias = bytes  # the class below has a method of that name

_BYTES = "application/octet-stream"


class ArtifactWriter:
    """An artifact of a task, known by its name; another writer of the same name goes on where this one ended."""

    def __init__(self, writer: TaskWriter, name: str, *, description: str | None = None, metadata: JsonObject | None = None) -> None:
        self._writer, self._name, self._description, self._metadata = writer, name, description, metadata
        self._is_complete = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._is_complete = True

    async def text(self, text: str, *, last: bool = False, media_type: str | None = None) -> None:
        """Write a piece of text."""
        await self.write(Part(text=text, media_type=media_type), last=last)

    async def json(self, value: object, *, last: bool = False, media_type: str | None = None) -> None:
        """Write a piece of JSON, ``None`` being null."""
        await self.write(Part(data=JSON_NULL if value is None else value, media_type=media_type), last=last)

    async def bytes(self, data: Bytes, *, last: bool = False, media_type: str = _BYTES) -> None:
        """Write some bytes."""
        await self.write(Part(raw=data, media_type=media_type), last=last)

    async def file(self, source: Path | Bytes, *, name: str | None = None, media_type: str | None = None, last: bool = False) -> None:
        """Write a whole file, from its path or its content."""
        if isinstance(source, Path):
            name = name or source.name
            data = await asyncio.to_thread(source.read_bytes)
        else:
            data = source
        media_type = media_type or (mimetypes.guess_type(name)[0] if name else None) or _BYTES
        await self.write(Part(raw=data, filename=name, media_type=media_type), last=last)

    async def link(self, url: str, *, name: str | None = None, media_type: str | None = None, last: bool = False) -> None:
        """Write a reference to a file that can be fetched elsewhere."""
        await self.write(Part(url=url, filename=name, media_type=media_type), last=last)

    async def write(self, *parts: Part, last: bool = False) -> None:
        """Write ready-made parts as one chunk; ``last`` tells readers that the artifact is complete."""
        if self._is_complete:
            raise ValueError(f"artifact {self._name!r} is complete: nothing can be written to it any more")
        chunk = Artifact(artifact_id=self._name, name=self._name, description=self._description, parts=list(parts), metadata=self._metadata)
        await self._writer.write_artifact(chunk, last_chunk=last)
        self._is_complete = last


# Fetching what a message refers to, without becoming a tool of whoever wrote the message.
#
# The port only; the dialler that guards against private addresses comes with whoever composes the runtime. Without one, nothing is fetched.
#


class Fetcher(Protocol):
    """Fetches from addresses that strangers name."""

    async def fetch(self, url: str) -> bytes:
        """Get the content behind a URL, or raise what speaks against it."""
        ...


class NoFetcher:
    """Fetches nothing, and says so."""

    async def fetch(self, url: str) -> bytes:
        """Refuse."""
        raise UnsupportedOperationError(f"Files are not fetched from URLs, as no guarded dialler is configured: {url}")


T = TypeVar("T")

QUESTION_KEY = "a2a-gen/question"
"""Member of a question's metadata: its key, and the schema of the answer when there is one."""

_JSON: TypeAdapter[object] = TypeAdapter(JsonAny)


@dataclass(frozen=True, slots=True)
class ContextDependencies:
    """What the contexts of a process have in common."""

    store: Store
    ids: IdGenerator
    fetcher: Fetcher


@dataclass(frozen=True, slots=True)
class Answer:
    """What the caller has answered to a question."""

    message: Message

    @property
    def text(self) -> str:
        """The texts of the answer."""
        return results.join_texts(self.message.parts)

    @property
    def data(self) -> object:
        """The first piece of JSON in the answer; ``None`` when it has none."""
        return results.find_data(self.message.parts)


class ContextState:
    """What the tasks of a conversation remember together: one JSON object."""

    def __init__(self, store: Store, scope: TaskScope, context_id: str) -> None:
        self._store, self._scope, self._context_id = store, scope, context_id

    async def load(self) -> Mapping[str, object]:
        """Read it; empty when nothing was written."""
        return await self._store.load_context(self._scope, self._context_id) or {}

    async def update(self, data: Mapping[str, object]) -> None:
        """Put this in its place."""
        await self._store.update_context(self._scope, self._context_id, data)


class Context:
    """What every handler has: the message, who sent it, the conversation, and ways to refuse."""

    request: RequestInfo = EMPTY_REQUEST_INFO
    """What the request said beside the message: its metadata, the media types that the caller can take, the extensions in effect."""

    def __init__(self, dependencies: ContextDependencies, scope: TaskScope, caller: Caller, context_id: str, message: Message) -> None:
        self._dependencies, self._scope = dependencies, scope
        self._loop = asyncio.get_running_loop()
        self.caller, self.context_id = caller, context_id
        self.is_cancelled = False
        self._message = message
        self._deadline: int | None = None

    @property
    def task_id(self) -> str | None:
        """The id of the task, where there is one."""
        return None

    @property
    def message(self) -> Message:
        """The message that asks for the work, with the ids of the conversation and the task."""
        return self.bind(self._message)

    @property
    def text(self) -> str:
        """The texts of the message."""
        return results.join_texts(self._message.parts)

    @property
    def data(self) -> object:
        """The first piece of JSON in the message; ``None`` when it has none."""
        return results.find_data(self._message.parts)

    @property
    def scope(self) -> TaskScope:
        """Whose room this is. With it and the id of the task, ``Engine.message`` answers from elsewhere what the task asks its caller."""
        return self._scope

    @property
    def tenant(self) -> str:
        """For which customer the agent was called; empty for none."""
        return self._scope.tenant

    @property
    def state(self) -> ContextState:
        """What the tasks of the conversation remember together."""
        return ContextState(self._dependencies.store, self._scope, self.context_id)

    @property
    def deadline(self) -> datetime | None:
        """When the run has to be done."""
        return None if self._deadline is None else to_datetime(self._deadline)

    def bind(self, message: Message) -> Message:
        """Give a message the ids of this conversation and its task."""
        return message.model_copy(update={"task_id": self.task_id, "context_id": self.context_id})

    async def conversation(self, limit: int = 100) -> Sequence[Message]:
        """Read the newest messages of the conversation, oldest first, over all of its tasks."""
        return await self._dependencies.store.load_conversation(self._scope, self.context_id, limit)

    async def referenced_tasks(self) -> Sequence[Task]:
        """Read the tasks that the message refers to, as far as they are there for its sender."""
        found = [await self._dependencies.store.load_task(self._scope, wire_id) for wire_id in self.message.reference_task_ids or ()]
        return [stored.task.model for stored in found if stored is not None]

    async def fetch(self, part: Part) -> bytes:
        """Get the content of a part: what it holds, or what its URL refers to."""
        if part.url is not None:
            return await self._dependencies.fetcher.fetch(part.url)
        if part.raw is not None:
            return part.raw
        if part.text is not None:
            return part.text.encode()
        return to_json(part.data)

    def reply(self, *values: object) -> Message:
        """Make a message of the agent from texts, JSON, bytes and parts."""
        parts = [part for value in values for part in results.to_parts(value)]
        return Message(message_id=self._dependencies.ids.new(), context_id=self.context_id, task_id=self.task_id, role=Role.AGENT, parts=parts)

    def reject(self, reason: str) -> NoReturn:
        """Refuse to do what the message asks for."""
        raise TaskEnded(State.REJECTED, self.reply(reason))

    def fail(self, reason: str) -> NoReturn:
        """Give up; the caller gets to read the reason."""
        raise TaskEnded(State.FAILED, self.reply(reason))

    def block_on(self, call: Coroutine[object, object, T]) -> T:
        """Wait, in the thread of a plain function, for something async."""
        try:
            waiting = asyncio.run_coroutine_threadsafe(call, self._loop)
        except RuntimeError as error:  # the loop is closed: the process has left this handler behind
            call.close()
            raise RunStopped from error
        return waiting.result()


class TaskContext(Context):
    """What a handler has that works on a task."""

    can_ask: bool = True

    def __init__(self, dependencies: ContextDependencies, caller: Caller, claimed: ClaimedRun, writer: TaskWriter, message: Message) -> None:
        super().__init__(dependencies, claimed.stored.scope, caller, claimed.stored.context_id, message)
        self._task_id = claimed.stored.wire_id
        self.attempt = claimed.attempt
        self._writer = writer
        self._records = claimed.records
        if claimed.records:
            self.request = RequestInfo.from_records(claimed.records)

    @cached_property
    def _replay(self) -> replay.Replay:
        return replay.Replay.from_records(self._records)

    @property
    def task_id(self) -> str:
        """The id of the task, as its client knows it."""
        return self._task_id

    def set_deadline(self, millis: int) -> None:
        """Say when the run has to be done."""
        self._deadline = millis

    async def history(self) -> Sequence[Message]:
        """Read the messages of this task as they are now, also those that have come in while it runs."""
        stored = await self._dependencies.store.load_task(self._scope, self.task_id, include_artifacts=False)
        return stored.task.model.history or () if stored else ()

    async def status(self, text: str | None = None, *, progress: float | None = None) -> None:
        """Say how it goes, in words, as a number from 0 to 1, or both; not again what was said before the last recorded answer."""
        if not self._replay.is_replaying:
            metadata: JsonObject | None = None if progress is None else {"progress": progress}
            await self._writer.write_status(None if text is None else self.reply(text), metadata)

    async def set_status(self, message: Message) -> None:
        """Make a message what the task's status says."""
        if not self._replay.is_replaying:
            await self._writer.write_status(self.bind(message), None)

    def artifact(self, name: str, *, description: str | None = None, metadata: JsonObject | None = None) -> ArtifactWriter:
        """Open an artifact to be written piece by piece."""
        return ArtifactWriter(self._writer, name, description=description, metadata=metadata)

    async def once(self, key: str, function: Callable[[], Awaitable[T]]) -> T:
        """Do something that no later run is to do again, and give back its result, which must be JSON.

        The result is recorded when the function is done: if the process dies in between, it is done again.
        """
        body = self._replay.results.get(key)
        if body is None:
            body = _JSON.dump_json(_JSON.validate_python(await function()))
            await self._writer.write_record(ReplayRecord(RecordKind.ONCE, key, body))
            self._replay.results[key] = body
        result: T = from_json(body, allow_inf_nan=False)
        return result

    async def ask(self, question: str | Message, schema: JsonObject | None = None, *, key: str | None = None) -> Answer:
        """Ask the caller, and wait for the answer without keeping anything in memory: the handler runs again from the top when it comes."""
        return await self._ask(State.INPUT_REQUIRED, question, schema, key)

    async def require_auth(self, request: str | Message, *, key: str | None = None) -> Answer:
        """Ask the caller to authorize something elsewhere, and wait like ``ask``."""
        return await self._ask(State.AUTH_REQUIRED, request, None, key)

    async def _ask(self, state: State, question: str | Message, schema: JsonObject | None, explicit_key: str | None) -> Answer:
        key, wanted = self._replay.next_key(explicit_key), replay.fingerprint(state.name, schema)
        answer = self._replay.find_answer(key, wanted)
        if answer is not None:
            return Answer(answer)
        if not self.can_ask:
            raise UnsupportedOperationError("The skill asks something, and nobody can answer here")
        message = self.bind(question) if isinstance(question, Message) else self.reply(question)
        asked: dict[str, object] = {"key": key} if schema is None else {"key": key, "schema": schema}
        message = message.model_copy(update={"metadata": {**(message.metadata or {}), QUESTION_KEY: asked}})
        await self._writer.suspend(state, message, ReplayRecord(RecordKind.QUESTION, key, message.to_json(), wanted))
        raise TaskSuspended


def parse_question_key(question: Message | None) -> str:
    """Read the key of the question that a parked task waits with."""
    told = (question.metadata or {}).get(QUESTION_KEY) if question else None
    if is_json_object(told) and isinstance(key := told.get("key"), str):
        return key
    raise InvalidParamsError("The task asks nothing that could be answered")
