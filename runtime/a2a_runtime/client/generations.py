"""Generations on the client: what a task's numbered changes tell, and requests that name one.

an event with the next number        new
one with a number that was seen      repeated
one with a later number              events were missed: the task is read, which has all of them
no number, or 0                      the agent does not number changes, and nothing is concluded
"""

from __future__ import annotations

from enum import Enum, auto

from a2a_contract.base import WireModel
from a2a_contract.dialects import V1_1_DRAFT, Dialect
from a2a_contract.errors import UnsupportedOperationError
from a2a_contract.v1_0 import SendMessageRequest, Task
from a2a_contract.v1_1_draft import (
    GetTaskRequest,
    SendMessageConfiguration,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from a2a_contract.v1_1_draft import SendMessageRequest as NumberedSendMessageRequest
from a2a_contract.v1_1_draft import Task as NumberedTask
from a2a_runtime.client.task_ids import check_task_id

POLL_SECONDS = 1.0
"""Pause between reads of a task at an agent that does not number changes, although its version has
them.
"""


def has_generations(dialect: Dialect) -> bool:
    """Return whether a dialect numbers the changes of a task."""
    return dialect.includes(V1_1_DRAFT)


def find_generation(event: WireModel) -> int:
    """Return the generation of a task or of an event; 0 if it has none."""
    if isinstance(event, NumberedTask | TaskStatusUpdateEvent | TaskArtifactUpdateEvent):
        return event.generation or 0
    return 0


def add_generation(request: SendMessageRequest, generation: int) -> SendMessageRequest:
    """Return a request whose message is taken only if its task is at a generation."""
    configuration = {} if request.configuration is None else dict(request.configuration)
    numbered = SendMessageConfiguration.model_validate(
        {**configuration, "if_generation_match": generation}
    )
    return NumberedSendMessageRequest.model_validate({**dict(request), "configuration": numbered})


def build_long_poll(task_id: str, generation: int) -> GetTaskRequest:
    """Build a request for a task that waits for its next change."""
    return GetTaskRequest(id=check_task_id(task_id), current_generation=generation or None)


def check_generations(request: WireModel, dialect: Dialect) -> None:
    """Refuse a request with a generation for an agent that would ignore it."""
    if isinstance(request, NumberedSendMessageRequest) and not has_generations(dialect):
        raise UnsupportedOperationError(
            f"if_generation: {dialect.title} has no generations; pin {V1_1_DRAFT.spelling}, "
            "or leave it out"
        )


class Arrival(Enum):
    """Relation of an event to those before it, by its generation."""

    NEW = auto()
    REPEATED = auto()
    AFTER_GAP = auto()


class GenerationTracker:
    """The generation of a task that a reader has seen."""

    def __init__(self) -> None:
        self.last = 0
        """0 as long as the agent does not number changes."""

    def classify(self, event: WireModel) -> Arrival:
        """Compare an event with those before it, and remember it if nothing is missing."""
        generation = find_generation(event)
        if not isinstance(event, Task) and self.last and generation:
            if generation <= self.last:
                return Arrival.REPEATED
            if generation > self.last + 1:
                return Arrival.AFTER_GAP
        self.last = generation
        return Arrival.NEW
