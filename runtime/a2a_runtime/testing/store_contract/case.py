"""Fixtures and builders of the contract tests."""

# ruff: noqa: S101 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

import pytest
from msgspec.structs import replace

from a2a_contract.base import Encoded
from a2a_contract.dialects import CANONICAL, MESH
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Part, Role, Task, TaskPushNotificationConfig
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.fragments import encode_chunk
from a2a_runtime.stores.models import ChunkWrite, IdempotencyKey, NewTask, StoredTask, TaskChange
from a2a_runtime.testing.clock import FakeClock

SCOPE = TaskScope("/agent", "acme", "ada")
_EMPTY = Encoded(Task, b"{}")
HOUR_SECONDS = 3600.0
LEASE_SECONDS = 10.0
REUSE_SECONDS = 300.0


class StoreCase:
    """Fixtures; a subclass provides ``store``."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio, as the runtime does."""
        return "asyncio"

    @pytest.fixture
    def clock(self) -> FakeClock:
        """Provide a clock that only the test moves."""
        return FakeClock()

    @pytest.fixture
    def options(self, clock: FakeClock) -> StoreOptions:
        """Provide the options for the store."""
        return StoreOptions(
            clock=clock,
            retention_seconds=HOUR_SECONDS,
            dialect_retention_seconds={MESH.name: HOUR_SECONDS / 2},
            conversation_retention_seconds=2 * HOUR_SECONDS,
            max_conversation_messages=5,
            lease_seconds=LEASE_SECONDS,
            wire_id_reuse_seconds=REUSE_SECONDS,
        )

    @pytest.fixture
    def store(self) -> Store:
        """Provide the store under test."""
        raise NotImplementedError(
            "Subclasses of StoreContract hand in their store with a fixture `store`"
        )


def build_message(text: str = "hello", message_id: str = "m-1", **members: object) -> Message:
    """Build a message."""
    return Message.model_validate(
        {"message_id": message_id, "role": Role.USER, "parts": [Part(text=text)], **members}
    )


def build_reply(task: StoredTask, text: str) -> Message:
    """Build a message about a task."""
    return build_message(text, f"m-{text}", task_id=task.wire_id, context_id=task.context_id)


def build_artifact(artifact_id: str, *texts: str, **members: object) -> Artifact:
    """Build an artifact of texts."""
    return Artifact.model_validate(
        {"artifact_id": artifact_id, "parts": [Part(text=text) for text in texts], **members}
    )


def write_artifact(
    artifact: Artifact, *, append: bool = False, last_chunk: bool = False
) -> ChunkWrite:
    """Build a write of an artifact."""
    return ChunkWrite(encode_chunk(artifact), append, last_chunk)


def replace_artifact(artifact_id: str, *texts: str) -> ChunkWrite:
    """Build a write that replaces an artifact."""
    return write_artifact(build_artifact(artifact_id, *texts))


def append_artifact(artifact_id: str, *texts: str) -> ChunkWrite:
    """Build a write that appends to an artifact."""
    return write_artifact(build_artifact(artifact_id, *texts), append=True)


async def clean_up(store: Store) -> int:
    """Delete what has expired, in as many batches as it takes; return their number."""
    batches = 0
    while await store.delete_expired(2):
        batches += 1
    return batches


def build_new_task(
    *,
    context_id: str = "c-1",
    text: str = "hello",
    wire_id: str | None = None,
    idempotency_key: IdempotencyKey | None = None,
    process: str | None = None,
    push_config: TaskPushNotificationConfig | None = None,
) -> NewTask:
    """Build the arguments of a creation."""
    message = build_message(text)
    return NewTask(
        context_id,
        message,
        "echo",
        CANONICAL.name,
        wire_id=wire_id,
        idempotency_key=idempotency_key,
        process=process,
        push_config=push_config,
    )


async def create_task(
    store: Store, new: NewTask | None = None, scope: TaskScope = SCOPE
) -> StoredTask:
    """Create a task."""
    return (await store.create_task(scope, new or build_new_task())).stored


async def load_task(store: Store, task: StoredTask) -> StoredTask:
    """Load a task that exists."""
    found = await store.load_task(task.scope, task.wire_id)
    assert found is not None
    return found


async def end_task(store: Store, task: StoredTask, state: State = State.COMPLETED) -> StoredTask:
    """End a task."""
    await store.update_task(task.scope, task.key, TaskChange(state=state))
    return await load_task(store, task)


def get_artifact_texts(task: StoredTask) -> dict[str, list[str | None]]:
    """Return the texts of all artifacts of a task."""
    return {
        each.artifact_id: [part.text for part in each.parts]
        for each in task.task.model.artifacts or []
    }


def to_comparable(task: StoredTask) -> tuple[StoredTask, bytes]:
    """Split a task into its hidden members and its JSON, for comparison."""
    return replace(task, task=_EMPTY), task.task.json
