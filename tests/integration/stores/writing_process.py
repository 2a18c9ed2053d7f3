"""A process that writes to a file until it is killed, and prints each acknowledged version."""

from __future__ import annotations

import asyncio
import sys

from a2a_contract.dialects import CANONICAL
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Part, Role
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.stores import StoreOptions
from a2a_runtime.stores.models import NewTask, TaskChange
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing import fail_points
from a2a_runtime.testing.store_contract.case import write_artifact

SCOPE = TaskScope("/agent", "acme", "ada")
RESULT = Artifact(artifact_id="result", parts=[Part(text="x" * 1000)])
WRITERS = 8


async def write(store: SqliteStore, writer: int) -> None:
    """Run one task after another."""
    for n in range(100_000):
        message = Message(message_id=f"{writer}-{n}", role=Role.USER, parts=[Part(text="go")])
        task = (
            await store.create_task(SCOPE, NewTask(f"c-{writer}", message, "echo", CANONICAL.name))
        ).stored
        acknowledge(task.wire_id, task.version)
        for change in (
            TaskChange(state=State.WORKING, messages=[message]),
            TaskChange(state=State.COMPLETED, chunks=[write_artifact(RESULT)]),
        ):
            acknowledge(task.wire_id, (await store.update_task(SCOPE, task.key, change)).version)


def acknowledge(wire_id: str, version: int) -> None:
    """Print an acknowledged version."""
    sys.stdout.write(f"{wire_id} {version}\n")
    sys.stdout.flush()


async def main(path: str) -> None:
    """Write until killed."""
    store = SqliteStore(path, StoreOptions(fail_point=fail_points.fail_point_from_environment()))
    await store.open()
    await asyncio.gather(*[write(store, writer) for writer in range(WRITERS)])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
