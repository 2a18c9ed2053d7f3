"""Skills of a remote agent as tools: names, JSON Schemas and a function that calls them, for any
framework.

Loaded where it is imported, and where agents are tools of a model or of a server of MCP.

    async with RemoteTools("https://agent.example.com") as agent:
        tools = await agent.list_tools()                     name, description, parameters of each
        result = await agent.call("book-flight", {"to": "Oslo"}, on_progress=print)

A call follows its task to the end: it reports progress, answers questions with ``on_ask``, and
cancels the task when it is canceled or its time is over. Without ``on_ask`` a question raises
``InputRequiredError``; ``answer`` goes on with its task, also in another process.

Parameters are an object, as tools of models need it. A skill with another input has one parameter
``input``; one of plain text, ``message``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack
from unicodedata import category
from uuid import uuid4

from a2a_contract.base import JSON_NULL, JsonObject
from a2a_contract.errors import InvalidParamsError
from a2a_contract.extension_table import SKILL_SCHEMAS
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.v1_0 import AgentCard, AgentSkill, Artifact, Message, Part, Role, Task
from a2a_runtime.base.card_extensions import find_params
from a2a_runtime.base.texts import join_texts
from a2a_runtime.client.typed.client import SkillClient, build_skill_metadata
from a2a_runtime.client.typed.conversation import CallOptions
from a2a_runtime.client.typed.results import (
    PendingQuestion,
    build_answer,
    build_error,
    is_completed,
    parse_question,
)
from a2a_runtime.skills.schema import SchemaMismatchError, SchemaValidator, wrap_payload

TEXT_PARAMETER = "message"
INPUT_PARAMETER = "input"
_TEXT_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        TEXT_PARAMETER: {"type": "string", "description": "Message to the agent, in plain words"}
    },
    "required": [TEXT_PARAMETER],
    "additionalProperties": False,
}
_AT_THE_ROOT = ("$defs", "$schema", "definitions")
_NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME_LENGTH = 64
"""Limits that the interfaces of most models have."""
_MAX_DESCRIPTION_LENGTH = 4_000
_HIDDEN_CATEGORIES = frozenset(("Cc", "Cf", "Co", "Cs"))
_KEPT_CHARACTERS = frozenset("\n\t\u200c\u200d")  # the last two join letters and emoji
_ANNOTATIONS = frozenset(("title", "description", "$comment"))
_VALUES = frozenset(("const", "enum", "default", "examples"))


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A skill as a tool of a model."""

    name: str
    description: str
    parameters: JsonObject
    skill_id: str
    input_schema: JsonObject | None
    """The schema of the skill; ``None``: plain text."""


class CheckedTool(NamedTuple):
    """A tool with the validators of its schemas, which are compiled once."""

    tool: RemoteTool
    parameters: SchemaValidator
    input: SchemaValidator | None


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file in a result: its bytes, or the URL where it is."""

    name: str | None
    media_type: str | None
    data: bytes | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class RemoteResult:
    """Result of a call: a value for the model, files, and the answer that they come from."""

    value: object
    files: Sequence[RemoteFile]
    answer: Task | Message


class RemoteTools(SkillClient):
    """The skills of one agent as tools; the arguments are those of ``A2AClient``."""

    _tools: Mapping[str, CheckedTool] | None = None

    async def list_tools(self, *, refresh: bool = False) -> Sequence[RemoteTool]:
        """List the skills on the card as tools.

        Schemas are read from the agent itself; ``refresh`` reads all of it again.
        """
        tools = await self._load_tools(refresh=refresh)
        return [each.tool for each in tools.values()]

    async def call(
        self, name: str, arguments: Mapping[str, object], **options: Unpack[CallOptions]
    ) -> RemoteResult:
        """Call a tool.

        Arguments that do not match its schema are an ``InvalidParamsError`` with the field errors.
        """
        tools = await self._load_tools()
        if name not in tools:
            raise ValueError(f"tool {name!r}: unknown; known: {', '.join(tools) or 'none'}")
        return await self.call_tool(tools[name], arguments, **options)

    async def call_tool(
        self, tool: CheckedTool, arguments: Mapping[str, object], **options: Unpack[CallOptions]
    ) -> RemoteResult:
        """Call a tool that the caller has built."""
        return build_result(
            await self._finish(_build_message(tool, arguments, options.get("context_id")), options)
        )

    async def begin_tool(
        self, tool: CheckedTool, arguments: Mapping[str, object]
    ) -> Task | Message:
        """Begin a call and return its task, which goes on, or the message that answers at once."""
        return await self.untyped.send(_build_message(tool, arguments, None), wait=False)

    async def answer(
        self, question: PendingQuestion, value: object, **options: Unpack[CallOptions]
    ) -> RemoteResult:
        """Answer the question of a task, and follow it to its end."""
        return build_result(await self._finish(build_answer(question, value), options))

    async def find_question(self, task_id: str) -> PendingQuestion:
        """Read the question that a task waits with."""
        return parse_question(await self.untyped.get(task_id))

    async def _load_tools(self, *, refresh: bool = False) -> Mapping[str, CheckedTool]:
        if self._tools is None or refresh:
            card = await self.untyped.get_card(refresh=refresh)
            found = [await self._to_tool(card, skill) for skill in card.skills]
            tools = {each.tool.name: each for each in found}
            # names of tools have fewer characters than ids of skills: two ids may become one name
            if len(tools) < len(card.skills):
                raise ValueError(
                    f"{card.name}: two skills have names that are one as tools; call the "
                    "agent with A2AClient"
                )
            self._tools = tools
        return self._tools

    async def _to_tool(self, card: AgentCard, skill: AgentSkill) -> CheckedTool:
        schema = await self._fetch_schema(card, skill.id)
        name = _NAME_CHARACTERS.sub("_", skill.id)[:_MAX_NAME_LENGTH]
        description = clean_text(skill.description or skill.name)
        cleaned = None if schema is None else clean_schema(schema)
        return build_tool(name, description, skill.id, cleaned)

    async def _fetch_schema(self, card: AgentCard, skill_id: str) -> JsonObject | None:
        params = find_params(card, SKILL_SCHEMAS)
        described = params.skills.get(skill_id) if params else None
        if described is None or described.input is None:
            return None
        schema: object = json.loads(await self.untyped.fetch_document(described.input.url))
        if is_json_object(schema):
            return schema
        return {}


def clean_text(text: str) -> str:
    """Shorten a text of another party for a model, without characters that people do not see: a
    model would read instructions there.
    """
    seen = [
        each
        for each in text
        if each in _KEPT_CHARACTERS or category(each) not in _HIDDEN_CATEGORIES
    ]
    shortened = "".join(seen[:_MAX_DESCRIPTION_LENGTH])
    if len(seen) <= _MAX_DESCRIPTION_LENGTH:
        return shortened
    return f"{shortened}…"


def clean_schema(schema: JsonObject) -> JsonObject:
    """Clean the descriptions in a schema of another party; what it accepts stays the same."""
    return {name: _clean_member(name, value) for name, value in schema.items()}


def _clean_member(name: str, value: object) -> object:
    if name in _VALUES:
        return value
    if isinstance(value, str):
        if name in _ANNOTATIONS:
            return clean_text(value)
        return value
    if is_json_object(value):
        return clean_schema(value)
    if is_json_array(value):
        return [_clean_member("", each) for each in value]
    return value


def build_tool(
    name: str, description: str, skill_id: str, schema: JsonObject | None
) -> CheckedTool:
    """Build a tool of a skill; without a schema its input is plain text."""
    tool = RemoteTool(name, description, _build_parameters(schema), skill_id, schema)
    output = None if schema is None else SchemaValidator(schema)
    return CheckedTool(tool, SchemaValidator(tool.parameters), output)


def wrap_schema(schema: JsonObject, name: str) -> JsonObject:
    """Build the schema of an object whose only member has a schema; definitions stay at the root,
    where references find them.
    """
    definitions = {each: schema[each] for each in _AT_THE_ROOT if each in schema}
    member = {each: value for each, value in schema.items() if each not in definitions}
    return {
        "type": "object",
        "properties": {name: member},
        "required": [name],
        "additionalProperties": False,
        **definitions,
    }


def _build_parameters(schema: JsonObject | None) -> JsonObject:
    if schema is None:
        return _TEXT_PARAMETERS
    if schema.get("type") == "object":
        return schema
    return wrap_schema(schema, INPUT_PARAMETER)


def _build_message(
    tool: CheckedTool, arguments: Mapping[str, object], context_id: str | None
) -> Message:
    return Message(
        message_id=str(uuid4()),
        role=Role.USER,
        context_id=context_id,
        parts=[_build_part(tool, arguments)],
        metadata=build_skill_metadata(tool.tool.skill_id),
    )


def _build_part(checked: CheckedTool, arguments: Mapping[str, object]) -> Part:
    tool = checked.tool
    try:
        checked.parameters.check(dict(arguments))
    except SchemaMismatchError as error:
        raise InvalidParamsError(
            f"arguments: do not match the parameters of {tool.name}", fields=error.fields
        ) from error
    if checked.input is None:
        return Part(text=str(arguments[TEXT_PARAMETER]))
    # the same object: the schema of an object serves as the parameters without a wrapper
    is_wrapped = tool.parameters is not tool.input_schema
    value = arguments[INPUT_PARAMETER] if is_wrapped else dict(arguments)
    return wrap_payload(value, checked.input)


def build_result(answer: Task | Message) -> RemoteResult:
    """Build the result of a finished call, or raise the error of its task."""
    if isinstance(answer, Task) and not is_completed(answer):
        raise build_error(answer)
    contents = [answer] if isinstance(answer, Message) else _list_contents(answer)
    parts: list[Part] = []
    for content in contents:
        parts += content.parts
    files = [
        RemoteFile(part.filename, part.media_type, part.raw, part.url)
        for part in parts
        if part.raw is not None or part.url is not None
    ]
    found = [part.data for part in parts if part.data is not None]
    data: list[Any] = [None if each is JSON_NULL else each for each in found]
    text = "".join(map(join_texts, contents))
    if not data:
        return RemoteResult(text, files, answer)
    value = data[0] if len(data) == 1 else data
    if text:
        value = {"text": text, "data": value}
    return RemoteResult(value, files, answer)


def _list_contents(task: Task) -> Sequence[Artifact | Message]:
    if task.artifacts or task.status.message is None:
        return task.artifacts or ()
    return [task.status.message]
