"""Messages of protocol buffers, in a pool of their own: the official SDK, which registers the same names, may be in the process.

Protobuf is of the ``grpc`` extra, and is imported when the first message is needed.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NoReturn

from a2a_contract.protobuf_values import Codec, read_message

if TYPE_CHECKING:
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import Message

DOMAIN_TYPE = "type.googleapis.com/google.rpc."


class MalformedMessageError(ValueError):
    """Bytes that are no message of the expected type."""


def raise_missing_extra(error: ImportError, subject: str) -> NoReturn:
    """Name the extra of a library that is not installed."""
    raise ImportError(f"{subject}: {error.name or 'grpcio'} is not installed; install the extra: pip install 'a2a-gen[grpc]'") from error


@cache
def message_pool() -> DescriptorPool:
    """Build the pool with the messages of the contract."""
    from google.protobuf import descriptor_pb2, descriptor_pool, empty_pb2, struct_pb2, timestamp_pb2  # noqa: PLC0415 - an extra

    pool = descriptor_pool.DescriptorPool()
    for module in (empty_pb2, struct_pb2, timestamp_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    data = files("a2a_contract").joinpath("protobuf", "descriptors.pb").read_bytes()
    for each in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        pool.AddSerializedFile(each.SerializeToString())
    return pool


@cache
def message_class(name: str) -> type[Message]:
    """Return the class of a message by its full name."""
    from google.protobuf import message_factory  # noqa: PLC0415 - an extra

    return message_factory.GetMessageClass(message_pool().FindMessageTypeByName(name))


def parse_message(codec: Codec, data: bytes) -> bytes:
    """Parse the wire format of a message, and return the JSON of its dialect."""
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - an extra

    try:
        message = message_class(codec.name).FromString(data)
    except DecodeError as error:
        raise MalformedMessageError(f"not a message {codec.name}") from error
    return read_message(codec, message)
