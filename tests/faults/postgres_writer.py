"""A process that writes to a Postgres store until it is killed, by a test or by itself at a named
point of a write.

    postgres_writer.py URL PROCESS [POINT NUMBER]

It says on its standard output what was acknowledged: the task's wire id, then the number of each
change.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from itertools import count

from a2a_contract.lifecycle import State
from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.models import IdempotencyKey, TaskChange
from a2a_runtime.testing.store_contract.case import SCOPE, append_artifact, build_new_task

LEASE = 1.0


def build_deadly_options(point: str, number: int) -> StoreOptions:
    """Make options with which the process dies the moment that it comes to a point for the n-th
    time.
    """
    left = iter(range(number - 1, -1, -1))

    def fault(reached: str) -> None:
        if reached == point and next(left, 1) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return StoreOptions(lease_seconds=LEASE, fail_point=fault)


def change(process: str, number: int) -> TaskChange:
    """Make the n-th change: a chunk that says its number, under a key that lets it be repeated."""
    return TaskChange(
        chunks=[append_artifact("log", str(number))],
        idempotency_key=IdempotencyKey(f"{process}-{number}", b""),
        epoch=1,
    )


def tell(what: object) -> None:
    """Say what was acknowledged."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


async def write(url: str, process: str, options: StoreOptions) -> None:
    """Create a task and write to it, beating all the while."""
    store = PostgresStore(url, options)
    await store.open()
    await store.register(process)
    task = (await store.create_task(SCOPE, build_new_task(process=process))).stored
    tell(task.wire_id)
    await store.update_task(SCOPE, task.key, TaskChange(state=State.WORKING, epoch=1))
    for number in count(1):
        await store.update_task(SCOPE, task.key, change(process, number))
        tell(number)
        await store.renew_lease(process)
        await asyncio.sleep(0.01)


if __name__ == "__main__":
    url, process, *fail_point = sys.argv[1:]
    asyncio.run(
        write(
            url,
            process,
            build_deadly_options(fail_point[0], int(fail_point[1]))
            if fail_point
            else StoreOptions(lease_seconds=LEASE),
        )
    )
