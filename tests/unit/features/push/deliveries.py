"""Deliveries to write and to judge, made by a real store."""

from __future__ import annotations

from a2a_contract.dialects import CANONICAL
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Part, Role, TaskPushNotificationConfig
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.models import Delivery, NewTask, TaskChange
from a2a_runtime.testing.store_contract.case import write_artifact

SCOPE = TaskScope("/agent", "acme", "ada")


async def deliveries(
    config: TaskPushNotificationConfig, dialect: str = CANONICAL.name
) -> list[Delivery]:
    """Run a task from its begin to its end, and take all that is due for one webhook of it, late:
    when the task has ended long ago.
    """
    store = MemoryStore()
    message = Message(message_id="m-1", role=Role.USER, parts=[Part(text="go")])
    stored = (
        await store.create_task(
            SCOPE, NewTask("c-1", message, "echo", dialect, wire_id="t-1", push_config=config)
        )
    ).stored
    chunk = write_artifact(Artifact(artifact_id="report", parts=[Part(text="x")]), append=True)
    for change in (
        TaskChange(state=State.WORKING),
        TaskChange(chunks=[chunk]),
        TaskChange(chunks=[chunk]),
        TaskChange(state=State.COMPLETED),
    ):
        await store.update_task(SCOPE, stored.key, change)
    taken = []
    while batch := await store.claim_due(30):
        taken += batch
        for delivery in batch:
            await store.mark_delivered(delivery)
    return taken
