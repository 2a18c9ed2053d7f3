"""Messages made of what people have: a text, some data, parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias
from uuid import uuid4

from a2a_contract.v1_0 import Message, Part, Role, Task
from a2a_runtime.client.options import SendOptions

Content: TypeAlias = "str | Part | Message | Mapping[str, object] | Sequence[Part | str | Mapping[str, object]]"
"""What can be sent: a text, data (an object), a part, several of these, or a whole message."""

_NOTHING = SendOptions()


def message_of(content: Content, task: Task | str | None = None, context_id: str | None = None, options: SendOptions = _NOTHING) -> Message:
    """Make a message of the user, about a task or in a conversation; a whole message keeps all that it says itself."""
    if isinstance(task, Task):
        context_id = context_id or task.context_id
        task = task.id
    if isinstance(content, Message):
        return _completed(content, task, context_id, options)
    pieces: Sequence[Part | str | Mapping[str, object]] = [content] if isinstance(content, str | Part | Mapping) else content
    return _completed(Message(parts=[part_of(each) for each in pieces]), task, context_id, options)


def part_of(content: str | Part | Mapping[str, object]) -> Part:
    """Make one part: of a text, or of data."""
    match content:
        case Part():
            return content
        case str():
            return Part(text=content)
        case _:
            return Part(data=dict(content))


def _completed(message: Message, task_id: str | None, context_id: str | None, options: SendOptions) -> Message:
    missing: dict[str, object] = {
        "message_id": message.message_id or options.message_id or str(uuid4()),
        "role": Role.USER if message.role is Role.UNSPECIFIED else message.role,
        "task_id": message.task_id or task_id,
        "context_id": message.context_id or context_id,
    }
    if options.references is not None and message.reference_task_ids is None:
        missing["reference_task_ids"] = [*options.references]
    if options.extensions is not None and message.extensions is None:
        missing["extensions"] = [*options.extensions]
    return message.model_copy(update=missing)
