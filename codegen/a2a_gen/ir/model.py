"""The intermediate form: what a contract says, with every decision taken.

Everything between reading the schemas and writing the files works on these values: rules look at them, templates print them, ``a2a-gen ir`` shows
them. They hold no file handle, no path of this machine and no reference to a library, so the same contract gives the same value anywhere.

    Contract ─┬─ Family*    one file of types ── Record | Enumeration | Alias
              ├─ Dialect*   ── Translation*      how its types become canonical ones
              ├─ Operation* ── Call*             its shape in one dialect
              ├─ ErrorRow*
              └─ Lifecycle  ── State*

The types are in ``types.py`` and can be had from here too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from a2a_gen.ir.types import (
    Alias,
    Choice,
    ClassName,
    Constant,
    Enumeration,
    EnumValue,
    Family,
    Field,
    FieldName,
    Json,
    ListOf,
    MapOf,
    ModuleName,
    NamedType,
    OneOf,
    Primitive,
    Record,
    Ref,
    TypeExpr,
)
from a2a_gen.problems import Place

__all__ = [
    "Alias",
    "CallRow",
    "Choice",
    "ClassName",
    "Constant",
    "Contract",
    "Dialect",
    "EnumValue",
    "Enumeration",
    "ErrorRow",
    "Family",
    "Field",
    "FieldName",
    "HttpPath",
    "Json",
    "Lifecycle",
    "ListOf",
    "Loss",
    "MapOf",
    "ModuleName",
    "NamedType",
    "OneOf",
    "OperationRow",
    "Parameter",
    "PathField",
    "Primitive",
    "Record",
    "Ref",
    "State",
    "Translation",
    "TranslationRule",
    "TypeExpr",
]

# --- dialects --------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TranslationRule:
    """How one or more members of a dialect's record correspond to members of the canonical one.

    The kinds are a closed set, described in ``codegen/README.md``: ``rename``, ``not``, ``wrap``, ``only``, ``resource``, ``milliseconds``,
    ``entry``, ``derive``; ``state``, ``json``, ``position`` and ``constant``, which are only written; ``fresh``, which is only read; and for unions
    ``branch`` (a member of ours holds the branch of theirs) and ``flat`` (any of some members of ours selects it).
    """

    kind: str
    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    argument: Json = None


@dataclass(frozen=True, slots=True)
class Translation:
    """How one type of a dialect corresponds to a canonical type."""

    theirs: str
    ours: str
    rules: tuple[TranslationRule, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that a dialect cannot carry: a member (or word, or branch) of a type, in one direction, and why; ``*`` stands for every type."""

    type: str
    member: str
    direction: str
    reason: str
    place: Place


@dataclass(frozen=True, slots=True)
class Dialect:
    """A form in which agents speak the protocol.

    ``enums`` maps words of its enumerations to canonical words; ``wrappers`` names canonical records that only wrap one member, where this dialect
    has that member's value itself; ``form_of`` is the dialect whose paths and version it shares.
    """

    name: str
    title: str
    description: str
    version: str | None
    form_of: str | None
    facts: Mapping[str, Json]
    enums: Mapping[str, Mapping[str, str]]
    wrappers: Mapping[str, str]
    translations: tuple[Translation, ...]
    lossy: tuple[Loss, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something that a client says beside the request, under any of several names of headers."""

    name: FieldName
    headers: tuple[str, ...]
    description: str


# --- tables ----------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PathField:
    """A member of the request that the path holds: ``pieces`` joined by slashes, where a number stands for that parameter of the path."""

    member: str
    pieces: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class HttpPath:
    """One HTTP verb and path, the dialect's prefix included.

    ``segments`` are the words of the path and, as numbers, its parameters in their order: paths that differ only in the names of their parameters
    have equal segments. ``verb`` is what follows a colon at the end of the last segment, of which it is no part.
    """

    method: str
    path: str
    segments: tuple[str | int, ...]
    verb: str | None
    fields: tuple[PathField, ...]


@dataclass(frozen=True, slots=True)
class CallRow:
    """The shape of an operation in one dialect; ``None`` for a request or result that has no body, or a binding that the dialect has not."""

    dialect: str
    method: str | None
    aliases: tuple[str, ...]
    grpc: str | None
    request: str | None
    result: str | None
    http_request: str | None
    http_result: str | None
    http: tuple[HttpPath, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One thing an agent can be asked, named once for all dialects."""

    name: ClassName
    python: FieldName
    description: str
    request: ClassName
    response: ClassName | None
    streams: bool
    capability: FieldName | None
    calls: tuple[CallRow, ...]
    place: Place

    def call(self, dialect: str) -> CallRow | None:
        """Find the shape of this operation in a dialect."""
        return next((call for call in self.calls if call.dialect == dialect), None)


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """One error: its place in the hierarchy, its public text, and per dialect every column of ``errors.json``.

    The columns are ``message``, ``code``, ``http``, ``grpc``, ``reason`` and ``jsonrpc_status``, ``None`` where the table says nothing; an abstract
    error has none, it only groups others.
    """

    name: ClassName
    parent: ClassName
    description: str
    message: str
    is_abstract: bool
    columns: Mapping[str, Mapping[str, Json]]
    place: Place


@dataclass(frozen=True, slots=True)
class State:
    """One state of a task: per dialect the word that is written for it and the words that are read as it, and the states that may follow."""

    name: FieldName
    description: str
    kind: str
    accepts_messages: bool
    cancelable: bool
    spellings: Mapping[str, str]
    reads: Mapping[str, tuple[str, ...]]
    next: tuple[FieldName, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The states of a task, the one it begins in, the type that spells them, and what stands for a state that nobody knows."""

    type: ClassName
    initial: FieldName
    states: tuple[State, ...]
    unknown: Mapping[str, str]
    place: Place


@dataclass(frozen=True, slots=True)
class Contract:
    """A whole contract: what every emitter and every rule gets.

    ``error_root`` is the class above all errors; ``shared_codes`` are the codes that more than one error has.
    """

    canonical: str
    families: tuple[Family, ...]
    dialects: tuple[Dialect, ...]
    parameters: tuple[Parameter, ...]
    reserved_tenants: tuple[str, ...]
    operations: tuple[OperationRow, ...]
    error_root: ClassName
    error_domain: str
    shared_codes: tuple[int, ...]
    errors: tuple[ErrorRow, ...]
    lifecycle: Lifecycle

    @property
    def states(self) -> tuple[State, ...]:
        """The states of a task, in the order of the table."""
        return self.lifecycle.states

    def dialect(self, name: str) -> Dialect | None:
        """Find a dialect by its name."""
        return next((dialect for dialect in self.dialects if dialect.name == name), None)

    def types(self, dialect: str) -> Iterator[NamedType]:
        """Go through the types of a dialect, family by family."""
        for family in self.families:
            if family.dialect == dialect:
                yield from family.types

    def type(self, dialect: str, name: str) -> NamedType | None:
        """Find a type by its name in a dialect."""
        return next((named for named in self.types(dialect) if named.name == name), None)
