"""Functions between messages of protocol buffers and the JSON of their dialect: straight-line code,
one module for each family of types.

A reader walks a message of upb and returns the JSON as Python objects. A writer takes that JSON and
returns the wire format. A dialect that extends another has functions for the messages that differ,
and uses those of the older one for all others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from a2a_gen.emit.protobuf.model import (
    EMPTY,
    Kind,
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoMessage,
    ProtoMethod,
    build_files,
)
from a2a_gen.emit.protobuf.text import write_file
from a2a_gen.emit.protobuf.wire import encode_files, varint
from a2a_gen.emit.render import Code, literal, render
from a2a_gen.ir.model import Contract, Family
from a2a_gen.ir.names import field_name

_STRUCTURES = {
    "google.protobuf.Struct": "struct",
    "google.protobuf.Value": "value",
    "google.protobuf.Timestamp": "timestamp",
}
_INDENT = "    "
_WITH_SIZE = frozenset((Kind.MESSAGE, Kind.STRING, Kind.BYTES))
"""Kinds of fields that are written as bytes with their size."""


def emit(contract: Contract) -> dict[str, bytes]:
    """Emit descriptors, texts and functions of every dialect with a gRPC service."""
    files = build_files(contract)
    if not files:
        return {}
    released = [file for file in files if file.dialect.extends is None]
    dialects = [file.dialect.name for file in released]
    extensions = [
        (file.dialect.name, file.dialect.version or "") for file in files if file not in released
    ]
    emitted = {
        "protobuf/__init__.py": render(
            "protobuf_package.py.jinja",
            sources=("the contract",),
            dialects=dialects,
            extensions=extensions,
        ),
        "protobuf/descriptors.pb": encode_files(released),
        **{f"protobuf/{file.path}": write_file(file) for file in released},
    }
    for file in files:
        # Its messages have the names of those that it extends, so one pool cannot hold both.
        if file not in released:
            folder = f"protobuf/{file.dialect.name}"
            emitted |= {
                f"{folder}/descriptors.pb": encode_files([file]),
                f"{folder}/{file.path}": write_file(file),
            }
        homes = _find_homes(contract, files, file)
        for family in contract.families:
            if family.dialect == file.dialect.name:
                home = f".{family.module}"
                own = {str(each.name) for each in family.types if homes[str(each.name)] == home}
                path = f"protobuf/{file.dialect.name}/{family.module}.py"
                if own:
                    emitted[path] = _family(file, family, own, homes)
        emitted[f"protobuf/{file.dialect.name}/__init__.py"] = _methods(file, homes, contract)
    return emitted


def _find_homes(
    contract: Contract, files: Sequence[ProtoFile], file: ProtoFile
) -> Mapping[str, str]:
    """Return the modules of the functions of all types, relative to the package of a file."""
    homes: dict[str, str] = {}
    for family in contract.families:
        if family.dialect == file.dialect.name:
            homes |= {str(each.name): f".{family.module}" for each in family.types}
    base = next((each for each in files if each.dialect.name == file.dialect.extends), None)
    if base is None:
        return homes
    own = _find_own(file, base)
    for name, home in _find_homes(contract, files, base).items():
        if name in homes and name not in own:
            homes[name] = home if home.startswith("..") else f"..{base.dialect.name}{home}"
    return homes


def _find_own(file: ProtoFile, base: ProtoFile) -> frozenset[str]:
    """Return the names of the types that differ from those of an older file, or have a field of
    such a type.
    """
    known = _list_shapes(base)
    own = frozenset(name for name, shape in _list_shapes(file).items() if known.get(name) != shape)
    uses: dict[str, set[str]] = {}
    for message in file.messages:
        uses[message.name] = {name for name, _ in _list_uses([message], file)}
    # A type that uses a changed one changes too, and so do those that use it.
    while more := frozenset(
        name for name, used in uses.items() if name not in own and not own.isdisjoint(used)
    ):
        own |= more
    return own


def _list_shapes(file: ProtoFile) -> dict[str, ProtoMessage | ProtoEnum]:
    types: list[ProtoMessage | ProtoEnum] = [*file.messages, *file.enums]
    return {each.name: _to_shape(each) for each in types}


def _to_shape(of: ProtoMessage | ProtoEnum) -> ProtoMessage | ProtoEnum:
    """Remove what the functions do not depend on."""
    bare = replace(of, description="")
    if isinstance(bare, ProtoMessage):
        return replace(
            bare,
            fields=tuple(
                replace(each, description="", is_deprecated=False) for each in bare.fields
            ),
        )
    return bare


def _family(
    file: ProtoFile, family: Family, own: Collection[str], homes: Mapping[str, str]
) -> bytes:
    messages = [each for each in file.messages if each.name in own]
    imports: dict[str, list[str]] = {}
    for name, function in sorted(_list_uses(messages, file)):
        if name not in own:
            imports.setdefault(homes[name], []).append(function)
    fields = _list_fields(messages)
    numbers = {field.number for field in fields if field.type.kind in _WITH_SIZE}
    return render(
        "protobuf.py.jinja",
        sources=(family.file,),
        summary=f"Messages of {family.file.rpartition('/')[2]} of {file.dialect.title}.",
        imports=sorted((Code(home), list(map(Code, names))) for home, names in imports.items()),
        tables=[_table(each) for each in file.enums if each.name in own],
        numbers=list(map(Code, sorted(numbers))),
        fields=list(_list_words(messages)),
        messages=[_MessagePrinter(file, each).functions() for each in messages],
    )


def _list_uses(messages: Sequence[ProtoMessage], file: ProtoFile) -> set[tuple[str, str]]:
    return set(chain.from_iterable(_uses(field, file) for field in _list_fields(messages)))


def _uses(field: ProtoField, file: ProtoFile) -> Iterator[tuple[str, str]]:
    """Yield the types of this file that a field has, with the functions and tables that it
    needs.
    """
    if not field.type.name.startswith(f"{file.package}."):
        return
    name = field.type.name.removeprefix(f"{file.package}.")
    if field.type.kind is Kind.ENUM:
        yield from ((name, f"{_constant(name)}_{table}") for table in ("WORDS", "NUMBERS"))
    else:
        yield from ((name, f"{verb}_{field_name(name)}") for verb in ("read", "write"))


def _table(enum: ProtoEnum) -> Mapping[str, Code]:
    words = ", ".join(f"{number}: {literal(word)}" for word, number in enum.values)
    numbers = ", ".join(f"{literal(word)}: {number}" for word, number in enum.values)
    return {
        "name": Code(_constant(enum.name)),
        "words": Code(f"{{{words}}}"),
        "numbers": Code(f"{{{numbers}}}"),
    }


def _list_fields(messages: Sequence[ProtoMessage]) -> Iterator[ProtoField]:
    return chain.from_iterable(message.fields for message in messages)


def _list_words(messages: Sequence[ProtoMessage]) -> Iterator[Mapping[str, Code]]:
    """List the tables that write words as numbers: one for each enum and number of a field."""
    found = {
        (_constant(field.type.name.rpartition(".")[2]), field.number)
        for field in _list_fields(messages)
        if field.type.kind is Kind.ENUM
    }
    for name, number in sorted(found):
        yield {"name": Code(name), "number": Code(number), "tag": Code(_tag(number, 0))}


def _constant(name: str) -> str:
    return field_name(name).upper()


def _methods(file: ProtoFile, homes: Mapping[str, str], contract: Contract) -> bytes:
    constants = {call.grpc: row.python.upper() for row, call in contract.calls(file.dialect.name)}
    names = set(chain.from_iterable((each.request, each.response) for each in file.methods))
    types = sorted(name.removeprefix(f"{file.package}.") for name in names - {EMPTY})
    imports: dict[str, list[Code]] = {}
    for name in types:
        imports.setdefault(homes[name], []).extend(
            Code(f"{verb}_{field_name(name)}") for verb in ("read", "write")
        )
    return render(
        "protobuf_methods.py.jinja",
        sources=("operations.json",),
        summary=f"The gRPC service of {file.dialect.title}.",
        dialect=file.dialect.name,
        pool=file.dialect.name if file.dialect.extends else None,
        imports=sorted((Code(home), names) for home, names in imports.items()),
        types=[
            {
                "name": name,
                "constant": _constant(name),
                "full": file.full_name(name),
                "function": field_name(name),
            }
            for name in types
        ],
        methods=[_method(each, file, constants[each.name]) for each in file.methods],
    )


def _method(method: ProtoMethod, file: ProtoFile, constant: str) -> Mapping[str, object]:
    return {
        "path": f"/{file.package}.{file.service}/{method.name}",
        "binding": constant,
        "request": _name_codec(method.request, file),
        "response": _name_codec(method.response, file),
    }


def _name_codec(type_name: str, file: ProtoFile) -> Code:
    if type_name == EMPTY:
        return Code("EMPTY")
    return Code(f"_{_constant(type_name.removeprefix(f'{file.package}.'))}")


@dataclass(frozen=True, slots=True)
class _MessagePrinter:
    """Prints the functions of one message."""

    file: ProtoFile
    message: ProtoMessage

    def functions(self) -> Mapping[str, object]:
        """Return the name of the functions and their lines."""
        return {
            "name": field_name(self.message.name),
            "type": self.message.name,
            "reads": list(map(Code, self._reads())),
            "writes": list(map(Code, self._writes())),
        }

    def _reads(self) -> Iterator[str]:
        for field in self.message.fields:
            if field.oneof is None:
                yield from self._read(field)
        members = [field for field in self.message.fields if field.oneof is not None]
        if members:
            yield f"member = theirs.WhichOneof({literal(self.message.oneof)})"
        for index, field in enumerate(members):
            yield f"{'elif' if index else 'if'} member == {literal(field.name)}:"
            yield (
                f"{_INDENT}out[{literal(field.wire)}] = "
                f"{self._read_value(field, f'theirs.{field.name}')}"
            )

    def _read(self, field: ProtoField) -> Iterator[str]:
        theirs = f"theirs.{field.name}"
        is_message = field.type.kind is Kind.MESSAGE and not field.is_repeated and not field.is_map
        has_presence = field.is_optional or is_message
        if has_presence:
            yield f"if theirs.HasField({literal(field.name)}):"
        else:
            yield f"if value := {theirs}:"
        theirs = theirs if has_presence else "value"
        if field.is_map:
            value = self._read_value(field, "each")
            if value == "each":
                of = f"dict({theirs})"
            else:
                of = f"{{key: {value} for key, each in {theirs}.items()}}"
        elif field.is_repeated:
            value = self._read_value(field, "each")
            if value == "each":
                of = f"list({theirs})"
            else:
                of = f"values.read_list({theirs}, {value.partition('(')[0]})"
        else:
            of = self._read_value(field, theirs)
        yield f"{_INDENT}out[{literal(field.wire)}] = {of}"

    def _read_value(self, field: ProtoField, theirs: str) -> str:
        match field.type.kind:
            case Kind.MESSAGE:
                return f"{self._function('read', field)}({theirs})"
            case Kind.ENUM:
                return f"{self._constant(field)}_WORDS.get({theirs}, {theirs})"
            case Kind.BYTES:
                return f"values.base64_text({theirs})"
            case _:
                return theirs

    def _writes(self) -> Iterator[str]:
        for field in self.message.fields:
            ours = f"ours.get({literal(field.wire)})"
            # The null of a Value is a value.
            if field.type.name == "google.protobuf.Value":
                yield f"if {literal(field.wire)} in ours:"
                yield from self._append(field, f"ours[{literal(field.wire)}]")
            elif field.is_map:
                yield f"for key, each in values.map_items({ours}):"
                yield from self._append(
                    field, f"values.map_entry(key, {self._data(field, 'each')})", is_data=True
                )
            elif field.is_repeated:
                yield f"if value := {ours}:"
                yield f"{_INDENT}for each in value:"
                yield from (_INDENT + line for line in self._append(field, "each"))
            else:
                has_presence = (
                    field.is_optional or field.oneof is not None or field.type.kind is Kind.MESSAGE
                )
                yield (
                    f"if (value := {ours}) is not None:" if has_presence else f"if value := {ours}:"
                )
                yield from self._append(field, "value")

    def _append(self, field: ProtoField, ours: str, *, is_data: bool = False) -> Iterator[str]:
        match field.type.kind:
            case Kind.ENUM:
                yield f"{_INDENT}out.append(_{self._constant(field)}_{field.number}[{ours}])"
            case Kind.INT64:
                yield f"{_INDENT}out.append(values.write_long({_tag(field.number, 0)}, {ours}))"
            case Kind.INT32 | Kind.BOOL:
                yield f"{_INDENT}out.append(values.write_number({_tag(field.number, 0)}, {ours}))"
            case _:
                yield f"{_INDENT}data = {ours if is_data else self._data(field, ours)}"
                yield f"{_INDENT}out += _F{field.number}[len(data)], data"

    def _data(self, field: ProtoField, ours: str) -> str:
        match field.type.kind:
            case Kind.MESSAGE:
                return f"{self._function('write', field)}({ours})"
            case Kind.STRING:
                return f"{ours}.encode()"
            case Kind.BYTES:
                return f"values.base64_bytes({ours})"
            case _:
                raise ValueError(
                    f"{self.message.name}.{field.name}: a map of numbers; write it as a map "
                    "of messages or of texts"
                )

    def _function(self, verb: str, field: ProtoField) -> str:
        structure = _STRUCTURES.get(field.type.name)
        if structure:
            return f"values.{verb}_{structure}"
        return f"{verb}_{field_name(field.type.name.rpartition('.')[2])}"

    def _constant(self, field: ProtoField) -> str:
        return _constant(field.type.name.rpartition(".")[2])


def _tag(number: int, wire_type: int = 2) -> str:
    return repr(varint(number << 3 | wire_type))
