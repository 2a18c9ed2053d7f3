"""How a call of a skill can end without a result.

    SkillError
     ├─ FailedError      the agent has given up; the text is its reason
     ├─ RejectedError    the agent does not do this
     ├─ CanceledError    somebody has stopped it
     ├─ DeadlineError    it took longer than the call's ``timeout``; also a ``TimeoutError``
     ├─ UnansweredError  the agent asks something, and the call has no ``on_ask``
     └─ OutputError      what came back does not fit the schema of the output

Input that does not fit its schema is an ``InvalidParamsError`` of the contract, with every wrong place in it, whether it was found here or by the
agent. Input that fits and is refused all the same is a ``RejectedError`` with ``fields``.
"""

from __future__ import annotations

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Task
from a2a_runtime.skills.schema import read_fields


class SkillError(Exception):
    """The root; ``task`` is as it was last seen, where there is one."""

    def __init__(self, text: str, task: Task | None = None) -> None:
        super().__init__(text)
        self.task = task


class FailedError(SkillError):
    """The task has failed; try again if the reason is a passing one."""


class RejectedError(SkillError):
    """The agent refuses; ask for something else. Where the input is the reason, ``fields`` has each wrong place, and what is wrong there."""

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The wrong places in the input."""
        return read_fields(self.task.status.message) if self.task else ()


class CanceledError(SkillError):
    """The task was canceled before it had a result."""


class DeadlineError(SkillError, TimeoutError):
    """The call has taken longer than its ``timeout``, and its task was canceled; give it more time, or try again."""


class InputRequiredError(SkillError):
    """The agent asks something first; call with ``on_ask``, or answer the task yourself."""


class OutputError(SkillError):
    """The agent breaks its own contract; ask whoever runs it, and whether its schema has changed: ``a2a-gen client --check``."""


ERRORS_BY_STATE = {State.FAILED.name: FailedError, State.REJECTED.name: RejectedError, State.CANCELED.name: CanceledError}
