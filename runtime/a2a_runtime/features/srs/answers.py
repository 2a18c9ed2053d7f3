"""Answers that the apcore SRS asks for in place of those of 0.3, on surfaces that read its forms.

message/stream in a form of the SRS    begins with a status                     0.3: with the task
tasks/resubscribe of an ended task     gives its status once                    is refused
tasks/cancel of an ended task          is refused with the state in the text    is refused
"""

from __future__ import annotations

from a2a_contract.base import Encoded
from a2a_contract.errors import TaskNotCancelableError
from a2a_contract.service import Event
from a2a_contract.v1_0 import StreamResponse, TaskStatusUpdateEvent
from a2a_runtime.stores.models import StoredTask


def build_status_event(stored: StoredTask) -> Event[StreamResponse]:
    """Build an event with the present state of a task."""
    update = TaskStatusUpdateEvent(
        task_id=stored.wire_id, context_id=stored.context_id, status=stored.task.model.status
    )
    return Event(stored.last_seq, Encoded.of(StreamResponse(status_update=update)))


def build_cancel_error(stored: StoredTask) -> TaskNotCancelableError:
    """Build the error of a task that has ended."""
    state = stored.state.name.lower()
    return TaskNotCancelableError(
        f"Task is not cancelable: current state is {state}", details={"task_id": stored.wire_id}
    )
