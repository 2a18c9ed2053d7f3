"""Intermediate representation: the content of a contract, with every decision taken.

Everything between the schemas and the generated files works on these values: rules check them,
templates print them, ``a2a-gen ir`` shows them. They hold no file handle, no path of this machine
and no reference to a library, so the same contract gives the same value on every machine.

    Contract ─┬─ Family*       one file of types ── Record | Enumeration | Alias
              ├─ ContractDialect* ── Translation*   how its types correspond to the canonical ones
              ├─ OperationRow* ── OperationCall*    its types and paths in one dialect
              ├─ ErrorDefinition*
              ├─ ExtensionRow*
              └─ Lifecycle     ── State*

The types are defined in ``types.py`` and exported here too.
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
    OneOf,
    Primitive,
    Record,
    Ref,
    TypeDefinition,
    TypeExpr,
    iter_types,
)
from a2a_gen.problems import Place

__all__ = [
    "EXTENSIONS_FOLDER",
    "Alias",
    "Choice",
    "ClassName",
    "Constant",
    "Contract",
    "ContractDialect",
    "ContractParameter",
    "EnumValue",
    "Enumeration",
    "ErrorDefinition",
    "ExtensionRow",
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
    "OneOf",
    "OperationCall",
    "OperationRow",
    "PathField",
    "Primitive",
    "Record",
    "Ref",
    "State",
    "Translation",
    "TranslationRule",
    "TypeDefinition",
    "TypeExpr",
    "iter_types",
]

EXTENSIONS_FOLDER = "extensions"
"""Folder of the types of extensions, which belong to no dialect."""

# --- dialects ---


@dataclass(frozen=True, slots=True)
class TranslationRule:
    """The correspondence of one or more members of a dialect's record to members of the canonical
    record.

    The kinds are a closed set, described in ``codegen/README.md``: ``rename``, ``not``, ``wrap``,
    ``only``, ``resource``, ``milliseconds``, ``entry``, ``derive``; ``state``, ``json``,
    ``position`` and ``constant``, which are only written; ``fresh``, which is only read; and for
    unions ``branch`` (a member of ours holds the branch of theirs) and ``flat`` (any of some
    members of ours selects it).
    """

    kind: str
    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    argument: Json = None


@dataclass(frozen=True, slots=True)
class Translation:
    """The correspondence of a dialect's type to a canonical type."""

    theirs: str
    ours: str
    rules: tuple[TranslationRule, ...]
    place: Place
    otherwise: str | None = None
    """The member of ours, a record without content, that stands for a value of theirs without any
    counterpart.
    """


@dataclass(frozen=True, slots=True)
class Loss:
    """A member, word or branch of a type that a dialect cannot carry, in one direction, and the
    reason; ``*`` stands for every type.
    """

    type: str
    member: str
    direction: str
    reason: str
    place: Place


@dataclass(frozen=True, slots=True)
class ContractDialect:
    """A version or variant of the protocol.

    ``enums`` maps words of its enumerations to canonical words; ``wrappers`` names canonical
    records that only wrap one member, where this dialect has that member's value itself;
    ``form_of`` is the dialect whose paths and version it shares. ``extends`` is the older version
    that it adds members to: it has the methods, paths and words of that version, and is chosen by
    its own version number alone.
    """

    name: str
    title: str
    description: str
    version: str | None
    form_of: str | None
    extends: str | None
    facts: Mapping[str, Json]
    enums: Mapping[str, Mapping[str, str]]
    wrappers: Mapping[str, str]
    translations: tuple[Translation, ...]
    lossy: tuple[Loss, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class ContractParameter:
    """A value that a client sends beside the request, in any of several headers."""

    name: FieldName
    headers: tuple[str, ...]
    description: str


# --- tables ---


@dataclass(frozen=True, slots=True)
class PathField:
    """A member of the request that the path holds: ``pieces`` joined by slashes; a number stands
    for that parameter of the path.
    """

    member: str
    pieces: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class HttpPath:
    """An HTTP method and path, the dialect's prefix included.

    ``segments`` are the words of the path and, as numbers, its parameters in order: paths that
    differ only in the names of their parameters
    have equal segments. ``verb`` follows a colon at the end of the last segment and is no part of
    it.
    """

    method: str
    path: str
    segments: tuple[str | int, ...]
    verb: str | None
    fields: tuple[PathField, ...]


@dataclass(frozen=True, slots=True)
class OperationCall:
    """An operation in one dialect; ``None`` for a request or result without a body, or a transport
    that the dialect lacks.
    """

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
    http_body: tuple[str, str] | None = None
    """The member that an HTTP body may be, and the member of such a body that tells it."""
    misplaced: tuple[tuple[str, str], ...] = ()
    """Members that clients write elsewhere, each with its place."""


@dataclass(frozen=True, slots=True)
class OperationRow:
    """An operation of an agent, named once for all dialects."""

    name: ClassName
    python: FieldName
    description: str
    request: ClassName
    response: ClassName | None
    streams: bool
    capability: FieldName | None
    calls: tuple[OperationCall, ...]
    place: Place

    def call(self, dialect: str) -> OperationCall | None:
        """Return the operation in a dialect."""
        return next((call for call in self.calls if call.dialect == dialect), None)


@dataclass(frozen=True, slots=True)
class ErrorDefinition:
    """One error: its place in the hierarchy, its public text, and per dialect every column of
    ``errors.json``.

    The columns are ``message``, ``code``, ``http``, ``grpc``, ``reason`` and ``jsonrpc_status``,
    ``None`` where the table has no value; an abstract error has none, it only groups others.
    """

    name: ClassName
    parent: ClassName
    description: str
    message: str
    is_abstract: bool
    columns: Mapping[str, Mapping[str, Json]]
    section: str | None
    """The section of the specification that explains it."""
    place: Place
    since: str | None = None
    """The dialect that adds the error to the one that it extends; older ones do not have it."""


@dataclass(frozen=True, slots=True)
class ExtensionRow:
    """An extension of the protocol: its URI, its text on cards, and the type of its parameters."""

    name: str
    uri: str
    description: str
    params: ClassName
    place: Place


@dataclass(frozen=True, slots=True)
class State:
    """A state of a task: per dialect the word that is written and the words that are read, and its
    next states.
    """

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
    """The states of a task, the initial one, the enumeration that spells them, and the spelling of
    an unknown state.
    """

    type: ClassName
    initial: FieldName
    states: tuple[State, ...]
    unknown: Mapping[str, str]
    place: Place


@dataclass(frozen=True, slots=True)
class Contract:
    """A whole contract: the input of every emitter and every rule.

    ``error_root`` is the class above all errors; ``shared_codes`` are the codes that more than one
    error has.
    """

    canonical: str
    families: tuple[Family, ...]
    dialects: tuple[ContractDialect, ...]
    parameters: tuple[ContractParameter, ...]
    reserved_tenants: tuple[str, ...]
    operations: tuple[OperationRow, ...]
    error_root: ClassName
    error_domain: str
    shared_codes: tuple[int, ...]
    errors: tuple[ErrorDefinition, ...]
    lifecycle: Lifecycle
    extensions: tuple[ExtensionRow, ...] = ()

    @property
    def states(self) -> tuple[State, ...]:
        """Return the states of a task, in the order of the table."""
        return self.lifecycle.states

    def calls(self, dialect: str) -> Iterator[tuple[OperationRow, OperationCall]]:
        """Iterate over the operations that a dialect has, each with its call."""
        for operation in self.operations:
            call = operation.call(dialect)
            if call is not None:
                yield operation, call

    def dialect(self, name: str) -> ContractDialect | None:
        """Return a dialect by name."""
        return next((dialect for dialect in self.dialects if dialect.name == name), None)

    def types(self, dialect: str) -> Iterator[TypeDefinition]:
        """Iterate over the types of a dialect, family by family."""
        for family in self.families:
            if family.dialect == dialect:
                yield from family.types

    def type(self, dialect: str, name: str) -> TypeDefinition | None:
        """Return a type by its name in a dialect."""
        return next(
            (definition for definition in self.types(dialect) if definition.name == name), None
        )
