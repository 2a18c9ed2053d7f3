"""Ids of tasks in requests: an agent may have given one that no request can carry."""

from __future__ import annotations

import re

from a2a_contract.errors import InvalidParamsError

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def check_task_id(task_id: str) -> str:
    """Return the id of a task, or raise ``InvalidParamsError`` if it has control characters."""
    if _CONTROL.search(task_id):
        problem = "it has control characters, so no request can name it"
        raise InvalidParamsError(
            f"task id {task_id[:80]!r}: {problem}; report it to the operator of the agent"
        )
    return task_id
