"""Files of protocol buffers as text, for people and for generators of other languages."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from a2a_gen.emit.protobuf.model import (
    DEPENDENCIES,
    Kind,
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoMessage,
)
from a2a_gen.emit.render import WIDTH, escape_unprintable, header

_SCALARS = {
    Kind.INT32: "int32",
    Kind.INT64: "int64",
    Kind.BOOL: "bool",
    Kind.STRING: "string",
    Kind.BYTES: "bytes",
}


def write_file(file: ProtoFile) -> bytes:
    """Write a file as text."""
    return "\n".join(_write_lines(file)).encode()


def _write_lines(file: ProtoFile) -> Iterator[str]:
    yield header((f"{file.dialect.name}/", "operations.json")).replace("# ", "// ", 1)
    yield from _comment(f"{file.dialect.title}: {file.dialect.description}", "")
    for value, reason in file.refused.items():
        yield from _comment(f"Refused: {value}; {reason}.", "")
    yield from ('syntax = "proto3";', "")
    yield from (f"package {file.package};", "")
    yield from (f'import "{each}";' for each in DEPENDENCIES)
    yield ""
    yield from _service(file)
    for message in file.messages:
        yield from _message(message, file)
    for enum in file.enums:
        yield from _enum(enum)


def _service(file: ProtoFile) -> Iterator[str]:
    yield f"service {file.service} {{"
    for method in file.methods:
        yield from _comment(method.description, "  ")
        request, response = (_short(name, file) for name in (method.request, method.response))
        yield (
            f"  rpc {method.name}({request}) returns "
            f"({'stream ' if method.streams else ''}{response});"
        )
    yield from ("}", "")


def _message(message: ProtoMessage, file: ProtoFile) -> Iterator[str]:
    yield from _comment(message.description, "")
    yield f"message {message.name} {{"
    for field in message.fields:
        if field.oneof is None:
            yield from _member(field, file, "  ")
    if message.oneof is not None:
        yield f"  oneof {message.oneof} {{"
        for field in message.fields:
            if field.oneof is not None:
                yield from _member(field, file, "    ")
        yield "  }"
    yield from ("}", "")


def _member(field: ProtoField, file: ProtoFile, indent: str) -> Iterator[str]:
    of = _SCALARS.get(field.type.kind) or _short(field.type.name, file)
    label = "optional " if field.is_optional else ""
    if field.is_repeated:
        label = "repeated "
    options = [
        *(["deprecated = true"] if field.is_deprecated else []),
        *([f'json_name = "{field.wire}"'] if _json_name(field.name) != field.wire else []),
    ]
    end = f" [{', '.join(options)}]" if options else ""
    yield from _comment(field.description, indent)
    yield (
        f"{indent}{label}{f'map<string, {of}>' if field.is_map else of} {field.name} = "
        f"{field.number}{end};"
    )


def _enum(enum: ProtoEnum) -> Iterator[str]:
    yield from _comment(enum.description, "")
    yield from (
        f"enum {enum.name} {{",
        *(f"  {word} = {number};" for word, number in enum.values),
        "}",
        "",
    )


def _json_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _short(name: str, file: ProtoFile) -> str:
    return name.removeprefix(f"{file.package}.")


def _comment(text: str, indent: str) -> Iterator[str]:
    return (
        f"{indent}// {line}"
        for line in textwrap.wrap(escape_unprintable(text), WIDTH - len(indent) - 3)
    )
