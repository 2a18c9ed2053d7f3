"""Messages of protocol buffers, in a pool of their own: the official SDK, which registers the same
names, may be in the process.

    messages of the contract     descriptors.pb, generated from the schemas
    messages of gRPC itself      ``_GRPC_FILES``: status with its details, health and reflection

Protobuf is of the ``grpc`` extra, and is imported when the first message is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from a2a_contract.json_types import is_json_object
from a2a_contract.protobuf_values import Codec, put_varint, read_message

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import Message

STATUS_TRAILER = "grpc-status-details-bin"
"""Key of the trailing metadata that holds the status of a call with its details."""

EVENT_NUMBERS = b"event-numbers"
"""Key of the metadata by which a client asks for the numbers of events.

Each message of a stream then begins with a field that others skip.
"""

_EVENT_NUMBER_TAG = b"\xf8\xff\xff\xff\x0f"
_EVENT_MARK_TAG = b"\xf0\xff\xff\xff\x0f"
"""The two largest field numbers, which no version of the protocol will use, as varints."""
_MAX_VARINT_BYTES = 10
_STATUS = "google.rpc.Status"
_REFLECTION = {
    "ServerReflectionRequest": (
        "host=1:string file_by_filename=3:string file_containing_symbol=4:string "
        "list_services=7:string"
    ),
    "ServerReflectionResponse": (
        "valid_host=1:string original_request=2:ServerReflectionRequest "
        "file_descriptor_response=4:FileDescriptorResponse "
        "list_services_response=6:ListServiceResponse error_response=7:ErrorResponse"
    ),
    "FileDescriptorResponse": "file_descriptor_proto=1:*bytes",
    "ListServiceResponse": "service=1:*ServiceResponse",
    "ServiceResponse": "name=1:string",
    "ErrorResponse": "error_code=1:int32 error_message=2:string",
}
_GRPC_FILES: Mapping[str, Mapping[str, str]] = {
    "google.rpc": {
        "Status": "code=1:int32 message=2:string details=3:*.google.protobuf.Any",
        "ErrorInfo": "reason=1:string domain=2:string metadata=3:*Entry",
        "Entry": "key=1:string value=2:string",
        "BadRequest": "field_violations=1:*FieldViolation",
        "FieldViolation": "field=1:string description=2:string",
    },
    "grpc.health.v1": {
        "HealthCheckRequest": "service=1:string",
        "HealthCheckResponse": "status=1:int32",
    },
    "grpc.reflection.v1": _REFLECTION,
    "grpc.reflection.v1alpha": _REFLECTION,
}
"""Fields of messages by package: name, number and type; ``*`` repeats.

A map is a list of entries on the wire, and an enum a number.
"""
_FIELD = re.compile(r"(\w+)=(\d+):(\*?)(\S+)")


class MalformedMessageError(ValueError):
    """Bytes that are no message of the expected type."""


@cache
def message_pool(dialect: str = "") -> DescriptorPool:
    """Build the pool with the messages of the contract and those of gRPC; a dialect that extends
    another has a pool of its own.
    """
    from google.protobuf import (  # noqa: PLC0415 - an extra
        any_pb2,
        descriptor_pb2,
        descriptor_pool,
        empty_pb2,
        struct_pb2,
        timestamp_pb2,
    )

    pool = descriptor_pool.DescriptorPool()
    for module in (any_pb2, empty_pb2, struct_pb2, timestamp_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    data = files("a2a_contract").joinpath("protobuf", dialect, "descriptors.pb").read_bytes()
    for each in (*descriptor_pb2.FileDescriptorSet.FromString(data).file, *_build_grpc_files()):
        pool.AddSerializedFile(each.SerializeToString())
    return pool


def _build_grpc_files() -> Iterator[FileDescriptorProto]:
    """Build the files of ``_GRPC_FILES``; all of their fields have presence, as in proto2."""
    from google.protobuf.descriptor_pb2 import (  # noqa: PLC0415 - an extra
        FieldDescriptorProto,
        FileDescriptorProto,
    )

    scalars = {
        "string": FieldDescriptorProto.TYPE_STRING,
        "bytes": FieldDescriptorProto.TYPE_BYTES,
        "int32": FieldDescriptorProto.TYPE_INT32,
    }
    for package, messages in _GRPC_FILES.items():
        file = FileDescriptorProto(
            name=f"{package.replace('.', '/')}.proto",
            package=package,
            dependency=["google/protobuf/any.proto"],
        )
        for name, fields in messages.items():
            message = file.message_type.add(name=name)
            for member, number, repeated, kind in _FIELD.findall(fields):
                field = message.field.add(
                    name=member, number=int(number), label=FieldDescriptorProto.LABEL_OPTIONAL
                )
                field.type = scalars.get(kind, FieldDescriptorProto.TYPE_MESSAGE)
                if repeated:
                    field.label = FieldDescriptorProto.LABEL_REPEATED
                if kind not in scalars:
                    field.type_name = kind if kind.startswith(".") else f".{package}.{kind}"
        yield file


@cache
def message_class(name: str, pool: str = "") -> type[Message]:
    """Return the class of a message by its full name, from the pool of a dialect if it has one."""
    from google.protobuf import message_factory  # noqa: PLC0415 - an extra

    return message_factory.GetMessageClass(message_pool(pool).FindMessageTypeByName(name))


def parse_message(codec: Codec, data: bytes) -> bytes:
    """Parse the wire format of a message, and return the JSON of its dialect."""
    return read_message(codec, decode_message(codec.name, data, codec.pool))


# Classes of messages are made at run time, so they have no type.
def decode_message(name: str, data: bytes, pool: str = "") -> Any:  # noqa: ANN401 - as above
    """Decode the wire format of a message by its full name."""
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - an extra

    try:
        return message_class(name, pool).FromString(data)
    except DecodeError as error:
        raise MalformedMessageError(f"not a message {name}") from error


def encode_message(name: str, document: Mapping[str, object]) -> bytes:
    """Encode the ProtoJSON of a message of gRPC."""
    from google.protobuf import json_format  # noqa: PLC0415 - an extra

    return json_format.ParseDict(
        dict(document), message_class(name)(), descriptor_pool=message_pool()
    ).SerializeToString()


def encode_status(code: int, message: str, details: Iterable[Mapping[str, object]]) -> bytes:
    """Encode a status with its details, each with the URL of its type."""
    listed: list[dict[str, object]] = []
    for each in details:
        detail = {**each}
        if "metadata" in each:
            detail["metadata"] = _list_entries(each["metadata"])
        listed.append(detail)
    return encode_message(_STATUS, {"code": code, "message": message, "details": listed})


def decode_details(data: bytes) -> list[Mapping[str, object]]:
    """Decode the details of a status; those of unknown types are left out."""
    from google.protobuf import json_format  # noqa: PLC0415 - an extra

    details: list[Mapping[str, object]] = []
    for each in decode_message(_STATUS, data).details:
        package, _, name = each.TypeName().rpartition(".")
        if package != "google.rpc" or name not in _GRPC_FILES[package]:
            continue
        detail: dict[str, Any] = json_format.MessageToDict(
            decode_message(each.TypeName(), each.value)
        )
        if "metadata" in detail:
            detail["metadata"] = {
                entry.get("key", ""): entry.get("value", "") for entry in detail["metadata"]
            }
        details.append(detail)
    return details


def number_event(number: int, mark: int = 0) -> bytes:
    """Encode the fields with the number of an event and its mark, if it has one: the first ones of
    its message.
    """
    data = bytearray(_EVENT_NUMBER_TAG)
    put_varint(data, number)
    if mark:
        data += _EVENT_MARK_TAG
        put_varint(data, mark)
    return bytes(data)


def read_event_cursor(message: bytes) -> str | None:
    """Read the cursor of an event from its message, if it has one: its number, and its mark if it
    has one.
    """
    found = _read_varint(message, 0, _EVENT_NUMBER_TAG)
    if found is None:
        return None
    number, end = found
    marked = _read_varint(message, end, _EVENT_MARK_TAG)
    if marked is None:
        return str(number)
    return f"{number}-{marked[0]:x}"


def _read_varint(message: bytes, start: int, tag: bytes) -> tuple[int, int] | None:
    """Read a field at a place, and return its value and its end; ``None`` if another field is
    there.
    """
    if not message.startswith(tag, start):
        return None
    value = 0
    begin = start + len(tag)
    for place, byte in enumerate(message[begin : begin + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:  # noqa: PLR2004 - the last byte of a varint
            return value, begin + place + 1
    return None


def _list_entries(metadata: object) -> list[Mapping[str, object]]:
    if is_json_object(metadata):
        return [{"key": key, "value": value} for key, value in metadata.items()]
    return []
