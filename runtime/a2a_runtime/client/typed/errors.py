"""Errors of a skill call that ended without a result.

    SkillError
     ├─ FailedError         the agent failed; the text has its reason
     ├─ RejectedError       the agent rejected the request
     ├─ CanceledError       the task was canceled
     ├─ DeadlineError       the call exceeded its ``timeout``; also a ``TimeoutError``
     ├─ InputRequiredError  the agent asks a question, and the call has no ``on_ask``
     └─ OutputError         the output does not match its schema

An input that does not match its schema is an ``InvalidParamsError`` of the contract with all field
errors, found by the client or by the agent. An input that matches and is rejected is a
``RejectedError`` with ``fields``.
"""

from __future__ import annotations

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Task
from a2a_runtime.skills.schema import read_fields


class SkillError(Exception):
    """The root; ``task`` is the last known state, if there is a task."""

    def __init__(self, text: str, task: Task | None = None) -> None:
        super().__init__(text)
        self.task = task


class FailedError(SkillError):
    """The task failed; retry if the reason is transient."""


class RejectedError(SkillError):
    """The agent rejected the request; ``fields`` has the field errors if the input is the
    reason.
    """

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The field errors of the input."""
        if self.task:
            return read_fields(self.task.status.message)
        return ()


class CanceledError(SkillError):
    """The task was canceled before it had a result."""


class DeadlineError(SkillError, TimeoutError):
    """The call exceeded its ``timeout``, and its task was canceled; raise the timeout, or retry."""


class InputRequiredError(SkillError):
    """The agent needs input first; pass ``on_ask``, or answer the task with the untyped client."""


class OutputError(SkillError):
    """The agent broke its own contract; run ``a2a-gen client --check`` to see if its schema
    changed.
    """


ERRORS_BY_STATE = {
    State.FAILED.name: FailedError,
    State.REJECTED.name: RejectedError,
    State.CANCELED.name: CanceledError,
}
