"""Reserved metadata of a task: what a storage has no place for, under names that begin with
``a2a-gen/``.

    a2a-gen/task                 owner and the other facts of the creation;
                                 a task without it belongs to no caller
    a2a-gen/progress             counters: version, last event, epoch; written with every change
    a2a-gen/key/<digest>         an idempotency key of the task, with the hash of its request
    a2a-gen/record/<kind>/<key>  a replay record; null as soon as the task has ended

It is written by the store only, and never leaves it. Members that the storage adds by itself when
it creates a task are remembered and stripped too.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from a2a_contract.errors import InvalidParamsError
from a2a_contract.json_types import is_json_object
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.stores.models import IdempotencyKey, NewTask, RecordKind, ReplayRecord

PREFIX = "a2a-gen/"
FACTS = f"{PREFIX}task"
PROGRESS = f"{PREFIX}progress"
_KEY = f"{PREFIX}key/"
_RECORD = f"{PREFIX}record/"


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """Facts of the creation of a task."""

    scope: TaskScope
    skill: str
    dialect: str
    created: int  # milliseconds since 1970
    hidden_skills: tuple[str, ...] = ()
    own_members: tuple[str, ...] = ()  # metadata of the storage itself


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """Counters of a task."""

    version: int
    last_seq: int
    epoch: int


_FACTS = TypeAdapter(TaskFacts)
_PROGRESS = TypeAdapter(TaskProgress)


@dataclass(frozen=True, slots=True)
class ReservedMetadata:
    """The reserved metadata of a task, and the public rest."""

    facts: TaskFacts
    progress: TaskProgress
    keys: Mapping[str, bytes]
    """Hashes of requests, by the digest of their idempotency keys."""
    records: Sequence[ReplayRecord]
    public: Mapping[str, object]


def parse_metadata(metadata: Mapping[str, object] | None) -> ReservedMetadata | None:
    """Split the metadata of a task; ``None`` if it was not created by this store."""
    members = metadata or {}
    try:
        facts = _FACTS.validate_python(members.get(FACTS))
        progress = _PROGRESS.validate_python(members.get(PROGRESS))
    except ValidationError:
        return None
    keys = {
        name.removeprefix(_KEY): base64.b64decode(str(value))
        for name, value in members.items()
        if name.startswith(_KEY)
    }
    records = [
        _parse_record(name, value)
        for name, value in members.items()
        if name.startswith(_RECORD) and is_json_object(value)
    ]
    public = {
        name: value
        for name, value in members.items()
        if not name.startswith(PREFIX) and name not in facts.own_members
    }
    return ReservedMetadata(facts, progress, keys, records, public)


def parse_progress(metadata: Mapping[str, object] | None) -> TaskProgress | None:
    """Return the counters of a task."""
    found = parse_metadata(metadata)
    if found is None:
        return None
    return found.progress


def encode_facts(
    scope: TaskScope, new: NewTask, created: int, own_members: Iterable[str]
) -> dict[str, object]:
    """Encode the facts of a new task, with the metadata that it begins with."""
    facts = TaskFacts(
        scope, new.skill, new.dialect, created, tuple(new.hidden_skills), tuple(own_members)
    )
    keys = {} if new.idempotency_key is None else encode_key(scope, new.idempotency_key)
    records = {} if new.record is None else encode_record(new.record)
    return {**new.metadata, **keys, **records, FACTS: _FACTS.dump_python(facts, mode="json")}


def encode_progress(version: int, last_seq: int, epoch: int) -> dict[str, object]:
    """Encode the counters of a task."""
    return {PROGRESS: _PROGRESS.dump_python(TaskProgress(version, last_seq, epoch))}


def hash_key(scope: TaskScope, key: IdempotencyKey) -> str:
    """Return the idempotency key for the storage: one that carries the scope, so that no other
    caller has it.
    """
    return hashlib.sha256(repr((*scope, key.context_id, key.key)).encode()).hexdigest()


def encode_key(scope: TaskScope, key: IdempotencyKey) -> dict[str, object]:
    """Encode an idempotency key."""
    return {_KEY + hash_key(scope, key): base64.b64encode(key.request_hash).decode()}


def encode_record(record: ReplayRecord) -> dict[str, object]:
    """Encode a replay record."""
    return {
        _name_record(record.kind, record.key): {
            "body": record.body.decode(),
            "fingerprint": record.fingerprint,
        }
    }


def clear_records(records: Iterable[ReplayRecord]) -> dict[str, object]:
    """Encode that records are needed no more."""
    return {_name_record(record.kind, record.key): None for record in records}


def refuse_reserved(metadata: Mapping[str, object] | None) -> None:
    """Raise ``InvalidParamsError`` for metadata with a reserved name."""
    for name in metadata or ():
        if name.startswith(PREFIX):
            raise InvalidParamsError(
                f"metadata: {name!r} is reserved for the store; use a name that does not "
                f"begin with {PREFIX!r}"
            )


def _name_record(kind: RecordKind, key: str) -> str:
    return f"{_RECORD}{kind}/{key}"


def _parse_record(name: str, value: Mapping[str, object]) -> ReplayRecord:
    kind, _, key = name.removeprefix(_RECORD).partition("/")
    return ReplayRecord(
        RecordKind(kind), key, str(value["body"]).encode(), str(value["fingerprint"])
    )
