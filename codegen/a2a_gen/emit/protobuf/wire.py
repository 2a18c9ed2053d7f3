"""Files of protocol buffers as a FileDescriptorSet, in the wire format: a few lines instead of a
dependency of the build.

Numbers in calls are those of the fields in ``google/protobuf/descriptor.proto``.
"""

from __future__ import annotations

from collections.abc import Iterable

from a2a_gen.emit.protobuf.model import (
    DEPENDENCIES,
    FieldType,
    Kind,
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoMessage,
    ProtoMethod,
)

_OPTIONAL = 1
_REPEATED = 3
_CONTINUES = 0x80


def encode_files(files: Iterable[ProtoFile]) -> bytes:
    """Encode files as a FileDescriptorSet."""
    return b"".join(_field(1, _file(each)) for each in files)


def _file(file: ProtoFile) -> bytes:
    service = _join(_field(1, file.service), *(_field(2, _method(each)) for each in file.methods))
    return _join(
        _field(1, file.path),
        _field(2, file.package),
        *(_field(3, each) for each in DEPENDENCIES),
        *(_field(4, _message(each, file.full_name(each.name))) for each in file.messages),
        *(_field(5, _enum(each)) for each in file.enums),
        _field(6, service),
        _field(12, "proto3"),
    )


def _message(message: ProtoMessage, full_name: str) -> bytes:
    # The groups that proto3 adds for presence stand behind those of the message.
    presence = [f"_{field.name}" for field in message.fields if field.is_optional]
    oneofs = [*([message.oneof] if message.oneof else []), *presence]
    return _join(
        _field(1, message.name),
        *(_field(2, _member(field, full_name, oneofs)) for field in message.fields),
        *(_field(3, _entry(field)) for field in message.fields if field.is_map),
        *(_field(8, _field(1, name)) for name in oneofs),
    )


def _member(field: ProtoField, message: str, oneofs: list[str]) -> bytes:
    of = FieldType(Kind.MESSAGE, f"{message}.{field.entry}") if field.is_map else field.type
    oneof = f"_{field.name}" if field.is_optional else field.oneof
    return _join(
        _field(1, field.name),
        _field(3, field.number),
        _field(4, _REPEATED if field.is_repeated or field.is_map else _OPTIONAL),
        _type(of),
        b"" if oneof is None else _field(9, oneofs.index(oneof)),
        _field(10, field.wire),
        _field(8, _field(3, 1)) if field.is_deprecated else b"",
        _field(17, 1) if field.is_optional else b"",
    )


def _type(of: FieldType) -> bytes:
    return _field(5, of.kind) + (_field(6, f".{of.name}") if of.name else b"")


def _entry(field: ProtoField) -> bytes:
    key, value = (
        _join(_field(1, name), _field(3, number), _field(4, _OPTIONAL), _type(of), _field(10, name))
        for name, number, of in (("key", 1, FieldType(Kind.STRING)), ("value", 2, field.type))
    )
    return _join(_field(1, field.entry), _field(2, key), _field(2, value), _field(7, _field(7, 1)))


def _enum(enum: ProtoEnum) -> bytes:
    return _join(
        _field(1, enum.name),
        *(_field(2, _field(1, word) + _field(2, number)) for word, number in enum.values),
    )


def _method(method: ProtoMethod) -> bytes:
    types = _field(2, f".{method.request}") + _field(3, f".{method.response}")
    return _join(_field(1, method.name), types, _field(6, 1) if method.streams else b"")


def _join(*parts: bytes) -> bytes:
    return b"".join(parts)


def _field(number: int, value: int | str | bytes) -> bytes:
    """Encode a field: a number as a varint, anything else with its length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    """Encode a number in groups of seven bits, the lowest first."""
    encoded = bytearray()
    while value >= _CONTINUES:
        encoded.append(value & 0x7F | _CONTINUES)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
