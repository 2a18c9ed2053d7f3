"""Types of the generated package for type checkers.

Never run: `make check` reads it with mypy and basedpyright, both strict.

A line that must be refused says so; an ignore that nothing needs is an error of its own.
"""

from datetime import datetime
from typing import assert_type

from a2a_contract import v1_0
from a2a_contract.base import Encoded
from a2a_contract.lifecycle import LIFECYCLE, Kind, State
from a2a_contract.service import AgentService


def models_have_python_names(message: v1_0.Message, task: v1_0.Task) -> None:
    """Constructors and members are snake_case, and optional members may be absent."""
    part = v1_0.Part(text="hello", media_type="text/plain")
    assert_type(part.text, str | None)
    assert_type(part.raw, bytes | None)
    assert_type(message.message_id, str)
    assert_type(task.status.state, v1_0.TaskState)
    assert_type(task.status.timestamp, datetime | None)
    assert_type(task.history, list[v1_0.Message] | None)
    v1_0.Part(words="hello")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def values_are_made_once(task: v1_0.Task) -> None:
    """An encoded value keeps the type of its model."""
    encoded = Encoded.of(task)
    assert_type(encoded.model, v1_0.Task)
    assert_type(encoded.json, bytes)


def states_are_known(state: State) -> None:
    """The table of states is typed."""
    assert_type(LIFECYCLE[state].kind, Kind)
    assert_type(LIFECYCLE[state].next, frozenset[State])


async def services_have_the_canonical_model(service: AgentService[str]) -> None:
    """An operation takes its request and the call context, and returns its response."""
    answer = await service.get_task(v1_0.GetTaskRequest(id="t-1"), "caller")
    assert_type(answer, Encoded[v1_0.Task])
    await service.get_task("t-1", "caller")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
