"""Contract of a typed function, from its annotations: schemas by Pydantic, checked and published as
those from files.

    async def book(request: BookFlight, ctx, db) -> Booking: …
    async def follow(request: Flight) -> AsyncIterator[Position]: …
    async def add(a: int, b: int) -> int: …

parameter       is
the first       the input, if it is annotated with data; a function whose first parameter is a
                context, or has no annotation, is untyped
ctx             the typed context, or the untyped one if it is annotated so; it may be missing
any other       a dependency, or a member of the input (see ``parameters``)
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial, wraps
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import quote
from uuid import UUID

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError, to_json

from a2a_contract.base import JsonObject, WireModel
from a2a_contract.field_paths import field_paths
from a2a_contract.finite import list_lost_numbers
from a2a_contract.typed_schema import list_unexpected_values
from a2a_runtime.engine.background import run_in_thread
from a2a_runtime.engine.handlers.context import Context
from a2a_runtime.engine.handlers.skill import HandlerKind, detect_handler_kind, is_plain_generator
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.handlers import HandlerMismatchError, StreamingHandler, UnaryHandler
from a2a_runtime.skills.parameters import Members, build_members, is_object
from a2a_runtime.skills.schema import TEXT, SchemaMismatchError, TypedSchema

T = TypeVar("T")

CONTEXT = "ctx"
"""Name of the parameter that takes the context."""

_CONTEXTS = (Context, SkillContext)
_DATA: tuple[type, ...] = (
    BaseModel,
    Enum,
    str,
    int,
    float,
    bool,
    bytes,
    list,
    dict,
    tuple,
    set,
    frozenset,
    date,
    time,
    timedelta,
    Decimal,
    UUID,
)
_UNIONS: frozenset[object] = frozenset((typing.Union, types.UnionType, typing.Annotated))
_STREAMS: frozenset[object] = frozenset((AsyncGenerator, AsyncIterator, AsyncIterable))
_PLAIN_STREAMS: frozenset[object] = frozenset((Generator, Iterator, Iterable))
_BINARY = (
    "JSON has no bytes; use a model with ConfigDict(ser_json_bytes='base64', "
    "val_json_bytes='base64'), or, for a file, a handler of the context alone"
)
DRAFT = "https://json-schema.org/draft/2020-12/schema"


class AnnotatedSchema(TypedSchema[T]):
    """A schema that Pydantic derives from a type: of what the type accepts as an input, or of what
    it is written as in an output.
    """

    def __init__(
        self,
        python_type: Any,  # noqa: ANN401 - as the base class
        mode: Literal["validation", "serialization"],
        schema_id: str,
    ) -> None:
        self.adapter: TypeAdapter[T] = TypeAdapter(python_type)
        self.mode: Literal["validation", "serialization"] = mode
        schema: JsonObject = {
            "$schema": DRAFT,
            "$id": quote(schema_id, safe=":."),
            **self.adapter.json_schema(by_alias=True, mode=mode),
        }
        super().__init__(python_type, schema)

    def parse(self, value: object) -> T:
        """Parse JSON values, as JSON: strict models take a date from a text."""
        self.validator.check(value)
        try:
            return self.adapter.validate_json(to_json(value), by_alias=True, by_name=False)
        except ValidationError as error:
            raise SchemaMismatchError(field_paths(error)) from error

    def serialize(self, value: T) -> object:
        """Serialize a value of the type, or one that the type accepts; ``None`` is null."""
        try:
            made = self.adapter.validate_python(value)
            document: object = self.adapter.dump_python(
                made, mode="json", by_alias=True, warnings="error"
            )
            lost = list_lost_numbers(made, document)
        except ValidationError as error:
            raise SchemaMismatchError(field_paths(error)) from error
        except UnicodeDecodeError as error:
            raise SchemaMismatchError((("", _BINARY),)) from error
        except PydanticSerializationError as error:
            raise SchemaMismatchError(list_unexpected_values(error)) from error
        if lost:
            raise SchemaMismatchError(lost)
        self.validator.check(document)
        return document


class TypedFunction(NamedTuple):
    """A handler with the contract of its function."""

    handler: UnaryHandler[Any, Any] | StreamingHandler[Any, Any]
    contract: SkillContract[Any, Any]
    takes_typed_context: bool
    """False for a function that asks its questions through the untyped context."""
    members: Sequence[str]
    """The parameters that are members of its input; none if one parameter is the whole input."""


@dataclass(frozen=True, slots=True)
class _Signature:
    input: object
    output: object
    kind: HandlerKind
    context: inspect.Parameter | None
    is_context_typed: bool
    others: Sequence[inspect.Parameter]
    members: Members | None


def find_input(skill_id: str, function: Callable[..., object]) -> object:
    """Return the type of the input of a typed function; ``None`` for an untyped one."""
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except (TypeError, ValueError):
        # no function, or one in C without a signature
        return None
    if (
        first is None
        or first.annotation is first.empty
        or first.kind in (first.VAR_POSITIONAL, first.VAR_KEYWORD, first.KEYWORD_ONLY)
    ):
        return None
    annotation = _resolve(function, first.name, first.annotation)
    if isinstance(annotation, str):
        if annotation.rpartition(".")[2].endswith(Context.__name__):
            return None
        raise HandlerMismatchError(
            f"skill {skill_id!r}: the annotation {annotation!r} of {first.name!r} cannot be "
            "resolved; define or import the type at the top of its "
            "module, not in a function and not for type checkers only"
        )
    if inspect.isclass(annotation) and issubclass(annotation, WireModel):
        raise HandlerMismatchError(
            f"skill {skill_id!r}: {first.name!r} is a {annotation.__name__}; take the "
            "context, and read ctx.message"
        )
    if inspect.isroutine(annotation):
        raise HandlerMismatchError(
            f"skill {skill_id!r}: the annotation of {first.name!r} is a function, "
            f"{annotation!r}; write a type"
        )
    if _is_data(annotation):
        return annotation
    if _may_be_context(annotation):
        return None
    raise HandlerMismatchError(
        f"skill {skill_id!r}: the annotation {annotation!r} of {first.name!r} is neither "
        "data nor a context; make it a dataclass, a Pydantic model, "
        "list[…] or dict[…], or remove it"
    )


def build_typed_function(
    skill_id: str,
    function: Callable[..., object],
    id_prefix: str,
    asks: Sequence[type[object]] = (),
    provided: Collection[str] = (),
) -> TypedFunction:
    """Build the handler and the contract of a typed function.

    ``asks`` are the types of the answers to its questions, and ``provided`` the names of the
    dependencies that are declared already.
    """
    signature = _read_signature(skill_id, function, provided)
    build = partial(_build_schema, skill_id, id_prefix)
    contract: SkillContract[Any, Any] = SkillContract(
        skill_id,
        build("input", signature.input, "validation"),
        build("output", signature.output, "serialization"),
        streams=signature.kind is HandlerKind.STREAM,
        replies=tuple(
            build(f"ask.{getattr(each, '__name__', number)}", each, "validation")
            for number, each in enumerate(asks, 1)
        ),
    )
    handler = StreamingHandler if contract.streams else UnaryHandler
    is_typed = signature.context is None or signature.is_context_typed
    members = () if signature.members is None else signature.members.names
    return TypedFunction(
        handler(contract, _adapt(function, signature)), contract, is_typed, members
    )


def _read_signature(
    skill_id: str, function: Callable[..., object], provided: Collection[str]
) -> _Signature:
    signature = inspect.signature(function)
    kind = detect_handler_kind(function)
    first, *others = signature.parameters.values()
    output = _resolve(function, "return", signature.return_annotation)
    if kind is None or output is signature.empty or isinstance(output, str):
        raise HandlerMismatchError(
            f"skill {skill_id!r}: its input is typed, and its output is not; annotate what "
            "it returns, -> None for nothing, or take the context alone"
        )
    if kind is HandlerKind.STREAM:
        forms = _STREAMS
        form = "AsyncIterator[…]"
        if is_plain_generator(function):
            forms = _PLAIN_STREAMS
            form = "Iterator[…]"
        if typing.get_origin(output) not in forms:
            raise HandlerMismatchError(
                f"skill {skill_id!r}: it yields, but is annotated with {output}; annotate it "
                f"with {form}"
            )
        output = typing.get_args(output)[0]
    elif typing.get_origin(output) in _STREAMS:
        raise HandlerMismatchError(
            f"skill {skill_id!r}: annotated with {output}, but does not yield; yield chunks, "
            "or annotate what it returns"
        )
    context = next(
        (
            each
            for each in others
            if each.name == CONTEXT or _is_context(_resolve(function, each.name, each.annotation))
        ),
        None,
    )
    annotation = None if context is None else _resolve(function, context.name, context.annotation)
    is_untyped = inspect.isclass(annotation) and issubclass(annotation, Context)
    others = [
        each
        for each in others
        if each is not context and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    members = _find_members(skill_id, function, [first, *others], provided)
    rest = [
        each.replace(kind=each.KEYWORD_ONLY)
        for each in others
        if members is None or each.name not in members.names
    ]
    if members is None:
        input_type = _resolve(function, first.name, first.annotation)
    else:
        input_type = members.input
    return _Signature(input_type, output, kind, context, not is_untyped, rest, members)


def _find_members(
    skill_id: str,
    function: Callable[..., object],
    parameters: Sequence[inspect.Parameter],
    provided: Collection[str],
) -> Members | None:
    """Find the members of the input of a function of several values; ``None`` if its first
    parameter is the whole input.
    """
    found = [(each, _resolve(function, each.name, each.annotation)) for each in parameters]
    first, *others = found
    others = [
        (each, annotation)
        for each, annotation in others
        if each.name not in provided and _is_data(annotation)
    ]
    if is_object(_unwrap_alias(first[1])) or not others:
        return None
    return build_members(skill_id, [first, *others])


def _adapt(function: Callable[..., Any], signature: _Signature) -> Callable[..., Any]:
    """Adapt a function to the call of a typed method: the input, the typed context, and
    dependencies by name.
    """
    context = signature.context
    is_typed = signature.is_context_typed

    def bind(
        request: object, typed: SkillContext, dependencies: dict[str, object]
    ) -> Callable[[], Any]:
        given: dict[str, object] = {}
        if context is not None:
            given[context.name] = typed if is_typed else typed.untyped
        bound: Callable[..., Any] = partial(function, request)
        if signature.members is not None:
            bound = signature.members.bind(function, request)
        return partial(bound, **given, **dependencies)

    @wraps(function)
    def stream(request: object, typed: SkillContext, **dependencies: object) -> object:
        return bind(request, typed, dependencies)()

    @wraps(function)
    async def call(request: object, typed: SkillContext, **dependencies: object) -> object:
        bound = bind(request, typed, dependencies)
        if signature.kind is HandlerKind.THREAD:
            result = await run_in_thread(lambda run: run(), bound)
        else:
            result = bound()
        if inspect.isawaitable(result):
            return await result
        return result

    adapted: Callable[..., Any] = stream if signature.kind is HandlerKind.STREAM else call
    positional = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for name in ("request", CONTEXT)
    ]
    # functools sets it in the same way
    described = inspect.Signature([*positional, *signature.others])
    adapted.__signature__ = described  # type: ignore[attr-defined]
    return adapted


def _build_schema(
    skill_id: str,
    id_prefix: str,
    use: str,
    python_type: object,
    mode: Literal["validation", "serialization"],
) -> TypedSchema[Any]:
    if python_type is str:
        return TEXT
    # Pydantic would make a schema of the parameters of a function
    if inspect.isroutine(python_type):
        raise HandlerMismatchError(
            f"skill {skill_id!r}: the annotation of its {use} is a function, "
            f"{python_type!r}; write a type"
        )
    if inspect.isclass(python_type) and issubclass(python_type, WireModel):
        raise HandlerMismatchError(
            f"skill {skill_id!r}: {use} is a {python_type.__name__}, which has no schema of "
            "its own; use a model of the data"
        )
    try:
        return AnnotatedSchema(python_type, mode, f"{id_prefix}:{skill_id}:{use}")
    except PydanticUserError as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise HandlerMismatchError(
            f"skill {skill_id!r}: {use} has no JSON Schema: {reason}; use a Pydantic model"
        ) from None


def _is_data(annotation: object) -> bool:
    """Return whether an annotation is of a value, and not of a context or of anything."""
    annotation = _unwrap_alias(annotation)
    origin = typing.get_origin(annotation)
    if origin in _UNIONS:
        return any(map(_is_data, typing.get_args(annotation)))
    if origin is Literal or typing.is_typeddict(annotation):
        return True
    found = origin or annotation
    return (
        inspect.isclass(found)
        and (issubclass(found, _DATA) or is_dataclass(found))
        and not issubclass(found, _CONTEXTS)
    )


def _may_be_context(annotation: object) -> bool:
    """Return whether an annotation may be of a context: one of them, a base or a protocol, or
    anything that is no class.
    """
    origin = typing.get_origin(annotation)
    if origin in _UNIONS:
        return any(map(_may_be_context, typing.get_args(annotation)))
    found = origin or annotation
    if (
        annotation is typing.Any
        or not inspect.isclass(found)
        or getattr(found, "_is_protocol", False)
    ):
        return True
    return any(each in found.__mro__ or found in each.__mro__ for each in _CONTEXTS)


def _unwrap_alias(annotation: object) -> object:
    """Return the type of a ``NewType`` or of a ``type`` statement."""
    return getattr(annotation, "__supertype__", getattr(annotation, "__value__", annotation))


def _is_context(annotation: object) -> bool:
    return inspect.isclass(annotation) and issubclass(annotation, _CONTEXTS)


def _resolve(function: Callable[..., object], name: str, annotation: object) -> object:
    """Resolve one annotation; the text if that is not possible."""
    plain: object = function
    while isinstance(plain, partial):
        plain = plain.func
    plain = inspect.unwrap(plain) if callable(plain) else plain
    plain = plain if inspect.isroutine(plain) else type(plain).__call__
    with suppress(NameError, TypeError, AttributeError):
        return typing.get_type_hints(plain, include_extras=True).get(name, annotation)
    if isinstance(annotation, str):
        # the text may say anything, so that anything may be raised
        with suppress(Exception):
            # the code of the application itself
            return eval(annotation, getattr(plain, "__globals__", {}))  # noqa: S307
    return annotation
