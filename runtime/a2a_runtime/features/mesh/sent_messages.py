"""Messages as they were sent.

The canonical model has no place for members that this dialect does not define, and knows every part
by its content alone. A history shows a message as its sender wrote it, so what the canonical model
would lose is kept in the metadata of the message, and is written back by the bindings of this
dialect. Most messages lose nothing and have no such entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from a2a_contract import mesh
from a2a_contract.base import Encoded, JsonMembers, JsonObject, WireModel
from a2a_contract.binding import AnyBinding
from a2a_contract.conversions import json_text
from a2a_contract.dialects import MESH
from a2a_contract.errors import InvalidParamsError
from a2a_contract.json_types import is_json_object
from a2a_contract.methods import METHODS
from a2a_contract.operations import CANCEL_TASK, GET_TASK, SEND_MESSAGE
from a2a_contract.translate import mesh as translate
from a2a_contract.v1_0 import Message, SendMessageResponse, Task

SENT = "urn:a2a-gen:mesh:message"
"""Member of the metadata of a message: the message as it was sent."""

_TASK = SendMessageResponse.wire_name("task")
_HISTORY = Task.wire_name("history")
_METADATA = Message.wire_name("metadata")
_MESH_HISTORY = mesh.Task.wire_name("history")
_JSON_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


def keep_sent(message: Message, body: bytes) -> Message:
    """Keep the message of a call in its metadata, if it cannot be written back from the canonical
    one.
    """
    call: object = from_json(body) if body else None
    params = call.get("params") if is_json_object(call) else None
    sent = params.get("message") if is_json_object(params) else None
    if (
        not is_json_object(sent)
        or not sent
        or json_text(sent) == json_text(translate.write_message(message.to_dict()))
    ):
        return message
    try:
        kept = _JSON_OBJECT.validate_python(sent)
    except ValidationError as error:
        place = ".".join(map(str, ("message", *error.errors()[0]["loc"])))
        raise InvalidParamsError(fields=((place, error.errors()[0]["msg"]),)) from error
    return message.model_copy(update={"metadata": {**(message.metadata or {}), SENT: kept}})


def _serialize(answer: Encoded[WireModel]) -> bytes:
    result: JsonMembers = from_json(answer.json)
    task: JsonMembers = result.get(
        _TASK, result
    )  # every answer is a task, alone or as the only member
    written = translate.write_task(task)
    written[_MESH_HISTORY] = [_write_sent(message) for message in task.get(_HISTORY, ())]
    return to_json(written)


def _write_sent(message: JsonMembers) -> object:
    sent = message.get(_METADATA, {}).get(SENT)
    if is_json_object(sent):
        return sent
    return translate.write_message(message)


_WITH_HISTORY = (SEND_MESSAGE, GET_TASK, CANCEL_TASK)


def _build_methods() -> Iterator[tuple[str, AnyBinding]]:
    for method, binding in METHODS[MESH.name].items():
        if binding.operation in _WITH_HISTORY:
            yield method, replace(binding, serialize=_serialize)
        else:
            yield method, binding


MESH_METHODS: Mapping[str, AnyBinding] = dict(_build_methods())
"""Bindings of this dialect whose tasks show their message as it was sent."""
