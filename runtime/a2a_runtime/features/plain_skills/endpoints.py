"""Skills as plain HTTP, for clients without the protocol: POST the input, get the output; and the
schemas of both.

    POST {surface}/skills/{skill}   input as JSON, or plain text for a skill that takes text
        200  the output; of a skill that streams, all of its chunks as one array
        202  {"taskId", "contextId", "question": {"text", "data", "schema"}}
             answer with the same call and ?taskId=…
        4xx, 5xx  an error of the protocol, with every field error
    GET  {surface}/schemas/{skill}/{input|output}.json

A call runs the protocol's own operation: the same gate, the same checks, and a task that can be
read and canceled like every other.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qs

from litestar import route
from litestar.types import ASGIApp
from pydantic_core import from_json, to_json

from a2a_contract.binding import AnyBinding
from a2a_contract.controllers import AgentController
from a2a_contract.controllers.mount import METHODS as ALL_METHODS
from a2a_contract.errors import (
    InternalError,
    InvalidParamsError,
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
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.card_extensions import SKILL_ID
from a2a_runtime.base.clock import SystemClock
from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.base.lifecycle import INTERRUPTED
from a2a_runtime.base.texts import join_texts
from a2a_runtime.engine.handlers.results import RESULT, find_data
from a2a_runtime.http.asgi import HttpRequest, send_allowed_methods, send_response
from a2a_runtime.http.dispatcher import Dispatcher, Endpoint, Invocation
from a2a_runtime.http.endpoints import get_dispatcher
from a2a_runtime.http.host_routes import PublicWithCard
from a2a_runtime.skills.contract import AnyContract
from a2a_runtime.skills.handlers import get_reply_schema
from a2a_runtime.skills.paths import SKILL_CALL, SKILL_PATHS, SKILL_SCHEMA
from a2a_runtime.skills.schema import extract_payload, read_fields, strip_payload_path, wrap_payload

_TEXT = b"text/plain"
_TASK_PARAMETER = "taskId"
_BODY_FIELD = "body"
_CACHE_CONTROL = (b"cache-control", b"public, max-age=300")
_ERROR_BY_STATE = {State.REJECTED: UnsupportedOperationError, State.CANCELED: UnavailableError}
_ID_GENERATOR = IdGenerator(SystemClock())


class SkillController(AgentController):
    """Routes of the skills of a surface."""

    @route(SKILL_CALL, http_method=ALL_METHODS, include_in_schema=False)
    async def call(self) -> ASGIApp:
        """POST the input of a skill."""
        return SkillEndpoint(get_dispatcher(self))


class SchemaController(AgentController, PublicWithCard):
    """Routes of the schemas of skills."""

    @route(SKILL_SCHEMA, http_method=ALL_METHODS, include_in_schema=False)
    async def schema(self) -> ASGIApp:
        """GET a schema."""
        return SchemaEndpoint(get_dispatcher(self))


class SkillResponse(NamedTuple):
    """Status and body of a response."""

    status: int
    body: bytes


def _find_skill(
    request: HttpRequest, dispatcher: Dispatcher, caller: Caller
) -> tuple[SkillDefinition, AnyContract] | None:
    """Find the skill with a contract that a path names, if it is visible to a caller."""
    skill = dispatcher.surface.skills.get(request.scope["path_params"]["skill"])
    if skill is None or skill.contract is None or not skill.is_visible_to(caller):
        return None
    return (skill, skill.contract)


def _explain_missing(request: HttpRequest, dispatcher: Dispatcher, caller: Caller) -> str:
    """Explain why a path calls no skill, as far as the caller may know: with the skills that it may
    call there.
    """
    name = request.scope["path_params"]["skill"]
    visible = {
        skill_id: skill
        for skill_id, skill in dispatcher.surface.skills.items()
        if skill.is_visible_to(caller)
    }
    typed = (
        ", ".join(skill_id for skill_id, skill in visible.items() if skill.contract is not None)
        or "none"
    )
    if name in visible:
        return (
            "This skill has no types, so it has no path; send it a message. Skills with a path: "
            f"{typed}"
        )
    return f"There is no such skill. Skills with a path: {typed}"


class SchemaEndpoint(Endpoint):
    """Responds with a schema of a skill; the gate is asked only for skills that are not public, or
    where the card is not.
    """

    async def handle(self, request: HttpRequest) -> None:
        """Respond to a request."""
        dispatcher = self.dispatcher
        request.dialect = dispatcher.supported_dialects.fallback(None)
        if request.scope["method"] not in ("GET", "HEAD"):
            return await send_allowed_methods(request, SKILL_PATHS[SKILL_SCHEMA])
        public = (
            _find_skill(request, dispatcher, ANONYMOUS)
            if dispatcher.surface.public_card is not False
            else None
        )
        found = public or _find_skill(request, dispatcher, await dispatcher.admit(request))
        schema = (
            found[1].schemas.get(request.scope["path_params"]["file"].removesuffix(".json"))
            if found
            else None
        )
        if schema is None:
            raise MethodNotFoundError
        return await send_response(
            request, schema.document, headers=(_CACHE_CONTROL,) if public else ()
        )


class SkillEndpoint(Endpoint):
    """Responds to calls of a skill."""

    async def handle(self, request: HttpRequest) -> None:
        """Respond to a request."""
        dispatcher = self.dispatcher
        request.dialect = dispatcher.supported_dialects.fallback(None)
        if request.scope["method"] != "POST":
            return await send_allowed_methods(request, SKILL_PATHS[SKILL_CALL])
        caller = await dispatcher.admit(
            request
        )  # first: the existence of some skills is not public
        found = _find_skill(request, dispatcher, caller)
        if found is None:
            raise MethodNotFoundError(_explain_missing(request, dispatcher, caller))
        skill, contract = found
        body = await dispatcher.read_body(request)
        binding = self._find_send_binding()
        context = dispatcher.build_context(request, caller, binding)
        try:
            result = await dispatcher.invoke(
                request,
                Invocation(binding, _build_send_request(skill, contract, request, body), context),
            )
        except InvalidParamsError as error:
            error.fields = tuple(
                (path or _BODY_FIELD, text) for path, text in strip_payload_path(error.fields)
            )
            raise
        status, response = _build_response(contract, result.model.task, result.model.message)
        return await send_response(request, response, status=status)

    def _find_send_binding(self) -> AnyBinding:
        """Find the binding of ``SendMessage`` in any dialect of the surface: all of them lead to
        the same canonical request.
        """
        for dialect in self.dispatcher.supported_dialects.dialects:
            for binding in METHODS.get(dialect.name, {}).values():
                if binding.operation is SEND_MESSAGE:
                    return binding
        raise MethodNotFoundError


def _build_send_request(
    skill: SkillDefinition, contract: AnyContract, request: HttpRequest, body: bytes
) -> SendMessageRequest:
    task_id = parse_qs(request.scope["query_string"].decode("latin-1")).get(
        _TASK_PARAMETER, [None]
    )[0]
    message = Message(
        message_id=_ID_GENERATOR.new(),
        role=Role.USER,
        task_id=task_id,
        parts=[_build_part(contract, request, body)],
    )
    return SendMessageRequest(message=message, metadata={SKILL_ID: skill.id})


def _build_part(contract: AnyContract, request: HttpRequest, body: bytes) -> Part:
    if request.headers.get(b"content-type", b"").startswith(_TEXT):
        return Part(text=body.decode("utf-8", "replace"))
    try:
        value: object = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise ParseError(fields=(("", f"Invalid JSON: {error}"),)) from error
    return wrap_payload(value, contract.input.validator)


def _build_response(
    contract: AnyContract, task: Task | None, message: Message | None
) -> SkillResponse:
    """Build the response to a call from its message or its task; raise the error for which the task
    stands.
    """
    if task is None:
        return SkillResponse(
            200, to_json(_extract_output(contract, message.parts if message else []))
        )
    state = State(task.status.state) if task.status.state.is_known else State.FAILED
    message = task.status.message
    if state in INTERRUPTED:
        data = find_data(message.parts if message else ())
        question = {"text": join_texts(message), "data": data, "schema": get_reply_schema(message)}
        stated = {key: value for key, value in question.items() if value is not None}
        return SkillResponse(
            202,
            to_json({_TASK_PARAMETER: task.id, "contextId": task.context_id, "question": stated}),
        )
    if fields := read_fields(message):
        raise InvalidParamsError(join_texts(message), fields=fields, details={"task_id": task.id})
    if state is not State.COMPLETED:
        raise _ERROR_BY_STATE.get(state, InternalError)(
            join_texts(message), details={"task_id": task.id}
        )
    result = next(
        (each for each in task.artifacts or [] if RESULT in (each.artifact_id, each.name)), None
    )
    if result is None:
        parts = message.parts if message else []
        output = (
            [_extract_output(contract, [part]) for part in parts]
            if contract.streams
            else _extract_output(contract, parts)
        )
    elif contract.streams:
        output = [_extract_output(contract, [part]) for part in result.parts]
    else:
        output = _extract_output(contract, result.parts, are_chunks=True)
    return SkillResponse(200, to_json(output))


def _extract_output(
    contract: AnyContract, parts: list[Part], *, are_chunks: bool = False
) -> object:
    return extract_payload(parts, contract.output.validator, "result", are_chunks=are_chunks).value
