"""Canonical JSON of a task, put together from the bytes of its pieces.

A store keeps a message, the parts of a chunk or a status as the JSON it will be read as, and never parses it again: whatever free JSON a client sent
(key order, nulls, integers of forty digits) comes back as it was. To read a task is to join its pieces, to leave out its artifacts or old messages is
not to pick them, and an event consists of the same pieces again.

The order of members is that of the models, so that a joined task is, byte by byte, what the model would write.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeAlias

from pydantic import TypeAdapter
from pydantic_core import to_json

from a2a_contract.base import Encoded
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Task
from a2a_runtime.caller import TaskScope
from a2a_runtime.clock import to_datetime, to_rfc3339
from a2a_runtime.stores.models import StoredTask

EMPTY_OBJECT = b"{}"

_OBJECT = TypeAdapter(dict[str, object])
_serialize_message, _serialize_artifact = TypeAdapter(Message).serializer.to_json, TypeAdapter(Artifact).serializer.to_json
_encode_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_NO_FACTS = (None, None, None)
_ID_FIELDS, _ALL_PARTS = {"message_id", "context_id", "task_id"}, {"parts": {"__all__"}}
_EMPTY_PARTS = b'"parts":[]'
_STATUS_PREFIXES = {state: f'{{"state":"{state}"'.encode() for state in State}  # the value of a state is its canonical word


class Chunk(NamedTuple):
    """Some parts of an artifact, and what the writer said about the artifact with them: the artifact without its parts, or nothing."""

    facts: bytes
    parts: bytes


def encode_object(members: Mapping[str, object]) -> bytes:
    """Write free JSON."""
    return _encode_json(members).encode()


def merge_object(members: bytes, more: Mapping[str, object]) -> bytes:
    """Merge free JSON key by key, not in depth; keys that are there already keep their place."""
    return encode_object({**decode_object(members), **more})


def decode_object(text: bytes) -> dict[str, object]:
    """Read free JSON."""
    return _OBJECT.validate_json(text)


def encode_message(message: Message, wire_id: str, context_id: str) -> bytes:
    """Write a message as one of this task; the one that was passed in stays as it is."""
    rest = _serialize_message(message, exclude_none=True, exclude=_ID_FIELDS)  # never empty: it begins with the role
    return b'{"messageId":%b,"contextId":%b,"taskId":%b,%b' % (to_json(message.message_id), to_json(context_id), to_json(wire_id), rest[1:])


def encode_status(state: State, at: int, message: bytes | None) -> bytes:
    """Write a status."""
    text = b"" if message is None else b',"message":' + message
    return b'%b%b,"timestamp":"%b"}' % (_STATUS_PREFIXES[state], text, to_rfc3339(at).encode())


def encode_chunk(artifact: Artifact) -> Chunk:
    """Cut an artifact into what is said about it and its parts."""
    parts = b",".join([part.to_json() for part in artifact.parts])
    if (artifact.description, artifact.metadata, artifact.extensions) == _NO_FACTS:
        if artifact.name is None:
            return Chunk(b"", parts)
        # As the model would, which takes four times as long to leave out the parts: this is what most chunks say.
        return Chunk(b'{"artifactId":%b,"name":%b,"parts":[]}' % (to_json(artifact.artifact_id), to_json(artifact.name)), parts)
    return Chunk(_serialize_artifact(artifact, exclude_none=True, exclude=_ALL_PARTS), parts)


def join_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Make one chunk of several: their parts in order, and what the later ones say about the artifact over what the earlier ones said."""
    if len(chunks) == 1:
        return chunks[0]
    told = [facts for facts, _ in groupby([facts for facts, _ in chunks if facts])]  # mostly the same, again and again
    return Chunk(_merge_facts(told) if len(told) > 1 else b"".join(told), b",".join([parts for _, parts in chunks if parts]))


def _merge_facts(facts: Sequence[bytes]) -> bytes:
    return reduce(merge_artifacts, map(Artifact.model_validate_json, facts)).to_json()


def merge_artifacts(first: Artifact, more: Artifact) -> Artifact:
    """Continue an artifact: the parts of both, and what is said later over what was said before; metadata is merged key by key."""
    told = {
        name: value for name, value in (("name", more.name), ("description", more.description), ("extensions", more.extensions)) if value is not None
    }
    metadata = more.metadata if first.metadata is None else {**first.metadata, **(more.metadata or {})}
    return first.model_copy(update={**told, "metadata": metadata, "parts": [*first.parts, *more.parts]})


def encode_artifact(artifact_id: str, chunks: Sequence[Chunk]) -> bytes:
    """Write a whole artifact."""
    facts, parts = join_chunks(chunks)
    if not facts:
        return b'{"artifactId":%b,"parts":[%b]}' % (to_json(artifact_id), parts)
    # The first one is the member itself: what stands before it are strings, in which a quote is escaped.
    before, _, after = facts.partition(_EMPTY_PARTS)
    return b'%b"parts":[%b]%b' % (before, parts, after)


class TaskFragments(NamedTuple):
    """What a task is joined from."""

    status: bytes
    artifacts: Iterable[bytes] = ()
    history: Sequence[bytes] = ()
    metadata: bytes = EMPTY_OBJECT


def encode_ids(wire_id: str, context_id: str) -> bytes:
    """Write the ids of a task as they stand in it, and in each of its events, after the name of the first."""
    return b'%b,"contextId":%b' % (to_json(wire_id), to_json(context_id))


def encode_task(ids: bytes, pieces: TaskFragments) -> bytes:
    """Join a task from its ids and the rest."""
    artifacts = b",".join(pieces.artifacts)
    return b'{"id":%b,"status":%b%b%b%b}' % (
        ids,
        pieces.status,
        b',"artifacts":[%b]' % artifacts if artifacts else b"",
        b',"history":[%b]' % b",".join(pieces.history) if pieces.history else b"",
        b',"metadata":' + pieces.metadata if pieces.metadata != EMPTY_OBJECT else b"",
    )


def select_newest(history: Sequence[bytes], length: int | None) -> Sequence[bytes]:
    """Choose the last messages of a history: all of them when the length is unset."""
    if length is None:
        return history
    return history[-length:] if length else ()


def encode_task_event(body: bytes) -> bytes:
    """Write the event that shows the whole task."""
    return b'{"task":%b}' % body


def encode_status_event(ids: bytes, body: bytes, metadata: bytes | None) -> bytes:
    """Write the event of a new status."""
    more = b"" if metadata is None else b',"metadata":' + metadata
    return b'{"statusUpdate":{"taskId":%b,"status":%b%b}}' % (ids, body, more)


def encode_artifact_event(ids: bytes, body: bytes, *, append: bool, last_chunk: bool) -> bytes:
    """Write the event of a new artifact or chunk."""
    flags = (b',"append":true' if append else b"") + (b',"lastChunk":true' if last_chunk else b"")
    return b'{"artifactUpdate":{"taskId":%b,"artifact":%b%b}}' % (ids, body, flags)


# What a row of the table of tasks means; its columns have the same names in every database.

ChunkColumns: TypeAlias = tuple[str, bytes, bytes]
"""The id of an artifact, what is said about it, and some of its parts."""


class TaskRow(Protocol):
    """A row as a driver gives it, which knows the types of its columns only when it runs."""

    def __getitem__(self, column: str, /) -> Any:  # noqa: ANN401 - so say the drivers
        """Read a column."""


def to_stored_task(row: TaskRow, history: Sequence[bytes], chunks: Iterable[ChunkColumns]) -> StoredTask:
    """Make a task of its row and what hangs on it; the chunks of one artifact stand together, in the order in which they came."""
    artifacts = [encode_artifact(name, [Chunk(*chunk[1:]) for chunk in own]) for name, own in groupby(chunks, key=itemgetter(0))]
    pieces = TaskFragments(row["status"], artifacts, history, row["metadata"])
    return StoredTask(
        key=str(row["key"]),
        wire_id=row["wire_id"],
        context_id=row["context_id"],
        scope=TaskScope.from_text(row["scope"]),
        skill=row["skill"],
        dialect=row["dialect"],
        state=State(row["state"]),
        version=row["version"],
        last_seq=row["last_seq"],
        epoch=row["epoch"],
        process=row["process"],
        cancel_requested=bool(row["cancel_requested"]),
        updated_at=to_datetime(row["status_at"]),
        task=Encoded.raw(Task, encode_task(encode_ids(row["wire_id"], row["context_id"]), pieces)),
    )
