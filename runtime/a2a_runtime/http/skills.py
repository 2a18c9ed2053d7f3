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
from a2a_runtime.agent import DeclaredSkill
from a2a_runtime.auth.gate import ANYONE
from a2a_runtime.clock import SystemClock
from a2a_runtime.execution.results import RESULT, data_of, text_of
from a2a_runtime.http.asgi import Question, reply, reply_empty
from a2a_runtime.http.dispatcher import Counter
from a2a_runtime.http.endpoints import HttpExchange
from a2a_runtime.http.rest import SKILL_CALL, SKILL_PATHS, SKILL_SCHEMA
from a2a_runtime.ids import Ids
from a2a_runtime.lifecycle import INTERRUPTED
from a2a_runtime.service.context import BindingKind
from a2a_runtime.service.validation import SKILL
from a2a_runtime.skills.handlers import asked_schema
from a2a_runtime.skills.schema import TEXT, carried, carrier, refused_fields, within

_TEXT = b"text/plain"
_TASK = "taskId"
_BODY = "body"
_KEPT = (b"cache-control", b"public, max-age=300")
_ENDS = {State.REJECTED: UnsupportedOperationError, State.CANCELED: UnavailableError}


class SkillController(AgentController):
    """The skills of a surface, and their schemas."""

    @route(SKILL_CALL, http_method=ALL_METHODS, include_in_schema=False)
    async def call(self) -> ASGIApp:
        """POST the input of a skill."""
        return self._entrance(SKILL_CALL)

    @route(SKILL_SCHEMA, http_method=ALL_METHODS, include_in_schema=False)
    async def schema(self) -> ASGIApp:
        """GET a schema."""
        return self._entrance(SKILL_SCHEMA)

    def _entrance(self, path: str) -> ASGIApp:
        exchange = self.exchange
        if not isinstance(exchange, HttpExchange):
            raise TypeError("skills are served by the exchange of the runtime")
        return Entrance(exchange.counter, SKILL_PATHS[path])


class Answer(NamedTuple):
    """What is sent."""

    status: int
    body: bytes


class Entrance:
    """Answers requests to a skill, or to one of its schemas: an ASGI app."""

    def __init__(self, counter: Counter, methods: tuple[str, ...]) -> None:
        self._counter, self._methods = counter, methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever it is."""
        if scope["type"] != ScopeType.HTTP:
            raise TypeError("skills are called over HTTP only")
        question = Question(scope, BindingKind.HTTP, self._counter.spoken.in_doubt(None))
        await self._counter.attend(question, self._answer(question, scope, receive, send), send)

    async def _answer(self, question: Question, scope: HTTPScope, receive: Receive, send: Send) -> None:
        allowed = ", ".join(self._methods)
        if scope["method"] not in self._methods:
            raise MethodNotAllowedError(details={"allow": allowed})
        if scope["method"] == "OPTIONS":
            return await reply_empty(send, 204, [(b"allow", allowed.encode())])
        reads = "GET" in self._methods
        names: Mapping[str, str] = scope["path_params"]
        skill = self._counter.surface.skills.get(names["skill"])
        if reads and skill is not None and skill.contract is not None and skill.is_there_for(ANYONE):
            return await reply(send, _schema(skill, names["file"]), headers=(_KEPT,))
        caller = await self._counter.admit(question)  # before it is said which skills there are: some are not for everybody to know
        if skill is None or skill.contract is None or not skill.is_there_for(caller):
            raise MethodNotFoundError
        if reads:
            return await reply(send, _schema(skill, names["file"]))
        body = await self._counter.body(question, receive)
        binding = self._binding()
        call = self._counter.call(question, caller, binding)
        try:
            answer = await self._counter.asked(question, binding, _request(skill, question, scope, body), call)
        except InvalidParamsError as error:
            error.fields = tuple((place or _BODY, text) for place, text in within(error.fields))
            raise
        status, written = _written(skill, answer.model.task, answer.model.message)
        return await reply(send, written, status=status)

    def _binding(self) -> AnyBinding:
        """Find how the surface is asked to send a message; all of its dialects come to the same."""
        for dialect in self._counter.spoken.dialects:
            for binding in METHODS.get(dialect.name, {}).values():
                if binding.operation is SEND_MESSAGE:
                    return binding
        raise MethodNotFoundError


def _schema(skill: DeclaredSkill, file: str) -> bytes:
    form = skill.contract.schemas.get(file.removesuffix(".json")) if skill.contract else None
    if form is None:
        raise MethodNotFoundError
    return form.document


def _request(skill: DeclaredSkill, question: Question, scope: HTTPScope, body: bytes) -> SendMessageRequest:
    """Make the message that the request stands for."""
    task = parse_qs(scope["query_string"].decode("latin-1")).get(_TASK, [None])[0]
    message = Message(message_id=_IDS.new(), role=Role.USER, task_id=task, parts=[_part(skill, question, body)])
    return SendMessageRequest(message=message, metadata={SKILL: skill.id})


def _part(skill: DeclaredSkill, question: Question, body: bytes) -> Part:
    if question.headers.get(b"content-type", b"").startswith(_TEXT):
        return Part(text=body.decode("utf-8", "replace"))
    try:
        value: object = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise ParseError(fields=(("", f"Invalid JSON: {error}"),)) from error
    return carrier(value, skill.contract.input.law if skill.contract else None)


def _written(skill: DeclaredSkill, task: Task | None, message: Message | None) -> Answer:
    """Write what came of the call, or raise it."""
    if task is None:
        parts = message.parts if message else []
        return Answer(200, to_json(_value(skill, parts)))
    state = State(task.status.state) if task.status.state.is_known else State.FAILED
    said = task.status.message.parts if task.status.message else []
    if state in INTERRUPTED:
        asked = {"text": text_of(said), "data": data_of(said), "schema": asked_schema(task.status.message)}
        shown = {_TASK: task.id, "contextId": task.context_id, "question": {key: value for key, value in asked.items() if value is not None}}
        return Answer(202, to_json(shown))
    if fields := refused_fields(task.status.message):
        raise InvalidParamsError(text_of(said), fields=fields, details={"task_id": task.id})
    if state is not State.COMPLETED:
        raise _ENDS.get(state, InternalError)(text_of(said), details={"task_id": task.id})
    results = next((each.parts for each in task.artifacts or [] if RESULT in (each.artifact_id, each.name)), said)
    if skill.contract is not None and skill.contract.streams:
        return Answer(200, to_json([_value(skill, [part]) for part in results]))
    return Answer(200, to_json(_value(skill, results)))


def _value(skill: DeclaredSkill, parts: list[Part]) -> object:
    """Find the output among parts."""
    return carried(parts, (skill.contract.output if skill.contract else TEXT).law, "result").value


_IDS = Ids(SystemClock())
