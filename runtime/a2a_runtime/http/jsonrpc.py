"""The JSON-RPC endpoint of a surface, for all of its dialects.

    ParseError            the body is not JSON
    InvalidRequestError   it is JSON, but no call, or several
    MethodNotFoundError   no dialect of the requested version has the method
    InvalidParamsError    the method is known, its params are invalid

A call without an id is answered with ``"id": null``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from msgspec import structs
from pydantic import ValidationError
from pydantic_core import from_json

from a2a_contract.binding import AnyBinding
from a2a_contract.errors import InvalidParamsError, UnauthenticatedError
from a2a_contract.field_paths import field_paths
from a2a_contract.json_types import is_json_object
from a2a_contract.jsonrpc import CallProblem, InvalidCallError, JsonRpcParser, ParsedCall
from a2a_contract.methods import METHODS
from a2a_contract.operations import LIST_TASKS
from a2a_runtime.auth.gate import ANONYMOUS
from a2a_runtime.base.caller import Caller
from a2a_runtime.http.asgi import HttpRequest, check_json, send_allowed_methods, send_response
from a2a_runtime.http.dispatcher import Dispatcher, Endpoint, Invocation
from a2a_runtime.http.errors import collect_field_errors
from a2a_runtime.http.negotiation import encode_media_types
from a2a_runtime.http.pages import HTML, FindPage, wants_page
from a2a_runtime.ports.registry import find_support
from a2a_runtime.ports.wire_variant import ReadCall
from a2a_runtime.service.context import ProtocolBinding

_METHODS = ("POST", "OPTIONS")
_PREFIX = b'{"jsonrpc":"2.0","id":%b,"result":'


class JsonRpcEndpoint(Endpoint):
    """Parses calls and wraps their results in the JSON-RPC envelope."""

    binding = ProtocolBinding.JSONRPC

    def __init__(self, dispatcher: Dispatcher) -> None:
        super().__init__(dispatcher)
        self._variants = dispatcher.surface.wire
        dialects = [each for each in dispatcher.supported_dialects.dialects if each.name in METHODS]
        self._tables = [_find_methods(each.name) for each in dialects]
        self._parser = _build_parser(tuple(each.name for each in dialects if each.extends is None))
        extended = {
            each.version: _build_parser((each.name,))
            for each in dialects
            if each.extends is not None
        }
        self._parsers = {
            version: extended.get(version, self._parser)
            for version, _ in dispatcher.supported_dialects.list_versions()
        }
        """The parsers by version: a version that extends another has the methods of that one."""
        self._bindings: dict[tuple[str | None, str], AnyBinding] = {}
        """By version and method the binding that responds, where it is the only one."""
        for version, parser in self._parsers.items():
            for method, bindings in parser.methods.items():
                found = dispatcher.supported_dialects.find_bindings(version, bindings)
                if len(found) == 1:
                    self._bindings[version, method] = bindings[found[0]]
        self._media_types = encode_media_types(dialects)
        lenient: set[str] = set()
        strict: set[str] = set()
        for table in self._tables:
            for method, binding in table.items():
                if binding.lenient_envelope:
                    lenient.add(method)
                else:
                    strict.add(method)
        self._lenient_methods = frozenset(lenient)
        self._is_lenient = not strict

    find_page: FindPage | None = None
    """Finds a page for browsers, where the endpoint is at the root of an app of agents."""

    async def _respond_to_method(self, request: HttpRequest) -> None:
        """Respond to another method than that of calls."""
        if self.find_page is not None and wants_page(request.scope["method"], request.headers):
            page = self.find_page(request.scope)
            if page is not None:
                headers = (*page.headers, (b"vary", b"Accept"))
                return await send_response(request, page.body, HTML.encode(), headers=headers)
        return await send_allowed_methods(request, _METHODS)

    async def handle(self, request: HttpRequest) -> None:
        """Respond to a call."""
        if request.scope["method"] != "POST":
            return await self._respond_to_method(request)
        read: ReadCall | None = None
        if self._variants:
            caller, read = await self._read_in_variants(request)
            body = read.body
        else:
            caller = await self.dispatcher.admit(request)
            body = await self.dispatcher.read_body(request)
            check_json(body)
        version = request.version
        parser = self._parsers[version] if version in self._parsers else self._parser  # noqa: SIM401 - a call costs more
        try:
            call = parser.parse(body)
        except InvalidCallError as error:
            self._complete_error(error, request, body)
            raise
        request.call_id = call.call_id
        if read is not None and read.errors:
            raise InvalidParamsError(fields=read.errors)
        binding = self._bindings.get((version, call.method))
        if binding is None:
            binding = await self._select_by_task(request, caller, call)
        context = self.dispatcher.build_context(
            request, caller, binding, body if binding.lenient_envelope else b""
        )
        if not binding.lenient_envelope:
            request.check_media_type(self._media_types)
        try:
            parsed = binding.parse(call.requests[binding.dialect])
        except ValidationError as error:
            raise InvalidParamsError(
                fields=collect_field_errors(binding, _extract_params(body), field_paths(error))
            ) from error
        if binding.operation is LIST_TASKS:
            self.dispatcher.warn_of_ignored(request, caller, binding, _extract_params(body))
        if read is not None and read.form is not None:
            binding = read.form.bind(binding)
            context = structs.replace(context, form=read.form)
        return await self.dispatcher.serve(
            request, Invocation(binding, parsed, context, _PREFIX % call.call_id, b"}")
        )

    async def _read_in_variants(self, request: HttpRequest) -> tuple[Caller, ReadCall]:
        """Admit and read a request in the forms of the variants; one of them may read what the gate
        has refused.
        """
        try:
            caller = await self.dispatcher.admit(request)
        except UnauthenticatedError:
            body = await self._read_refused(request)
            if body is None:
                raise
            caller = ANONYMOUS
        else:
            body = await self.dispatcher.read_body(request)
        check_json(body)
        read = ReadCall(body)
        for variant in self._variants:
            read = variant.read_call(read)
        return caller, read

    async def _read_refused(self, request: HttpRequest) -> bytes | None:
        for variant in self._variants:
            body = await variant.read_refused(self.dispatcher, request)
            if body is not None:
                return body
        return None

    async def _select_by_task(
        self, request: HttpRequest, caller: Caller, call: ParsedCall
    ) -> AnyBinding:
        """Select the dialect in which the task of a call was created; for an unknown task, the one
        that answers for these. Refuse a method that the version does not have.
        """
        supported = self.dispatcher.supported_dialects
        indexes = supported.select_bindings(request.version, call.bindings)
        binding = call.bindings[indexes[0]]
        context = self.dispatcher.build_context(request, caller, binding)
        dialect = await self.dispatcher.find_task_dialect(
            binding.parse(call.requests[binding.dialect]).id, context
        )
        dialects = {call.bindings[each].dialect: call.bindings[each] for each in indexes}
        if dialect is None:
            dialect = next(
                (name for name in dialects if find_support(name).takes_unknown_tasks), None
            )
        return dialects.get(dialect or "", binding)

    def _complete_error(self, error: InvalidCallError, request: HttpRequest, body: bytes) -> None:
        """Check the media type, select the dialect of an error response, and add the field errors
        that the parser has not reached.
        """
        if not self._is_lenient and error.method not in self._lenient_methods:
            request.check_media_type(self._media_types)
        request.call_id = error.call_id
        dialects = self.dispatcher.supported_dialects
        dialects.for_version(request.version)
        method = error.method
        bindings = [table[method] for table in self._tables if method in table] if method else []
        if bindings:
            binding = bindings[dialects.select_bindings(request.version, bindings)[0]]
            request.dialect = binding.dialect
            request.is_stream = binding.operation.streams
            if error.problem is CallProblem.WRONG_PARAMS:
                error.fields = collect_field_errors(binding, _extract_params(body), error.fields)


def _find_methods(dialect: str) -> Mapping[str, AnyBinding]:
    methods = find_support(dialect).methods
    if methods is None:
        return METHODS[dialect]
    return methods


def _extract_params(body: bytes) -> Mapping[str, object]:
    """Return the params of a call; empty if they are no object."""
    call: object = from_json(body)
    params = call.get("params") if is_json_object(call) else None
    if is_json_object(params):
        return params
    return {}


@lru_cache(maxsize=16)
def _build_parser(dialects: tuple[str, ...]) -> JsonRpcParser:
    """Build a parser; surfaces with the same dialects share it, because building takes
    milliseconds.
    """
    return JsonRpcParser([_find_methods(each) for each in dialects])
