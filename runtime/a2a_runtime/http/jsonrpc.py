"""The JSON-RPC endpoint of a surface, for all of its dialects at once.

    ParseError            the body is not JSON
    InvalidRequestError   it is JSON, but no call, or several
    MethodNotFoundError   no dialect that may answer has the method
    InvalidParamsError    the method is known, its params are wrong

A call without an id is answered all the same, with ``null`` for it.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from functools import lru_cache

from litestar.types import HTTPScope, Receive, Send
from pydantic import ValidationError
from pydantic_core import from_json

from a2a_contract.binding import AnyBinding
from a2a_contract.errors import InvalidParamsError, MethodNotAllowedError
from a2a_contract.field_paths import field_paths
from a2a_contract.json_types import is_json_object
from a2a_contract.jsonrpc import CallProblem, InvalidCallError, JsonRpcParser
from a2a_contract.methods import METHODS
from a2a_runtime.http.asgi import HttpRequest, check_json, send_empty_response
from a2a_runtime.http.dispatcher import Dispatcher, Invocation
from a2a_runtime.http.errors import collect_field_errors
from a2a_runtime.service.context import ProtocolBinding

_METHODS = ("POST", "OPTIONS")


class JsonRpcEndpoint:
    """Reads calls, and stands around their answers."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher, self._supported_dialects = dispatcher, dispatcher.supported_dialects
        dialects = [each for each in self._supported_dialects.dialects if each.name in METHODS]
        self._tables = {each.name: METHODS[each.name] for each in dialects}
        self._parser = _build_parser(tuple(self._tables))
        self._media_types = frozenset(name.encode() for each in dialects for name in each.media_types)
        self._is_lenient = all(binding.lenient_envelope for table in self._tables.values() for binding in table.values())
        self._fallback_dialect = self._supported_dialects.fallback(None)

    def handle(self, scope: HTTPScope, receive: Receive, send: Send) -> Coroutine[object, object, None]:
        """Answer a request, whatever it is."""
        question = HttpRequest(scope, ProtocolBinding.JSONRPC, self._fallback_dialect)
        return self._dispatcher.run(question, self._handle(question, receive, send), send)

    async def _handle(self, question: HttpRequest, receive: Receive, send: Send) -> None:
        if question.scope["method"] != "POST":
            return await _handle_other_method(question, send)
        if question.version is not None:
            question.dialect = self._supported_dialects.fallback(question.version)
        caller = await self._dispatcher.admit(question)
        if not self._is_lenient:
            question.check_media_type(self._media_types)
        body = await self._dispatcher.read_body(question, receive)
        check_json(body)
        try:
            read = self._parser.parse(body)
        except InvalidCallError as error:
            question.call_id = error.call_id
            binding = self._find_binding(question, error.method)
            if binding is not None and error.problem is CallProblem.WRONG_PARAMS:
                error.fields = collect_field_errors(binding, _extract_params(body), error.fields)
            raise
        call_id, bindings, requests = read
        question.call_id = call_id
        place, *others = self._supported_dialects.select_bindings(question.version, bindings)
        binding = bindings[place]
        call = self._dispatcher.build_context(question, caller, binding)
        if others:
            home = await self._dispatcher.task_dialect(binding.parse(requests[place]).id, call)
            place = next((each for each in others if bindings[each].dialect == home), place)
            binding = bindings[place]
            call = self._dispatcher.build_context(question, caller, binding)
        head = b'{"jsonrpc":"2.0","id":%b,"result":' % call_id
        try:
            request = binding.parse(requests[place])
        except ValidationError as error:
            raise InvalidParamsError(fields=collect_field_errors(binding, _extract_params(body), field_paths(error))) from error
        return await self._dispatcher.serve(question, Invocation(binding, request, call, head, b"}"), receive, send)

    def _find_binding(self, request: HttpRequest, method: str | None) -> AnyBinding | None:
        """Find the dialect in which somebody is told what is wrong with their call, and what they asked for in it."""
        self._supported_dialects.for_version(request.version)
        bindings = [binding for table in self._tables.values() if (binding := table.get(method or "")) is not None]
        if not bindings:
            return None
        binding = bindings[self._supported_dialects.select_bindings(request.version, bindings)[0]]
        request.dialect = binding.dialect
        return binding


def _extract_params(body: bytes) -> Mapping[str, object]:
    """Read what a call says, as far as it says something."""
    call: object = from_json(body)
    params = call.get("params") if is_json_object(call) else None
    return params if is_json_object(params) else {}


async def _handle_other_method(request: HttpRequest, send: Send) -> None:
    allowed = ", ".join(_METHODS)
    if request.scope["method"] not in _METHODS:
        raise MethodNotAllowedError(details={"allow": allowed})
    await send_empty_response(send, 204, [(b"allow", allowed.encode())])


@lru_cache(maxsize=16)
def _build_parser(dialects: tuple[str, ...]) -> JsonRpcParser:
    """Make a reader once for all surfaces that speak the same: it costs milliseconds."""
    return JsonRpcParser([METHODS[each] for each in dialects])
