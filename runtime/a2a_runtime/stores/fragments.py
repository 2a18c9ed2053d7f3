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
from typing import NamedTuple

from pydantic import TypeAdapter

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message
from a2a_runtime.clock import timestamp

NO_MEMBERS = b"{}"

_text = json.JSONEncoder(ensure_ascii=False).encode
_MEMBERS = TypeAdapter(dict[str, object])
_free = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_NOTHING = (None, None, None, None)
_PARTS = b'"parts":[]'
_STATUS_OF = {state: f'{{"state":"{state}"'.encode() for state in State}  # the value of a state is its canonical word


class Chunk(NamedTuple):
    """Some parts of an artifact, and what the writer said about the artifact with them: the artifact without its parts, or nothing."""

    facts: bytes
    parts: bytes


def object_bytes(members: Mapping[str, object]) -> bytes:
    """Write free JSON."""
    return _free(members).encode()


def merged(members: bytes, more: Mapping[str, object]) -> bytes:
    """Merge free JSON key by key, not in depth; keys that are there already keep their place."""
    return object_bytes({**members_of(members), **more})


def members_of(text: bytes) -> dict[str, object]:
    """Read free JSON."""
    return _MEMBERS.validate_json(text)


def message(said: Message, wire_id: str, context_id: str) -> bytes:
    """Write a message as one of this task; the one that was passed in stays as it is."""
    return said.model_copy(update={"task_id": wire_id, "context_id": context_id}).to_json()


def status(state: State, at: int, said: bytes | None) -> bytes:
    """Write a status."""
    text = b"" if said is None else b',"message":' + said
    return b'%b%b,"timestamp":"%b"}' % (_STATUS_OF[state], text, timestamp(at).encode())


def chunk(artifact: Artifact) -> Chunk:
    """Cut an artifact into what is said about it and its parts."""
    parts = b",".join([part.to_json() for part in artifact.parts])
    if (artifact.name, artifact.description, artifact.metadata, artifact.extensions) == _NOTHING:
        return Chunk(b"", parts)
    return Chunk(artifact.model_copy(update={"parts": []}).to_json(), parts)


def join_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Make one chunk of several: their parts in order, and what the later ones say about the artifact over what the earlier ones said."""
    told = [facts for facts, _ in chunks if facts]
    return Chunk(_joined_facts(told) if len(told) > 1 else b"".join(told), b",".join([parts for _, parts in chunks if parts]))


def _joined_facts(told: Sequence[bytes]) -> bytes:
    return reduce(told_over, map(Artifact.model_validate_json, told)).to_json()


def told_over(first: Artifact, more: Artifact) -> Artifact:
    """Continue an artifact: the parts of both, and what is said later over what was said before; metadata is merged key by key."""
    told = {
        name: value for name, value in (("name", more.name), ("description", more.description), ("extensions", more.extensions)) if value is not None
    }
    metadata = more.metadata if first.metadata is None else {**first.metadata, **(more.metadata or {})}
    return first.model_copy(update={**told, "metadata": metadata, "parts": [*first.parts, *more.parts]})


def artifact(artifact_id: str, chunks: Sequence[Chunk]) -> bytes:
    """Write a whole artifact."""
    facts, parts = chunks[0] if len(chunks) == 1 else join_chunks(chunks)
    if not facts:
        return b'{"artifactId":%b,"parts":[%b]}' % (_text(artifact_id).encode(), parts)
    # The first one is the member itself: what stands before it are strings, in which a quote is escaped.
    before, _, after = facts.partition(_PARTS)
    return b'%b"parts":[%b]%b' % (before, parts, after)


class Pieces(NamedTuple):
    """What a task is joined from."""

    status: bytes
    artifacts: Iterable[bytes] = ()
    history: Sequence[bytes] = ()
    metadata: bytes = NO_MEMBERS


def task(wire_id: str, context_id: str, pieces: Pieces) -> bytes:
    """Join a task."""
    artifacts = b",".join(pieces.artifacts)
    return b'{"id":%b,"contextId":%b,"status":%b%b%b%b}' % (
        _text(wire_id).encode(),
        _text(context_id).encode(),
        pieces.status,
        b',"artifacts":[%b]' % artifacts if artifacts else b"",
        b',"history":[%b]' % b",".join(pieces.history) if pieces.history else b"",
        b',"metadata":' + pieces.metadata if pieces.metadata != NO_MEMBERS else b"",
    )


def newest(history: Sequence[bytes], length: int | None) -> Sequence[bytes]:
    """Choose the last messages of a history: all of them when the length is unset."""
    if length is None:
        return history
    return history[-length:] if length else ()


def task_event(body: bytes) -> bytes:
    """Write the event that shows the whole task."""
    return b'{"task":%b}' % body


def status_event(wire_id: str, context_id: str, body: bytes, metadata: bytes | None) -> bytes:
    """Write the event of a new status."""
    more = b"" if metadata is None else b',"metadata":' + metadata
    return b'{"statusUpdate":{"taskId":%b,"contextId":%b,"status":%b%b}}' % (_text(wire_id).encode(), _text(context_id).encode(), body, more)


def artifact_event(wire_id: str, context_id: str, body: bytes, *, append: bool, last_chunk: bool) -> bytes:
    """Write the event of a new artifact or chunk."""
    flags = (b',"append":true' if append else b"") + (b',"lastChunk":true' if last_chunk else b"")
    return b'{"artifactUpdate":{"taskId":%b,"contextId":%b,"artifact":%b%b}}' % (_text(wire_id).encode(), _text(context_id).encode(), body, flags)
