"""JSON-RPC: calls are parsed by servers, and written by clients with their responses parsed.

Envelope, method and params are parsed in one pass of Pydantic over the bytes. The methods of the
dialects of a surface form one tagged union. A method that several dialects share is parsed once for
each of them in the same pass, because only the task tells the dialect that the client means. An
invalid call is parsed a second time to describe its errors.

Clients parse responses leniently: servers omit an empty ``result``, send both members of which
JSON-RPC allows one, or omit the constants that distinguish types.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum, auto
from json import loads
from math import isfinite
from typing import Annotated, Any, Generic, TypeAlias

from pydantic import GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, core_schema, from_json, to_json

from .binding import Answer, AnyBinding, ResponseReader
from .field_paths import MAX_FIELD_ERRORS, field_paths
from .json_types import is_json_object
from .unions import supply_tags

CallId: TypeAlias = bytes
"""The id of a call as JSON, returned unchanged: text, a number or null; any value in a dialect with
a lenient envelope.
"""

NO_ID: CallId = b"null"

_VERSION = "2.0"
_MEMBER = (
    2  # index of the params' member name in an error's location: after the method and "params"
)
_ENVELOPE = {
    "jsonrpc": f'must be "{_VERSION}"',
    "id": "must be a text, a number or null",
    "method": "must be the name of a method",
}
_STRICT_ID = core_schema.nullable_schema(
    core_schema.union_schema(
        [
            core_schema.str_schema(strict=True),
            core_schema.int_schema(strict=True),
            core_schema.float_schema(strict=True, allow_inf_nan=False),
        ]
    )
)


class CallProblem(Enum):
    """The kinds of invalid calls."""

    NOT_JSON = auto()
    NOT_AN_OBJECT = auto()
    NOT_A_CALL = auto()
    UNKNOWN_METHOD = auto()
    WRONG_PARAMS = auto()


class InvalidCallError(Exception):
    """A body that is not a valid call; ``call_id`` and ``method`` are set as far as they could be
    parsed.
    """

    def __init__(
        self,
        problem: CallProblem,
        call_id: CallId = NO_ID,
        method: str | None = None,
        fields: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(problem.name)
        self.problem = problem
        self.call_id = call_id
        self.method = method
        self.fields = fields


@dataclass(slots=True)
class ParsedCall:
    """A parsed call: the bindings of its method, most likely first, and the request in the model of
    each dialect.
    """

    call_id: CallId
    method: str
    bindings: tuple[AnyBinding, ...]
    requests: Mapping[str, Any]


class JsonRpcParser:
    """Parses calls of the methods of some dialects."""

    def __init__(self, tables: Iterable[Mapping[str, AnyBinding]]) -> None:
        methods: defaultdict[str, tuple[AnyBinding, ...]] = defaultdict(tuple)
        for table in tables:
            for method, binding in table.items():
                methods[method] += (binding,)
        self.methods: Mapping[str, tuple[AnyBinding, ...]] = dict(methods)
        """The bindings of each method."""
        forgiving: set[str] = set()
        for method, bindings in methods.items():
            if any(binding.lenient_envelope for binding in bindings):
                forgiving.add(method)
        self._forgiving = frozenset(forgiving)
        self._read_call = TypeAdapter(
            Annotated[dict[str, Any], _CallSchema(self.methods, self._forgiving)]
        ).validator.validate_json

    def parse(self, body: bytes) -> ParsedCall:
        """Parse a body, or raise ``InvalidCallError``."""
        try:
            call = self._read_call(body)
        except ValidationError as error:
            return self._diagnose(body, error)
        method = call["method"]
        given = call["id"]
        if given.__class__ is float:
            call_id = _number_text(body, given)
        else:
            call_id = to_json(given, inf_nan_mode="null")
        return ParsedCall(call_id, method, self.methods[method], call)

    def _diagnose(self, body: bytes, error: ValidationError) -> ParsedCall:
        call: dict[str, object] | list[object] | str | float | None
        try:
            call = from_json(body)
        except ValueError as problem:
            raise InvalidCallError(
                CallProblem.NOT_JSON, fields=(("", f"Invalid JSON: {problem}"),)
            ) from None
        if not isinstance(call, dict):
            raise InvalidCallError(
                CallProblem.NOT_AN_OBJECT, fields=(("", "must be one call: an object"),)
            ) from None
        method = call.get("method")
        call_id = self._serialize_id(call.get("id"), body)
        if not isinstance(method, str):
            raise InvalidCallError(
                CallProblem.NOT_A_CALL, call_id, fields=_envelope("method")
            ) from None
        if method not in self.methods:
            raise InvalidCallError(
                CallProblem.UNKNOWN_METHOD,
                call_id,
                method,
                (("method", f"There is no method {method!r} here"),),
            ) from None
        if error.error_count() <= MAX_FIELD_ERRORS:
            if forgiven := self._parse_mended(call) or (
                self._parse_leniently(call, error) if method in self._forgiving else None
            ):
                return replace(forgiven, call_id=call_id)
            if wrong := _envelope(*(each["loc"][1] for each in error.errors())):
                raise InvalidCallError(CallProblem.NOT_A_CALL, call_id, method, wrong) from None
        raise InvalidCallError(
            CallProblem.WRONG_PARAMS,
            call_id,
            method,
            field_paths(error, skip=_MEMBER, of=self.methods[method][0].request),
        ) from None

    def _serialize_id(self, given: object, body: bytes) -> CallId:
        """Serialize an id if it is valid; an invalid call has none otherwise."""
        if isinstance(given, float):
            return _number_text(body, given)
        if self._forgiving or _is_strict_id(given):
            return to_json(given, inf_nan_mode="null")
        return NO_ID

    def _parse_mended(self, call: dict[str, object]) -> ParsedCall | None:
        """Parse a call with its misplaced members in their places; ``None`` when it stays
        invalid.
        """
        params = call.get("params")
        if not is_json_object(params):
            return None
        for binding in self.methods[str(call["method"])]:
            if (mended := binding.mend(params)) is not None:
                # Other errors are reported for the original call.
                with suppress(InvalidCallError):
                    return self.parse(to_json(call | {"params": mended}))
        return None

    def _parse_leniently(
        self, call: dict[str, object], error: ValidationError
    ) -> ParsedCall | None:
        """Parse a call without the members that a lenient dialect ignores, and with missing tags;
        ``None`` when it stays invalid.
        """
        params = call.get("params", {})
        if not is_json_object(params):
            return self.parse(to_json(call | {"params": {}}))
        binding = next(
            binding for binding in self.methods[str(call["method"])] if binding.lenient_envelope
        )
        mended = supply_tags(
            binding.request.__pydantic_core_schema__, _drop_unreadable(params, error)
        )
        # Other errors are reported for the original call.
        with suppress(InvalidCallError):
            if mended != params:
                return self.parse(to_json(call | {"params": mended}))
            return None
        return None


@dataclass(frozen=True, slots=True)
class _CallSchema:
    """Pydantic schema of all calls, a union tagged by the method: params are one field per dialect,
    all with the same alias.
    """

    methods: Mapping[str, tuple[AnyBinding, ...]]
    lenient: frozenset[str]

    def __get_pydantic_core_schema__(
        self, _source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        calls = {
            method: self._call(method in self.lenient, bindings, handler)
            for method, bindings in self.methods.items()
        }
        return core_schema.tagged_union_schema(calls, discriminator="method")

    @staticmethod
    def _call(
        is_lenient: bool,  # noqa: FBT001 - private, and one place
        bindings: tuple[AnyBinding, ...],
        handler: GetCoreSchemaHandler,
    ) -> CoreSchema:
        call_id: CoreSchema = core_schema.any_schema()
        version: CoreSchema = call_id
        if not is_lenient:
            call_id = _STRICT_ID
            version = core_schema.literal_schema([_VERSION])
        envelope = {
            "jsonrpc": core_schema.typed_dict_field(version, required=not is_lenient),
            "id": core_schema.typed_dict_field(
                core_schema.with_default_schema(call_id, default=None)
            ),
            "method": core_schema.typed_dict_field(core_schema.str_schema()),
        }
        params = {
            binding.dialect: _params(handler.generate_schema(binding.request))
            for binding in bindings
        }
        return core_schema.typed_dict_schema(envelope | params)


def _params(model: CoreSchema) -> core_schema.TypedDictField:
    without = core_schema.with_default_schema(model, default_factory=dict, validate_default=True)
    return core_schema.typed_dict_field(without, validation_alias="params")


def _envelope(*members: str | int) -> tuple[tuple[str, str], ...]:
    """Return the errors of the members that belong to the envelope."""
    wrong = frozenset(members)
    return tuple((name, text) for name, text in _ENVELOPE.items() if name in wrong)


def _drop_unreadable(params: dict[str, object], error: ValidationError) -> dict[str, object]:
    """Drop the members of params that have an unreadable type; nested errors stay."""
    unreadable = {
        each["loc"][_MEMBER] for each in error.errors() if len(each["loc"]) == _MEMBER + 1
    }
    return {name: value for name, value in params.items() if name not in unreadable}


def _number_text(body: bytes, number: float) -> CallId:
    """Return a number as it was written, because a float loses digits; an infinite one is not
    JSON.
    """
    call: dict[str, str] = loads(body, parse_float=str, parse_int=str)
    if isfinite(number):
        return call["id"].encode()
    return NO_ID


def _is_strict_id(value: object) -> bool:
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


# --- client side ---


@dataclass(frozen=True, slots=True)
class ErrorObject:
    """An error as received; the table of errors gives its meaning."""

    code: int | None
    message: str
    data: object = None


def serialize_call(method: str, call_id: str | int, params: Mapping[str, object]) -> bytes:
    """Serialize a call."""
    return to_json({"jsonrpc": _VERSION, "id": call_id, "method": method, "params": params})


class JsonRpcResponseParser(Generic[Answer]):
    """Parses the responses of one operation in one dialect; without a reader the result is
    ignored.
    """

    def __init__(self, reader: ResponseReader[Answer] | None) -> None:
        self._reader = reader
        self._adapter: TypeAdapter[Any] | None = reader.adapter() if reader else None

    def parse(self, body: bytes) -> Answer | None:
        """Parse a result without an envelope, or raise ``ValidationError``."""
        if self._adapter is None:
            return None
        return self._parse_result(self._adapter, body)

    def parse_envelope(self, body: bytes) -> Answer | ErrorObject | None:
        """Parse the result or the error in a JSON-RPC envelope; raise ``ValueError`` for
        neither.
        """
        said: object = from_json(body, allow_inf_nan=False)
        if not is_json_object(said):
            raise ValueError("JSON-RPC response: not an object")
        error = said.get("error")
        if error is not None:
            return parse_error_object(error)
        if self._adapter is None:
            return None
        if "result" not in said:
            raise ValueError("JSON-RPC response: neither a result nor an error")
        return self._parse_result(self._adapter, to_json(said["result"]))

    def _parse_result(self, adapter: TypeAdapter[Any], body: bytes) -> Answer:
        reader = self._reader
        # The constructor makes an adapter only where it was given a reader.
        assert reader is not None, "the adapter is built from the reader"  # noqa: S101
        try:
            return reader.read(adapter.validate_json(body))
        except ValidationError as error:
            whole = supply_tags(adapter.core_schema, from_json(body)) if _is_json(error) else None
            if whole is None:
                raise
            try:
                return reader.read(adapter.validate_json(to_json(whole)))
            except ValidationError:
                raise error from None


def parse_error_object(error: object) -> ErrorObject:
    """Parse the error of a response, however incomplete; one without any known member becomes the
    message as received.
    """
    if not is_json_object(error):
        return ErrorObject(None, error if isinstance(error, str) else to_json(error).decode())
    code = error.get("code")
    message = error.get("message")
    if error and not isinstance(code, int) and not isinstance(message, str):
        return ErrorObject(None, to_json(error).decode(), error.get("data"))
    return ErrorObject(
        code if isinstance(code, int) else None,
        message if isinstance(message, str) else "",
        error.get("data"),
    )


def _is_json(error: ValidationError) -> bool:
    return all(
        each["type"] != "json_invalid"
        for each in error.errors(include_url=False, include_context=False, include_input=False)
    )
