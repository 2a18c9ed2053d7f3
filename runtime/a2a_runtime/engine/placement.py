"""Placement of runs: in the process that accepted the task, or on workers. Pure: data and rules.

    placement    a new run begins when …
    process      the process that has claimed the task calls the handler
    workers      a worker fetches a job, which the transaction that made the task runnable
                 has put into a queue

A task on workers is made runnable by its creation, an answer, a handover and a retry. Each of them
puts one job into the queue of the skill, in the transaction of the change. The job carries only the
key of the task; everything else is in the store.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from a2a_runtime.base.caller import SurfaceKey
from a2a_runtime.errors import WorkerConfigError
from a2a_runtime.stores.models import Deferral

DEFAULT_QUEUE = "default"
MAX_QUEUE_NAME = 128
"""Length of the engine's column."""


class Placement(StrEnum):
    """Place of the runs of a skill."""

    PROCESS = "process"
    WORKERS = "workers"


@dataclass(frozen=True, slots=True)
class RunRetryPolicy:
    """Further runs after a handler has raised; each delay is twice the one before.

    Only an exception is retried: a handler that fails or rejects its task, times out or is canceled
    has decided how the task ends.
    """

    retries: int = 0
    delay_seconds: float = 1.0
    max_delay_seconds: float = 300.0

    def __post_init__(self) -> None:
        if (
            self.retries < 0
            or self.delay_seconds < 0
            or self.max_delay_seconds < self.delay_seconds
        ):
            raise ValueError(
                f"retries {self.retries}, retry_delay {self.delay_seconds:g}, "
                f"retry_max_delay {self.max_delay_seconds:g}: "
                "not a policy; use numbers of at least 0, and a longest delay that is not "
                "below the first"
            )

    def find_delay(self, failures: int) -> float | None:
        """Return the seconds before the next run, after a number of runs that raised; ``None`` if
        there is none.
        """
        if failures > self.retries:
            return None
        return min(self.delay_seconds * 2.0 ** (failures - 1), self.max_delay_seconds)


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Options of a skill on workers: its queue, which it shares with other skills, and its place in
    it.

    ``concurrency`` is the number of runs of the queue in each worker process; ``None`` is the one
    of the command. The highest priority runs first.
    """

    queue: str = DEFAULT_QUEUE
    concurrency: int | None = None
    priority: int = 0
    retry: RunRetryPolicy = RunRetryPolicy()

    def __post_init__(self) -> None:
        if not self.queue.strip():
            raise ValueError(f"queue {self.queue!r}: not a name of a queue; use a word")
        if self.concurrency is not None and self.concurrency < 1:
            raise ValueError(
                f"concurrency: {self.concurrency} is not positive; use the number of runs at "
                "once in each worker"
            )

    def build_deferral(self, surface: str, delay_seconds: float = 0.0) -> Deferral:
        """Build the job of a run of a task on a surface."""
        return Deferral(build_queue_name(self.queue, surface), self.priority, delay_seconds)


def build_queue_name(queue: str, surface: str) -> str:
    """Name the queue of an agent in the database: agents that share a store do not run the tasks of
    each other.
    """
    name = f"{queue}@{SurfaceKey.from_text(surface).agent}"
    if len(name) > MAX_QUEUE_NAME:
        raise WorkerConfigError(
            f"queue {name!r}: longer than {MAX_QUEUE_NAME} characters; shorten the name of "
            "the queue or of the agent"
        )
    return name
