"""Code of a request: Python with the client, Python with a typed client, and a command line of
``a2a-gen``.

Each is complete: it runs as it is, once the variables of its placeholders are set. A request that a
command line cannot express has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pprint import pformat
from shlex import quote
from textwrap import indent

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.extension_table import SKILL_SCHEMAS
from a2a_contract.json_types import is_json_object
from a2a_contract.operations import (
    GET_EXTENDED_AGENT_CARD,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
)
from a2a_contract.v1_0 import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from a2a_runtime.base.card_extensions import SKILL_ID, find_params
from a2a_runtime.client.interface import Interface
from a2a_runtime.client.options import GRPC, HTTP_JSON, JSONRPC
from a2a_runtime.features.explorer.directory import ExploredAgent
from a2a_runtime.features.explorer.security import API_KEY, BASIC, describe_scheme
from a2a_runtime.features.explorer.visitor import VisitorCredentials

BEARER_VARIABLE = "A2A_CALL_TOKEN"
KEY_VARIABLE = "A2A_KEY"
USER_VARIABLE = "A2A_USER"
_BINDING_OPTIONS = {JSONRPC: "jsonrpc", HTTP_JSON: "http+json", GRPC: "grpc"}
_AUTHORIZATION = "authorization"
_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
_WORDS = re.compile(r"[A-Za-z0-9]+")
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Placeholders:
    """Variables in the place of credentials, by where a request has them."""

    has_token: bool = False
    has_user: bool = False
    headers: tuple[str, ...] = ()
    query: tuple[tuple[str, str], ...] = ()

    @classmethod
    def build(cls, visitor: VisitorCredentials, card: AgentCard) -> Placeholders:
        """Build those for what the visitor sends, or else for the first scheme that the card
        requires.
        """
        if visitor.headers or visitor.query:
            headers = {name.lower(): value for name, value in visitor.headers}
            is_basic = headers.get(_AUTHORIZATION, "").lower().startswith("basic ")
            others = tuple(name for name, _ in visitor.headers if name.lower() != _AUTHORIZATION)
            query = tuple((name, f"${KEY_VARIABLE}") for name, _ in visitor.query)
            return cls(_AUTHORIZATION in headers and not is_basic, is_basic, others, query)
        requirements = [list(each.schemes or ()) for each in card.security_requirements or ()]
        # an empty alternative permits anonymous calls: such a request needs no credentials
        names = requirements[0] if requirements and all(requirements) else []
        known = card.security_schemes or {}
        schemes = [describe_scheme(known[name]) for name in names if name in known]
        kinds = {each["kind"] for each in schemes}
        in_headers: list[str] = []
        in_query: list[tuple[str, str]] = []
        for scheme in schemes:
            if scheme["kind"] != API_KEY:
                continue
            parameter = str(scheme["parameter"])
            if scheme["location"] == "header":
                in_headers.append(parameter)
            elif scheme["location"] == "query":
                in_query.append((parameter, f"${KEY_VARIABLE}"))
        has_token = bool(kinds - {API_KEY, BASIC})
        return cls(has_token, BASIC in kinds, tuple(in_headers), tuple(in_query))

    def to_curl(self) -> list[str]:
        """Return options of curl."""
        options: list[str] = []
        if self.has_token:
            options.append(f'--header "Authorization: Bearer ${BEARER_VARIABLE}"')
        return [*options, *self.to_command()]

    def to_command(self) -> list[str]:
        """Return options of ``a2a-gen``, which reads the token from the environment by itself."""
        options = [f'--header "{name}: ${KEY_VARIABLE}"' for name in self.headers]
        if self.has_user:
            options.insert(0, f'--user "${USER_VARIABLE}"')
        return options

    def to_python(self) -> list[str]:
        """Return arguments of the client."""
        if self.has_token:
            return [f'auth=os.environ["{BEARER_VARIABLE}"]']
        if self.has_user:
            return [f'auth=httpx.BasicAuth(*os.environ["{USER_VARIABLE}"].split(":", 1))']
        keys = [(name, "header") for name in self.headers]
        keys += [(name, "query") for name, _ in self.query]
        return [
            f'auth=ApiKeyAuth(os.environ["{KEY_VARIABLE}"], {name!r}, {location!r})'
            for name, location in keys[:1]
        ]


@dataclass(frozen=True, slots=True)
class CodeRequest:
    """A request, and the agent that it is for."""

    agent: ExploredAgent
    operation: Operation
    request: WireModel
    interface: Interface
    placeholders: Placeholders
    card: AgentCard
    is_chosen: bool
    """True if the visitor has chosen the interface; else the client chooses."""

    @property
    def url(self) -> str:
        """The URL for a client."""
        return self.agent.options.interface_url or self.agent.url

    @property
    def skill(self) -> str | None:
        """The id of the skill that a message names."""
        if not isinstance(self.request, SendMessageRequest):
            return None
        for metadata in (self.request.message.metadata, self.request.metadata):
            if isinstance(metadata, Mapping) and isinstance(found := metadata.get(SKILL_ID), str):
                return found
        return None


def build_python(code: CodeRequest) -> str:
    """Build a program with the client."""
    options: list[str] = []
    if code.is_chosen or code.agent.options.interface_url:
        dialect = code.interface.dialect.version or code.interface.dialect.name
        options.append(f"pin=Pin({dialect!r}, {_BINDING_NAMES[code.interface.transport]})")
    if code.agent.options.interface_url:
        options.append(f"interface_url={code.url!r}")
    given = [repr(code.url), *code.placeholders.to_python()]
    body, needed = _write_call(code)
    names = {"A2AClient", *needed}
    if options:
        given.append(f"options=ClientOptions({', '.join(options)})")
        names |= {"ClientOptions", "Pin", _BINDING_NAMES[code.interface.transport]}
    arguments = ", ".join(given)
    if "ApiKeyAuth" in arguments:
        names.add("ApiKeyAuth")
    imports = "\n".join(_write_imports(arguments, body, names))
    return f"""\
{imports}


async def main() -> None:
    async with A2AClient({arguments}) as client:
{indent(body, " " * 8)}


asyncio.run(main())
"""


def _write_imports(arguments: str, body: str, names: set[str]) -> Iterator[str]:
    """Write the imports of a program: those of Python, of httpx, and its own."""
    yield "import asyncio"
    if "os.environ" in arguments:
        yield "import os"
    yield ""
    if "httpx." in arguments:
        yield "import httpx"
        yield ""
    types: list[str] = []
    if "Message.model_validate" in body:
        types.append("Message")
    if "TaskPushNotificationConfig" in body:
        types.append("TaskPushNotificationConfig")
    if types:
        yield f"from a2a_contract.v1_0 import {', '.join(types)}"
    yield f"from a2a_runtime.client import {', '.join(sorted(names))}"


def build_typed(code: CodeRequest) -> Iterator[str]:
    """Build a program with a generated client, for a message to a typed skill."""
    skill = code.skill
    request = code.request
    params = find_params(code.card, SKILL_SCHEMAS)
    if params is None or skill is None or skill not in params.skills:
        return
    if not isinstance(request, SendMessageRequest) or not _PLAIN_ID.fullmatch(skill):
        return
    words = _WORDS.findall(code.card.name)
    if not words or not words[0][0].isalpha():
        return
    folder = "_".join(words).lower() + "_client"
    constant = _to_method(skill).upper()
    name = "".join(word[0].upper() + word[1:] for word in words)
    call = f"client.{constant.lower()}(request)"
    use = f"print(await {call})"
    if params.skills[skill].streaming:
        use = f"async for chunk in {call}:\n    print(chunk)"
    arguments = ", ".join((repr(code.url), *code.placeholders.to_python()[:1]))
    imports = ["import asyncio"]
    if "os.environ" in arguments:
        imports.append("import os")
    imports.append("")
    if "httpx." in arguments:
        imports.append("import httpx")
    if "ApiKeyAuth" in arguments:
        imports.append("from a2a_runtime.client import ApiKeyAuth")
    imports.append(f"from {folder} import {name}Client, skills")
    all_imports = "\n".join(imports)
    value = json.dumps(_find_value(request.message), ensure_ascii=True)
    yield f"""\
# Once: a2a-gen client {quote(code.url)} --out {folder}
{all_imports}

INPUT = r'''{value}'''


async def main() -> None:
    request = skills.{constant}.input.read(INPUT)
    async with {name}Client({arguments}) as client:
{indent(use, " " * 8)}


asyncio.run(main())
"""


def _find_value(message: Message) -> object:
    """Find the data or the text of the first part that has one."""
    for part in message.parts:
        if part.data is not None or part.text is not None:
            return part.to_dict().get("data", part.text)
    return None


def build_command(code: CodeRequest) -> Iterator[str]:
    """Build a command line, if there is one for the operation and the parts of the message."""
    options = [*code.placeholders.to_command(), *_write_interface(code)]
    url = quote(code.url)
    match code.request:
        case SendMessageRequest() if (words := _write_words(code)) is not None:
            command = "stream" if code.operation is SEND_STREAMING_MESSAGE else "call"
            yield " \\\n  ".join((f"a2a-gen {command} {url} {words}".rstrip(), *options))
        case GetTaskRequest(id=task_id, history_length=length):
            if length is not None:
                options.insert(0, f"--history {length}")
            yield " ".join(("a2a-gen tasks get", url, quote(task_id), *options))
        case CancelTaskRequest(id=task_id):
            yield " ".join(("a2a-gen tasks cancel", url, quote(task_id), *options))
        case SubscribeToTaskRequest(id=task_id):
            yield " ".join(("a2a-gen tasks follow", url, quote(task_id), *options))
        case ListTasksRequest():
            if code.request.context_id:
                options.insert(0, f"--context {quote(code.request.context_id)}")
            yield " ".join(("a2a-gen tasks list", url, *options))
        case _ if code.operation is GET_EXTENDED_AGENT_CARD:
            yield " ".join(("a2a-gen card show", url, "--extended", *options))
        case _:
            return


def _write_interface(code: CodeRequest) -> Iterator[str]:
    """Write options for the interface, unless the client chooses it by the card."""
    has_interface_url = bool(code.agent.options.interface_url)
    if code.is_chosen or has_interface_url:
        dialect = code.interface.dialect.version or code.interface.dialect.name
        yield f"--dialect {quote(dialect)}"
        yield f"--binding {quote(_BINDING_OPTIONS[code.interface.transport])}"
    if has_interface_url and code.interface.transport != GRPC:
        yield "--no-card"


_BINDING_NAMES = {JSONRPC: "JSONRPC", HTTP_JSON: "HTTP_JSON", GRPC: "GRPC"}


def _write_words(code: CodeRequest) -> str | None:
    """Write skill, text and data of a message; ``None`` if the command line has no words for its
    parts.
    """
    request = code.request
    if not isinstance(request, SendMessageRequest):
        return None
    message = request.message
    texts = [part.text for part in message.parts if part.text is not None]
    values = [part.to_dict()["data"] for part in message.parts if part.data is not None]
    urls = [part.url for part in message.parts if part.url is not None]
    has_others = len(texts) + len(values) + len(urls) != len(message.parts)
    if len(texts) > 1 or len(values) > 1 or has_others:
        return None
    words = [*_write_recipient(message, code.skill)]
    text = texts[0] if texts else None
    # a text that looks like an option comes last, behind "--"
    is_like_option = text is not None and text.startswith("-")
    if text is not None and not is_like_option:
        words.append(quote(text))
    if values:
        words.append(f"--data {quote(json.dumps(values[0], ensure_ascii=False))}")
    words += [f"--file {quote(each)}" for each in urls]
    is_immediate = request.configuration is not None and request.configuration.return_immediately
    if is_immediate and code.operation is SEND_MESSAGE:
        words.append("--no-wait")
    if text is not None and is_like_option:
        words.append(f"-- {quote(text)}")
    return " ".join(words)


def _write_recipient(message: Message, skill: str | None) -> Iterator[str]:
    """Write the task that a message continues, or the skill and the context of a new one."""
    if message.task_id:
        yield f"--task {quote(message.task_id)}"
        return
    yield quote(skill) if skill else "--auto"
    if message.context_id:
        yield f"--context {quote(message.context_id)}"


def _write_call(code: CodeRequest) -> tuple[str, list[str]]:
    """Write the lines that use the client, and the names that they need from its module."""
    match code.request:
        case SendMessageRequest():
            return _write_send(code.operation, code.request, code.skill)
        case GetTaskRequest(id=task_id, history_length=length):
            history = f", history_length={length}" if length is not None else ""
            call = f"client.get({task_id!r}{history})"
            return f"task = await {call}\nprint(task.to_json().decode())", []
        case ListTasksRequest(context_id=context, page_size=size):
            given = {"context_id": context, "page_size": size}
            arguments = ", ".join(f"{name}={value!r}" for name, value in given.items() if value)
            call = f"client.list({arguments})"
            return f"async for task in {call}:\n    print(task.id, task.status.state)", []
        case CancelTaskRequest(id=task_id):
            return f"task = await client.cancel({task_id!r})\nprint(task.to_json().decode())", []
        case SubscribeToTaskRequest(id=task_id):
            call = f"client.subscribe({task_id!r})"
            return f"async for event in {call}:\n    print(event.to_json().decode())", []
        case _:
            return _write_other(code), []


def _write_send(
    operation: Operation, request: SendMessageRequest, skill: str | None
) -> tuple[str, list[str]]:
    configuration = request.configuration or SendMessageConfiguration()
    metadata = {name: value for name, value in (request.metadata or {}).items() if name != SKILL_ID}
    options = {
        "skill": skill,
        "history_length": configuration.history_length,
        "output_modes": tuple(configuration.accepted_output_modes or ()) or None,
        "metadata": metadata or None,
    }
    given = [f"{name}={value!r}" for name, value in options.items() if value is not None]
    message = request.message
    arguments = [_write_content(message)]
    # a longer message is written as a whole, with both ids
    if _is_short(message):
        if message.task_id:
            arguments.append(f"task={message.task_id!r}")
        if message.context_id:
            arguments.append(f"context_id={message.context_id!r}")
    if configuration.return_immediately and operation is SEND_MESSAGE:
        arguments.append("wait=False")
    names: list[str] = []
    if given:
        arguments.append(f"options=SendOptions({', '.join(given)})")
        names.append("SendOptions")
    all_arguments = ", ".join(arguments)
    if operation is SEND_STREAMING_MESSAGE:
        call = f"client.stream({all_arguments})"
        return f"async for event in {call}:\n    print(event.to_json().decode())", names
    call = f"client.send({all_arguments})"
    return f"result = await {call}\nprint(result.to_json().decode())", names


def _is_short(message: Message) -> bool:
    """Tell whether a message is one text or one object, without more."""
    others = (message.extensions, message.reference_task_ids, _drop_skill(message.metadata))
    if len(message.parts) != 1 or any(others):
        return False
    part = message.parts[0].to_dict()
    return part.keys() == {"text"} or (part.keys() == {"data"} and isinstance(part["data"], dict))


def _write_content(message: Message) -> str:
    if _is_short(message):
        part = message.parts[0].to_dict()
        return _write_value(part.get("text", part.get("data")))
    members = {
        name: value
        for name, value in message.to_dict().items()
        if name not in ("messageId", "role")
    }
    if (metadata := _drop_skill(message.metadata)) is not None:
        members["metadata"] = metadata
    else:
        members.pop("metadata", None)
    return f"Message.model_validate({_write_value(members)})"


def _drop_skill(metadata: object) -> Mapping[str, object] | None:
    if not is_json_object(metadata):
        return None
    return {name: value for name, value in metadata.items() if name != SKILL_ID} or None


def _write_other(code: CodeRequest) -> str:
    """Write a call for the extended card, or of one of the operations on push notification
    configs.
    """
    if code.operation is GET_EXTENDED_AGENT_CARD:
        return "card = await client.get_extended_card()\nprint(card.to_json().decode())"
    given = code.request.to_dict()
    task = given.get("taskId")
    config = given.get("id")
    name = code.operation.service_method.partition("_")[0]
    if name == "create":
        members = {key: value for key, value in given.items() if key not in ("taskId", "tenant")}
        return (
            f"config = TaskPushNotificationConfig.model_validate({_write_value(members)})\n"
            f"created = await client.push_configs.create({task!r}, config)\n"
            "print(created.to_json().decode())"
        )
    if name == "list":
        return (
            f"async for config in client.push_configs.list({task!r}):\n"
            "    print(config.to_json().decode())"
        )
    if name == "delete":
        return f"await client.push_configs.delete({task!r}, {config!r})"
    return (
        f"config = await client.push_configs.get({task!r}, {config!r})\n"
        "print(config.to_json().decode())"
    )


def _write_value(value: object) -> str:
    return pformat(value, width=_WIDTH, sort_dicts=False)


def _to_method(skill: str) -> str:
    """Name the method of a skill as ``a2a-gen client`` does for ids of usual characters."""
    word = skill.replace("-", "_").strip("_")
    word = re.sub(r"([^_])([A-Z][a-z]+)", r"\1_\2", word)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", word).lower()
