"""Protocol buffers made from the schemas: the same descriptors as the official ones, and messages
that mean the same as their JSON.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from contract.documents import Example, examples
from google.protobuf import descriptor_pb2, json_format, timestamp_pb2
from peers.environments import interpreter

from a2a_contract import protobuf
from a2a_contract.protobuf_values import (
    Codec,
    UnreadableError,
    UnwritableError,
    write_message,
    write_timestamp,
)
from a2a_runtime.features.grpc.messages import (
    MalformedMessageError,
    message_class,
    message_pool,
    parse_message,
)

PACKAGES = {"v1_0": "lf.a2a.v1", "v0_3_proto": "a2a.v1"}
OFFICIAL = [
    ("a2a-sdk-1.3.0", "a2a.types.a2a_pb2", "lf.a2a.v1"),
    ("a2a-sdk-0.3.26", "a2a.grpc.a2a_pb2", "a2a.v1"),
]
BEYOND = re.compile(rb"\d{16}")
TASK = "lf.a2a.v1.Task"
PART = "lf.a2a.v1.Part"
SEND = protobuf.METHODS["/lf.a2a.v1.A2AService/SendMessage"]
NAMES = {
    f"{package}.{name}"
    for package in PACKAGES.values()
    for name in message_pool().FindFileByName(f"{package}.proto").message_types_by_name
}
MESSAGES = [
    each
    for each in examples("valid")
    if each.dialect in PACKAGES and f"{PACKAGES[each.dialect]}.{each.type}" in NAMES
]


def codec(dialect: str, name: str) -> Codec:
    """Find the functions of a message in its generated package."""
    folder = Path(protobuf.__file__).parent / dialect
    for file in sorted(folder.glob("[a-z]*.py")):
        module = import_module(f"a2a_contract.protobuf.{dialect}.{file.stem}")
        for read in (
            each
            for key, each in vars(module).items()
            if key.startswith("read_") and each.__module__ == module.__name__
        ):
            if f"`{name}`" in read.__doc__:
                return Codec(
                    f"{PACKAGES[dialect]}.{name}",
                    read,
                    getattr(module, read.__name__.replace("read_", "write_", 1)),
                )
    raise LookupError(name)


@pytest.mark.peer
@pytest.mark.requirement("1.0", "10a")
@pytest.mark.requirement("0.3", "3.2.2")
@pytest.mark.parametrize(
    ("peer", "module", "package"), OFFICIAL, ids=[each[2] for each in OFFICIAL]
)
def test_descriptors_are_the_official_ones(peer: str, module: str, package: str) -> None:
    """Every message, field, number, type, label, presence, group, word and method is that of the
    official package.
    """
    program = (
        f"import base64, {module} as m; "
        "print(base64.b64encode(m.DESCRIPTOR.serialized_pb).decode())"
    )
    output = subprocess.run(
        [str(interpreter(peer)), "-I", "-c", program], capture_output=True, text=True, check=True
    ).stdout
    official = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(output))
    ours = descriptor_pb2.FileDescriptorProto.FromString(
        message_pool().FindFileByName(f"{package}.proto").serialized_pb
    )
    assert ours.package == official.package
    assert dict(facts(ours)) == dict(facts(official))


def facts(file: descriptor_pb2.FileDescriptorProto) -> Iterator[tuple[str, object]]:
    """Yield everything of a file that decides about the wire, by name."""
    for message in file.message_type:
        yield message.name, sorted(each.name for each in message.nested_type)
        for owner in (message, *message.nested_type):
            for field in owner.field:
                oneof = (
                    owner.oneof_decl[field.oneof_index].name
                    if field.HasField("oneof_index")
                    else None
                )
                of = (
                    field.number,
                    field.type,
                    field.type_name,
                    field.label,
                    field.proto3_optional,
                    oneof,
                    field.json_name,
                )
                yield f"{message.name}.{owner.name}.{field.name}", of
    for enum in file.enum_type:
        yield enum.name, {value.name: value.number for value in enum.value}
    for service in file.service:
        for method in service.method:
            yield (
                f"{service.name}.{method.name}",
                (
                    method.input_type,
                    method.output_type,
                    method.client_streaming,
                    method.server_streaming,
                ),
            )


@pytest.mark.parametrize("example", MESSAGES, ids=str)
def test_a_document_is_written_as_the_library_writes_it(example: Example) -> None:
    """Our message is the one that protobuf makes of the same JSON, and reading it gives the JSON
    that protobuf gives.
    """
    of = codec(example.dialect, example.type)
    document = json.dumps(example.content).encode()
    try:
        expected = json_format.Parse(document, message_class(of.name)(), ignore_unknown_fields=True)
    except json_format.ParseError as error:
        pytest.skip(f"no ProtoJSON: {error}")
    if BEYOND.search(document):
        with pytest.raises(UnwritableError, match="2\\^53"):
            write_message(of, document)
        return
    data = write_message(of, document)
    assert message_class(of.name).FromString(data) == expected
    assert normalize(json.loads(parse_message(of, data))) == normalize(
        json_format.MessageToDict(expected)
    )


def normalize(value: object) -> object:
    """Reduce the freedoms of timestamps."""
    if isinstance(value, dict):
        return {key: normalize(each) for key, each in value.items()}
    if isinstance(value, list):
        return [normalize(each) for each in value]
    if isinstance(value, str) and value.endswith("Z") and "T" in value:
        return (
            value.removesuffix("Z").rstrip("0").rstrip(".")
            if "." in value
            else value.removesuffix("Z")
        )
    return value


def send(data: str) -> bytes:
    """Make a request whose message has some data."""
    return (
        b'{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"t"},{"data":%b}]}}'
        % data.encode()
    )


@pytest.mark.parametrize(
    "data",
    [
        "null",
        "1",
        "-0.0",
        "9007199254740992",
        "1152921504606846976",
        '""',
        "[]",
        "{}",
        '{"a":[null,{"b":1.5}]}',
        "true",
    ],
)
def test_free_json_survives(data: str) -> None:
    """Null, negative zero, empty values, and integers that a double holds come back as they
    were.
    """
    back = json.loads(parse_message(SEND.request, write_message(SEND.request, send(data))))
    assert repr(back["message"]["parts"][1]["data"]) in {
        repr(json.loads(data)),
        repr(float(json.loads(data)) if data.isdigit() else None),
    }


@pytest.mark.parametrize("number", ["9007199254740993", "-9007199254740993", "1" + "0" * 400])
def test_an_integer_beyond_doubles_is_refused_with_its_place(number: str) -> None:
    """It would be rounded by every reader, so it is not written."""
    with pytest.raises(UnwritableError) as refused:
        write_message(SEND.request, send(f'{{"a":[1,{number}]}}'))
    assert refused.value.path == "message.parts[1].data.a[1]"
    assert "2^53" in refused.value.reason


def test_deep_nesting_is_refused_where_readers_stop() -> None:
    """Every message that is written can be read by protocol buffer libraries; deeper data are
    refused.
    """
    for depth in range(1, 60):
        try:
            data = write_message(SEND.request, send("[" * depth + "]" * depth))
        except UnwritableError:
            break
        assert parse_message(SEND.request, data)
    assert 35 < depth < 50


@pytest.mark.parametrize("size", [1, 127, 128, 16_383, 16_384, 2_097_152])
def test_sizes_are_written_as_the_library_writes_them(size: int) -> None:
    """Of texts, and of the messages around them, beside each step of a size in groups of seven
    bits.
    """
    document = {
        "message": {
            "messageId": "m",
            "role": "ROLE_USER",
            "parts": [{"text": "x" * each} for each in (size - 1, size)],
        }
    }
    expected = json_format.ParseDict(document, message_class(SEND.request.name)())
    assert (
        write_message(SEND.request, json.dumps(document).encode()) == expected.SerializeToString()
    )


MOMENTS = [
    "1970-01-01T00:00:00",
    "1969-12-31T23:59:59",
    "0001-01-01T00:00:00",
    "9999-12-31T23:59:59",
    "2026-02-28T12:30:01",
]


@pytest.mark.parametrize(
    "text",
    [
        f"{moment}{rest}"
        for moment in MOMENTS
        for rest in ("Z", ".000Z", ".007Z", ".999Z", ".123456Z", ".5+00:00")
    ],
)
def test_timestamps_are_written_as_the_library_writes_them(text: str) -> None:
    """In every precision, before and after 1970; twice, because a second is kept."""
    expected = timestamp_pb2.Timestamp()
    expected.FromJsonString(text)
    assert write_timestamp(text) == write_timestamp(text) == expected.SerializeToString()


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-30T12:30:01.000Z",
        "2026-02-28T12:30:61.000Z",
        "2026-02-28T12:30:01.0_0Z",
        "2026-02-28T12:30:01.\u0661\u0662\u0663Z",
    ],
)
def test_wrong_timestamps_are_refused_in_every_precision(text: str) -> None:
    """Those that look like milliseconds too."""
    for _ in range(2):
        with pytest.raises(ValueError, match=r".+"):
            write_timestamp(text)


def test_what_json_cannot_express_is_refused_with_its_place() -> None:
    """A value without a kind, NaN and timestamps beyond year 9999 are legal on the wire."""
    part = message_class(SEND.request.name)()
    part.message.parts.add().data.list_value.values.add()
    with pytest.raises(UnreadableError) as refused:
        parse_message(SEND.request, part.SerializeToString())
    assert refused.value.fields == (("message.parts[0].data[0]", "is a Value without a kind"),)
    part.message.parts[0].data.list_value.values[0].number_value = float("nan")
    with pytest.raises(UnreadableError, match=r"parts\[0\]\.data\[0\]: is no finite number"):
        parse_message(SEND.request, part.SerializeToString())
    task = message_class(TASK)()
    task.status.timestamp.seconds = 10**12
    with pytest.raises(UnreadableError, match=r"status\.timestamp: is outside"):
        parse_message(
            protobuf.METHODS["/lf.a2a.v1.A2AService/GetTask"].response, task.SerializeToString()
        )


def test_a_list_of_too_many_items_is_refused_before_it_is_walked() -> None:
    """Two bytes on the wire would cost hundreds in memory."""
    data = b"\x2a\x00" * 100_001
    bomb = (
        b"\x12"
        + bytes([len(data) & 0x7F | 0x80, len(data) >> 7 & 0x7F | 0x80, len(data) >> 14])
        + data
    )
    with pytest.raises(UnreadableError, match=r"message\.parts: has more than 100000 items"):
        parse_message(SEND.request, bomb)


def test_bytes_that_are_no_message_are_malformed() -> None:
    """Cut messages and bad UTF-8 raise one error of ours."""
    for data in (b"\x0a\x05ab", b"\x0a\x03\x0a\x01\xff"):
        with pytest.raises(MalformedMessageError):
            parse_message(SEND.request, data)


def test_unknown_words_and_fields_are_kept_apart() -> None:
    """The number of an unknown word is kept for the model to refuse; unknown fields are ignored,
    and the last member of a group counts.
    """
    message = message_class(SEND.request.name)()
    message.message.role = 99
    assert json.loads(
        parse_message(SEND.request, message.SerializeToString() + b"\xfa\x07\x01x")
    ) == {"message": {"role": 99}}
    assert json.loads(
        parse_message(
            Codec(PART, codec("v1_0", "Part").read, codec("v1_0", "Part").write),
            b"\x0a\x01a\x1a\x01b",
        )
    ) == {"url": "b"}


def test_the_texts_list_every_field() -> None:
    """The .proto files beside the descriptors are for people and for other generators."""
    folder = Path(protobuf.__file__).parent
    for package in PACKAGES.values():
        text = (folder / f"{package}.proto").read_text(encoding="utf-8")
        for message in (
            message_pool().FindFileByName(f"{package}.proto").message_types_by_name.values()
        ):
            assert f"message {message.name} {{" in text
            assert all(f" {field.name} = {field.number}" in text for field in message.fields)
