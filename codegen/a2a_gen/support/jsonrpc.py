"""Reading a JSON-RPC body: envelope, method and params in one pass of Pydantic over the bytes.

The methods of the dialects that a surface speaks become one tagged union. A method that several dialects share is read once for each of them in the
same pass, because only its task tells which one the client means. What cannot be read is looked at a second time, to say what is wrong with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from json import loads
from math import isfinite
from typing import Annotated, Any, Generic, NamedTuple, TypeAlias

from pydantic import GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, core_schema, from_json, to_json

from .base import WireModel
from .binding import Answer, AnyBinding, ResponseReader
from .field_paths import MAX_FIELD_ERRORS, field_paths
from .json_types import is_json_object
from .unions import supply_tags

CallId: TypeAlias = bytes
"""The id of a call as JSON, to be given back as it came: text, a number or null; anything at all in a dialect that forgives its envelope."""

NO_ID: CallId = b"null"

_VERSION = "2.0"
_MEMBER = 2  # the place in an error's path of the name of a member of the params: after the method, and "params"
_ENVELOPE = {"jsonrpc": f'must be "{_VERSION}"', "id": "must be a text, a number or null", "method": "must be the name of a method"}
_STRICT_ID = core_schema.nullable_schema(
    core_schema.union_schema(
        [core_schema.str_schema(strict=True), core_schema.int_schema(strict=True), core_schema.float_schema(strict=True, allow_inf_nan=False)]
    )
)


class CallProblem(Enum):
    """What is wrong with a body that cannot be read."""

    NOT_JSON = auto()
    NOT_AN_OBJECT = auto()
    NOT_A_CALL = auto()
    UNKNOWN_METHOD = auto()
    WRONG_PARAMS = auto()


class InvalidCallError(Exception):
    """A body is no call of a known method with the right params; ``call_id`` and ``method`` as far as they could be read."""

    def __init__(self, problem: CallProblem, call_id: CallId = NO_ID, method: str | None = None, fields: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(problem.name)
        self.problem, self.call_id, self.method, self.fields = problem, call_id, method, fields


class ParsedCall(NamedTuple):
    """A call that was read: the bindings that have its method, most likely first, and the request as each one's dialect sees it."""

    call_id: CallId
    bindings: tuple[AnyBinding, ...]
    requests: tuple[WireModel, ...]


class JsonRpcParser:
    """Reads calls of the methods of some dialects."""

    def __init__(self, tables: Iterable[Mapping[str, AnyBinding]]) -> None:
        methods: defaultdict[str, tuple[AnyBinding, ...]] = defaultdict(tuple)
        for table in tables:
            for method, binding in table.items():
                methods[method] += (binding,)
        self._methods = dict(methods)
        self._forgiving = frozenset(method for method, bindings in methods.items() if any(binding.lenient_envelope for binding in bindings))
        self._read_call = TypeAdapter(Annotated[dict[str, Any], _CallSchema(self._methods, self._forgiving)]).validator.validate_json

    def parse(self, body: bytes) -> ParsedCall:
        """Read a body, or raise what is wrong with it."""
        try:
            call = self._read_call(body)
        except ValidationError as error:
            return self._diagnose(body, error)
        bindings = self._methods[call["method"]]
        given = call["id"]
        call_id = _digits(body, given) if given.__class__ is float else to_json(given, inf_nan_mode="null")
        return ParsedCall(call_id, bindings, tuple([call[binding.dialect] for binding in bindings]))

    def _diagnose(self, body: bytes, error: ValidationError) -> ParsedCall:
        call: dict[str, object] | list[object] | str | float | None
        try:
            call = from_json(body)
        except ValueError as problem:
            raise InvalidCallError(CallProblem.NOT_JSON, fields=(("", f"Invalid JSON: {problem}"),)) from None
        if not isinstance(call, dict):
            raise InvalidCallError(CallProblem.NOT_AN_OBJECT, fields=(("", "must be one call: an object"),)) from None
        method, call_id = call.get("method"), self._serialize_id(call.get("id"), body)
        if not isinstance(method, str):
            raise InvalidCallError(CallProblem.NOT_A_CALL, call_id, fields=_envelope("method")) from None
        if method not in self._methods:
            raise InvalidCallError(CallProblem.UNKNOWN_METHOD, call_id, method, (("method", f"There is no method {method!r} here"),)) from None
        if error.error_count() <= MAX_FIELD_ERRORS:
            if method in self._forgiving and (forgiven := self._parse_leniently(call, error)):
                return forgiven._replace(call_id=call_id)
            if wrong := _envelope(*(each["loc"][1] for each in error.errors())):
                raise InvalidCallError(CallProblem.NOT_A_CALL, call_id, method, wrong) from None
        raise InvalidCallError(
            CallProblem.WRONG_PARAMS, call_id, method, field_paths(error, skip=_MEMBER, of=self._methods[method][0].request)
        ) from None

    def _serialize_id(self, given: object, body: bytes) -> CallId:
        """Write an id as far as it is one: a call that cannot be read has none otherwise."""
        if isinstance(given, float):
            return _digits(body, given)
        return to_json(given, inf_nan_mode="null") if self._forgiving or _is_strict_id(given) else NO_ID

    def _parse_leniently(self, call: dict[str, object], error: ValidationError) -> ParsedCall | None:
        """Read a call without what a forgiving dialect overlooks; nothing when that does not help."""
        params = call.get("params", {})
        if not is_json_object(params):
            return self.parse(to_json(call | {"params": {}}))
        mended = _mended(params, error)
        with suppress(InvalidCallError):  # what else is wrong with it is said of the call as it came
            return self.parse(to_json(call | {"params": mended})) if mended != params else None
        return None


@dataclass(frozen=True, slots=True)
class _CallSchema:
    """The union of all calls, told apart by their method, as Pydantic sees it: params are one member per dialect, all read from the same place."""

    methods: Mapping[str, tuple[AnyBinding, ...]]
    lenient: frozenset[str]

    def __get_pydantic_core_schema__(self, _source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        calls = {method: self._call(method in self.lenient, bindings, handler) for method, bindings in self.methods.items()}
        return core_schema.tagged_union_schema(calls, discriminator="method")

    @staticmethod
    def _call(is_lenient: bool, bindings: tuple[AnyBinding, ...], handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: FBT001 - private, and one place
        anything = core_schema.any_schema()
        call_id, version = (anything, anything) if is_lenient else (_STRICT_ID, core_schema.literal_schema([_VERSION]))
        envelope = {
            "jsonrpc": core_schema.typed_dict_field(version, required=not is_lenient),
            "id": core_schema.typed_dict_field(core_schema.with_default_schema(call_id, default=None)),
            "method": core_schema.typed_dict_field(core_schema.str_schema()),
        }
        params = {binding.dialect: _params(handler.generate_schema(binding.request)) for binding in bindings}
        return core_schema.typed_dict_schema(envelope | params)


def _params(model: CoreSchema) -> core_schema.TypedDictField:
    without = core_schema.with_default_schema(model, default_factory=dict, validate_default=True)
    return core_schema.typed_dict_field(without, validation_alias="params")


def _envelope(*members: str | int) -> tuple[tuple[str, str], ...]:
    """Say what each of the members must be that is one of the envelope."""
    wrong = frozenset(members)
    return tuple((name, text) for name, text in _ENVELOPE.items() if name in wrong)


def _mended(params: dict[str, object], error: ValidationError) -> dict[str, object]:
    """Leave out the members of params that are of a kind which no reader can take; what is wrong deeper inside stays wrong."""
    unreadable = {each["loc"][_MEMBER] for each in error.errors() if len(each["loc"]) == _MEMBER + 1}
    return {name: value for name, value in params.items() if name not in unreadable}


def _digits(body: bytes, number: float) -> CallId:
    """Find a number again as it was written, since a float does not keep its digits; one without an end is no JSON."""
    call: dict[str, str] = loads(body, parse_float=str, parse_int=str)
    return call["id"].encode() if isfinite(number) else NO_ID


def _is_strict_id(value: object) -> bool:
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


# The client's side of a call: writing its JSON-RPC body, and reading what comes back, in an envelope or without one.
#
# Answers are read as leniently as can be: whoever wrote them may have left out a ``result`` that says nothing, sent both members of which JSON-RPC
# wants one, or taken the constants for granted that tell objects apart.
#


@dataclass(frozen=True, slots=True)
class ErrorObject:
    """An error as it came over the wire; what it stands for is the business of whoever knows the table of errors."""

    code: int | None
    message: str
    data: object = None


def serialize_call(method: str, call_id: str | int, params: Mapping[str, object]) -> bytes:
    """Write a call."""
    return to_json({"jsonrpc": _VERSION, "id": call_id, "method": method, "params": params})


class JsonRpcResponseParser(Generic[Answer]):
    """Reads the answers to one operation in one dialect; without a hearing there is nothing to be read."""

    def __init__(self, reader: ResponseReader[Answer] | None) -> None:
        self._hearing = reader
        self._adapter: TypeAdapter[Any] | None = reader.adapter() if reader else None

    def parse(self, body: bytes) -> Answer | None:
        """Read an answer that stands alone, or raise ``ValidationError``."""
        return None if self._adapter is None else self._parse_result(self._adapter, body)

    def parse_envelope(self, body: bytes) -> Answer | ErrorObject | None:
        """Read the answer out of its JSON-RPC envelope, or the error that stands there; raise ``ValueError`` for what is neither."""
        said: object = from_json(body, allow_inf_nan=False)
        if not is_json_object(said):
            raise ValueError("a JSON-RPC answer is an object")
        error = said.get("error")
        if error is not None:
            return parse_error_object(error)
        if self._adapter is None:
            return None
        if "result" not in said:
            raise ValueError("a JSON-RPC answer has a result or an error")
        return self._parse_result(self._adapter, to_json(said["result"]))

    def _parse_result(self, adapter: TypeAdapter[Any], body: bytes) -> Answer:
        hearing = self._hearing
        assert hearing is not None, "an adapter is made from a hearing"  # noqa: S101 - a fact of the constructor
        try:
            return hearing.read(adapter.validate_json(body))
        except ValidationError as error:
            whole = supply_tags(adapter.core_schema, from_json(body)) if _is_json(error) else None
            if whole is None:
                raise
            try:
                return hearing.read(adapter.validate_json(to_json(whole)))
            except ValidationError:
                raise error from None


def parse_error_object(error: object) -> ErrorObject:
    """Read the error of a JSON-RPC answer, whatever it lacks; one that has nothing that could be read is told as it came."""
    if not is_json_object(error):
        return ErrorObject(None, error if isinstance(error, str) else to_json(error).decode())
    code, message = error.get("code"), error.get("message")
    if error and not isinstance(code, int) and not isinstance(message, str):
        return ErrorObject(None, to_json(error).decode(), error.get("data"))
    return ErrorObject(code if isinstance(code, int) else None, message if isinstance(message, str) else "", error.get("data"))


def _is_json(error: ValidationError) -> bool:
    return all(each["type"] != "json_invalid" for each in error.errors(include_url=False, include_context=False, include_input=False))
