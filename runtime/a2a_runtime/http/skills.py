"""Skills as plain HTTP: a POST with the input that is answered with the output, and the schemas of both. For whoever speaks no protocol.

    POST {surface}/skills/{skill}                      input as JSON, or plain text for a skill that takes text
        200  the output; of a skill that streams, all of its chunks as one array
        202  {"taskId", "contextId", "question": {"text", "data", "schema"}}     answer with the same call and ?taskId=…
        4xx, 5xx  an error of the protocol, with every wrong place
    GET  {surface}/schemas/{skill}/{input|output}.json

Behind it is the protocol's own operation: the same gate, the same checks, the same task, which can be read and canceled as any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qs

from litestar import route
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send
from pydantic_core import from_json, to_json

from a2a_contract.binding import AnyBinding
from a2a_contract.controllers import AgentController
from a2a_contract.controllers.mount import METHODS as ALL_METHODS
from a2a_contract.errors import (
    InternalError,
    InvalidParamsError,
    MethodNotAllowedError,
    MethodNotFoundError,
    ParseError,
    UnavailableError,
    UnsupportedOperationError,
)
from a2a_contract.lifecycle import State
from a2a_contract.methods import METHODS
from a2a_contract.operations import SEND_MESSAGE
from a2a_contract.v1_0 import Message, Part, Role, SendMessageRequest, Task
from a2a_runtime.agent import SkillDefinition
from a2a_runtime.auth.gate import ANONYMOUS
from a2a_runtime.clock import SystemClock
from a2a_runtime.execution.results import RESULT, find_data, join_texts
from a2a_runtime.http.asgi import HttpRequest, send_empty_response, send_response
from a2a_runtime.http.dispatcher import Dispatcher
from a2a_runtime.http.endpoints import SurfaceEndpoints
from a2a_runtime.http.rest import SKILL_CALL, SKILL_PATHS, SKILL_SCHEMA
from a2a_runtime.ids import IdGenerator
from a2a_runtime.lifecycle import INTERRUPTED
from a2a_runtime.service.context import ProtocolBinding
from a2a_runtime.service.validation import SKILL_ID
from a2a_runtime.skills.handlers import get_reply_schema
from a2a_runtime.skills.schema import TEXT, extract_payload, read_fields, strip_payload_path, wrap_payload

_TEXT = b"text/plain"
_TASK_PARAMETER = "taskId"
_BODY_FIELD = "body"
_CACHE_CONTROL = (b"cache-control", b"public, max-age=300")
_ERROR_BY_STATE = {State.REJECTED: UnsupportedOperationError, State.CANCELED: UnavailableError}


class SkillController(AgentController):
    """The skills of a surface, and their schemas."""

    @route(SKILL_CALL, http_method=ALL_METHODS, include_in_schema=False)
    async def call(self) -> ASGIApp:
        """POST the input of a skill."""
        return self._build_endpoint(SKILL_CALL)

    @route(SKILL_SCHEMA, http_method=ALL_METHODS, include_in_schema=False)
    async def schema(self) -> ASGIApp:
        """GET a schema."""
        return self._build_endpoint(SKILL_SCHEMA)

    def _build_endpoint(self, path: str) -> ASGIApp:
        endpoints = self.endpoints
        if not isinstance(endpoints, SurfaceEndpoints):
            raise TypeError("skills are served by the endpoints of the runtime")
        return SkillEndpoint(endpoints.dispatcher, SKILL_PATHS[path])


class SkillResponse(NamedTuple):
    """What is sent."""

    status: int
    body: bytes


class SkillEndpoint:
    """Answers requests to a skill, or to one of its schemas: an ASGI app."""

    def __init__(self, dispatcher: Dispatcher, methods: tuple[str, ...]) -> None:
        self._dispatcher, self._methods = dispatcher, methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever it is."""
        if scope["type"] != ScopeType.HTTP:
            raise TypeError("skills are called over HTTP only")
        question = HttpRequest(scope, ProtocolBinding.HTTP, self._dispatcher.supported_dialects.fallback(None))
        await self._dispatcher.run(question, self._handle(question, scope, receive, send), send)

    async def _handle(self, request: HttpRequest, scope: HTTPScope, receive: Receive, send: Send) -> None:
        allowed = ", ".join(self._methods)
        if scope["method"] not in self._methods:
            raise MethodNotAllowedError(details={"allow": allowed})
        if scope["method"] == "OPTIONS":
            return await send_empty_response(send, 204, [(b"allow", allowed.encode())])
        reads = "GET" in self._methods
        names: Mapping[str, str] = scope["path_params"]
        skill = self._dispatcher.surface.skills.get(names["skill"])
        if reads and skill is not None and skill.contract is not None and skill.is_visible_to(ANONYMOUS):
            return await send_response(send, _find_schema(skill, names["file"]), headers=(_CACHE_CONTROL,))
        caller = await self._dispatcher.admit(request)  # before it is said which skills there are: some are not for everybody to know
        if skill is None or skill.contract is None or not skill.is_visible_to(caller):
            raise MethodNotFoundError
        if reads:
            return await send_response(send, _find_schema(skill, names["file"]))
        body = await self._dispatcher.read_body(request, receive)
        binding = self._find_send_binding()
        call = self._dispatcher.build_context(request, caller, binding)
        try:
            answer = await self._dispatcher.invoke(request, binding, _build_send_request(skill, request, scope, body), call)
        except InvalidParamsError as error:
            error.fields = tuple((place or _BODY_FIELD, text) for place, text in strip_payload_path(error.fields))
            raise
        status, written = _build_response(skill, answer.model.task, answer.model.message)
        return await send_response(send, written, status=status)

    def _find_send_binding(self) -> AnyBinding:
        """Find how the surface is asked to send a message; all of its dialects come to the same."""
        for dialect in self._dispatcher.supported_dialects.dialects:
            for binding in METHODS.get(dialect.name, {}).values():
                if binding.operation is SEND_MESSAGE:
                    return binding
        raise MethodNotFoundError


def _find_schema(skill: SkillDefinition, file: str) -> bytes:
    form = skill.contract.schemas.get(file.removesuffix(".json")) if skill.contract else None
    if form is None:
        raise MethodNotFoundError
    return form.document


def _build_send_request(skill: SkillDefinition, request: HttpRequest, scope: HTTPScope, body: bytes) -> SendMessageRequest:
    """Make the message that the request stands for."""
    task = parse_qs(scope["query_string"].decode("latin-1")).get(_TASK_PARAMETER, [None])[0]
    message = Message(message_id=_ID_GENERATOR.new(), role=Role.USER, task_id=task, parts=[_build_part(skill, request, body)])
    return SendMessageRequest(message=message, metadata={SKILL_ID: skill.id})


def _build_part(skill: SkillDefinition, request: HttpRequest, body: bytes) -> Part:
    if request.headers.get(b"content-type", b"").startswith(_TEXT):
        return Part(text=body.decode("utf-8", "replace"))
    try:
        value: object = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise ParseError(fields=(("", f"Invalid JSON: {error}"),)) from error
    return wrap_payload(value, skill.contract.input.validator if skill.contract else None)


def _build_response(skill: SkillDefinition, task: Task | None, message: Message | None) -> SkillResponse:
    """Write what came of the call, or raise it."""
    if task is None:
        parts = message.parts if message else []
        return SkillResponse(200, to_json(_extract_output(skill, parts)))
    state = State(task.status.state) if task.status.state.is_known else State.FAILED
    said = task.status.message.parts if task.status.message else []
    if state in INTERRUPTED:
        asked = {"text": join_texts(said), "data": find_data(said), "schema": get_reply_schema(task.status.message)}
        shown = {
            _TASK_PARAMETER: task.id,
            "contextId": task.context_id,
            "question": {key: value for key, value in asked.items() if value is not None},
        }
        return SkillResponse(202, to_json(shown))
    if fields := read_fields(task.status.message):
        raise InvalidParamsError(join_texts(said), fields=fields, details={"task_id": task.id})
    if state is not State.COMPLETED:
        raise _ERROR_BY_STATE.get(state, InternalError)(join_texts(said), details={"task_id": task.id})
    results = next((each.parts for each in task.artifacts or [] if RESULT in (each.artifact_id, each.name)), said)
    if skill.contract is not None and skill.contract.streams:
        return SkillResponse(200, to_json([_extract_output(skill, [part]) for part in results]))
    return SkillResponse(200, to_json(_extract_output(skill, results)))


def _extract_output(skill: SkillDefinition, parts: list[Part]) -> object:
    """Find the output among parts."""
    return extract_payload(parts, (skill.contract.output if skill.contract else TEXT).validator, "result").value


_ID_GENERATOR = IdGenerator(SystemClock())
