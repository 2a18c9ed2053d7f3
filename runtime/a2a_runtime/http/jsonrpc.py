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
from a2a_contract.field_paths import places
from a2a_contract.json_types import is_object
from a2a_contract.jsonrpc import CallReader, Fault, UnreadableCallError
from a2a_contract.methods import METHODS
from a2a_runtime.http.asgi import Question, check_json, reply_empty
from a2a_runtime.http.dispatcher import Counter, Inquiry
from a2a_runtime.http.errors import all_faults
from a2a_runtime.service.context import BindingKind

_METHODS = ("POST", "OPTIONS")


class JsonRpc:
    """Reads calls, and stands around their answers."""

    def __init__(self, counter: Counter) -> None:
        self._counter, self._spoken = counter, counter.spoken
        dialects = [each for each in self._spoken.dialects if each.name in METHODS]
        self._tables = {each.name: METHODS[each.name] for each in dialects}
        self._reader = _reader(tuple(self._tables))
        self._media_types = frozenset(name.encode() for each in dialects for name in each.media_types)
        self._forgives = all(binding.forgives_envelope for table in self._tables.values() for binding in table.values())
        self._in_doubt = self._spoken.in_doubt(None)

    def answer(self, scope: HTTPScope, receive: Receive, send: Send) -> Coroutine[object, object, None]:
        """Answer a request, whatever it is."""
        question = Question(scope, BindingKind.JSONRPC, self._in_doubt)
        return self._counter.attend(question, self._answer(question, receive, send), send)

    async def _answer(self, question: Question, receive: Receive, send: Send) -> None:
        if question.scope["method"] != "POST":
            return await _another_method(question, send)
        if question.version is not None:
            question.dialect = self._spoken.in_doubt(question.version)
        caller = await self._counter.admit(question)
        if not self._forgives:
            question.check_media_type(self._media_types)
        body = await self._counter.body(question, receive)
        check_json(body)
        try:
            read = self._reader.read(body)
        except UnreadableCallError as error:
            question.call_id = error.call_id
            binding = self._place(question, error.method)
            if binding is not None and error.fault is Fault.WRONG_PARAMS:
                error.fields = all_faults(binding, _params(body), error.fields)
            raise
        call_id, bindings, requests = read
        question.call_id = call_id
        place, *others = self._spoken.of_method(question.version, bindings)
        binding = bindings[place]
        call = self._counter.call(question, caller, binding)
        if others:
            home = await self._counter.home(binding.take(requests[place]).id, call)
            place = next((each for each in others if bindings[each].dialect == home), place)
            binding = bindings[place]
            call = self._counter.call(question, caller, binding)
        head = b'{"jsonrpc":"2.0","id":%b,"result":' % call_id
        try:
            request = binding.take(requests[place])
        except ValidationError as error:
            raise InvalidParamsError(fields=all_faults(binding, _params(body), places(error))) from error
        return await self._counter.serve(question, Inquiry(binding, request, call, head, b"}"), receive, send)

    def _place(self, question: Question, method: str | None) -> AnyBinding | None:
        """Find the dialect in which somebody is told what is wrong with their call, and what they asked for in it."""
        self._spoken.may_answer(question.version)
        bindings = [binding for table in self._tables.values() if (binding := table.get(method or "")) is not None]
        if not bindings:
            return None
        binding = bindings[self._spoken.of_method(question.version, bindings)[0]]
        question.dialect = binding.dialect
        return binding


def _params(body: bytes) -> Mapping[str, object]:
    """Read what a call says, as far as it says something."""
    call: object = from_json(body)
    params = call.get("params") if is_object(call) else None
    return params if is_object(params) else {}


async def _another_method(question: Question, send: Send) -> None:
    allowed = ", ".join(_METHODS)
    if question.scope["method"] not in _METHODS:
        raise MethodNotAllowedError(details={"allow": allowed})
    await reply_empty(send, 204, [(b"allow", allowed.encode())])


@lru_cache(maxsize=16)
def _reader(dialects: tuple[str, ...]) -> CallReader:
    """Make a reader once for all surfaces that speak the same: it costs milliseconds."""
    return CallReader([METHODS[each] for each in dialects])
