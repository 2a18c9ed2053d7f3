"""The paths of surfaces for an OpenAPI 3.1 document, colon paths included: from the tables and the schemas of the contract.

Litestar knows the handlers, but not what they take and give: they see bytes. What is true of them stands in the contract and is copied from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from litestar import Litestar
from pydantic_core import from_json

import a2a_contract
from a2a_contract.binding import AnyBinding, HttpCall
from a2a_contract.dialects import CANONICAL, EXTENSIONS, VERSION, Dialect, Parameter
from a2a_contract.methods import METHODS
from a2a_contract.operations import SEND_MESSAGE, SEND_STREAMING_MESSAGE, SUBSCRIBE_TO_TASK
from a2a_contract.paths import PATHS
from a2a_contract.routes.cards import CARDS
from a2a_contract.translate.v0_3 import write_security_scheme  # the schemes of 0.3 are those of OpenAPI
from a2a_runtime.agent import SkillDefinition
from a2a_runtime.http.asgi import IDEMPOTENCY_KEY, LAST_EVENT_ID
from a2a_runtime.http.negotiation import SupportedDialects
from a2a_runtime.http.openapi_components import Json, error_response, error_schemas, header_parameter, skill_operation
from a2a_runtime.http.rest import SKILLS
from a2a_runtime.skills.contract import AnyContract
from a2a_runtime.surface import Surface

# What an OpenAPI document says of the protection of a surface: the same as the card, since OpenAPI has the same schemes.

_UNNAMEABLE = re.compile(r"[^A-Za-z0-9._-]+")


def security_schemes(surfaces: Sequence[Surface]) -> Json:
    """List the schemes of all surfaces."""
    return {_name(surface, name): write_security_scheme(scheme) for surface in surfaces for name, scheme in surface.security_schemes.items()}


def with_security(surface: Surface, paths: Iterator[tuple[str, Json]]) -> Iterator[tuple[str, Json]]:
    """Say of each operation what it needs; cards need nothing."""
    open_paths = {surface.path + route.path for route in CARDS}
    needed = [_needed(surface, each.schemes or {}) for each in surface.security_requirements]
    for path, item in paths:
        security: list[Json] = [] if path in open_paths else needed
        yield path, {method: {**operation, "security": security} for method, operation in item.items()} if needed else item


def _needed(surface: Surface, schemes: Mapping[str, Any]) -> Json:
    return {_name(surface, name): scopes.list_ or [] for name, scopes in schemes.items()}


def _name(surface: Surface, scheme: str) -> str:
    """Name a scheme apart from those of other surfaces."""
    return _UNNAMEABLE.sub("-", f"{surface.path}-{scheme}").strip("-")


_REFERENCE = "#/$defs/"
_SERVICE = (VERSION, EXTENSIONS)
_SENDING = (SEND_MESSAGE.name, SEND_STREAMING_MESSAGE.name)
_BESIDE: Mapping[str, tuple[Parameter, ...]] = {**dict.fromkeys(_SENDING, (IDEMPOTENCY_KEY,)), SUBSCRIBE_TO_TASK.name: (LAST_EVENT_ID,)}
"""What else is heeded of what stands in the headers of an operation."""
_MEMBER = re.compile(r"\{(\w+)(?:=([^}]*))?\}")


def extend_openapi(app: Litestar, surfaces: Sequence[Surface]) -> None:
    """Add the paths of surfaces, and the types that they speak of, to the document of an app that has one."""
    if app.openapi_config is None:
        return
    document: Any = app.openapi_schema  # its classes know no paths that are plain JSON, but write them as they are
    ours = {_joined(app.path, path): item for surface in surfaces for path, item in with_security(surface, build_paths(surface))}
    document.paths = {**(document.paths or {}), **ours}
    document.components.schemas = {**document.components.schemas, **build_schemas(surfaces)}
    if schemes := security_schemes(surfaces):
        document.components.security_schemes = {**(document.components.security_schemes or {}), **schemes}


def _joined(app_path: str, path: str) -> str:
    return (app_path.rstrip("/") + path).rstrip("/") or "/"


def build_schemas(surfaces: Sequence[Surface]) -> Json:
    """List the types of all dialects that surfaces speak; the name of a type begins with that of its dialect."""
    spoken = {dialect.name for surface in surfaces for dialect in SupportedDialects(surface.dialects).dialects}
    types = {f"{dialect}.{name}": schema for dialect in sorted(spoken) for name, schema in _types(dialect).items()}
    return types | {name: schema for dialect in sorted(spoken) for name, schema in error_schemas(dialect).items()}


def build_paths(surface: Surface) -> Iterator[tuple[str, Json]]:
    """List the paths of a surface, and what each of them takes and gives."""
    dialects = SupportedDialects(surface.dialects).dialects
    yield surface.path or "/", {"post": _endpoint(surface, [each for each in dialects if each.name in METHODS])}
    for route in CARDS:
        yield surface.path + route.path, {"get": _card(surface)}
    items: dict[str, Json] = {}
    for dialect in dialects:
        if dialect.form_of is None:
            for call, binding in _calls(dialect):
                path = surface.path + _MEMBER.sub(_plain, call.path)
                items.setdefault(path, {})[call.method.lower()] = _operation(surface, dialect, call, binding)
    yield from items.items()
    for skill in surface.skills.values():
        if skill.contract is not None and not skill.only_extended:
            yield f"{surface.path}{SKILLS}/{skill.id}", {"post": _skill(surface, skill, skill.contract)}


def _skill(surface: Surface, skill: SkillDefinition, contract: AnyContract) -> Json:
    """Describe the plain call of a skill."""
    named = {"tags": [surface.agent.name], "operationId": _identifier(surface, HttpCall("call", skill.id))}
    return named | skill_operation(skill, contract, SupportedDialects(surface.dialects).fallback(None))


def _calls(dialect: Dialect) -> Iterator[tuple[HttpCall, AnyBinding]]:
    for route in PATHS.get(dialect.name, ()):
        for (method, verb), choices in route.bindings.items():
            path = route.path.replace(":str}", "}") + (f":{verb}" if verb else "")
            yield HttpCall(method, path), choices[0].binding


def _operation(surface: Surface, dialect: Dialect, call: HttpCall, binding: AnyBinding) -> Json:
    in_path = [found[1] for found in _MEMBER.finditer(call.path)]
    said: Json = {
        "tags": [surface.agent.name],
        "summary": f"{binding.operation.name} ({dialect.title})",
        "operationId": _identifier(surface, call),
        "parameters": [*_in_path(in_path), *map(header_parameter, (*_SERVICE, *_BESIDE.get(binding.operation.name, ())))],
        "responses": _responses(dialect, binding),
    }
    if call.method == "POST":
        content: Json = {"schema": _ref(dialect.name, binding.request.__name__)} if _is_type(dialect.name, binding.request.__name__) else {}
        return {**said, "requestBody": {"content": dict.fromkeys(dialect.media_types, content)}}
    members = [(name, schema) for name, schema in _members(dialect.name, binding.request.__name__) if name not in in_path]
    query = [{"name": name, "in": "query", "schema": schema} for name, schema in members]
    return {**said, "parameters": [*said["parameters"], *query]}


def _responses(dialect: Dialect, binding: AnyBinding) -> Json:
    hearing = binding.response
    name = "" if hearing is None else str(getattr(hearing.result, "__name__", ""))
    content: Json = {"schema": _ref(dialect.name, name)} if _is_type(dialect.name, name) else {}
    media_types = ("text/event-stream",) if binding.operation.streams else dialect.media_types
    return {
        "200": {"description": "The answer.", "content": dict.fromkeys(media_types, content)},
        "default": error_response(dialect.name),
    }


def _endpoint(surface: Surface, dialects: Sequence[Dialect]) -> Json:
    methods = list(dict.fromkeys(method for dialect in dialects for method in METHODS[dialect.name]))
    call = {
        "type": "object",
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["string", "integer", "null"]},
            "method": {"enum": methods},
            "params": {"type": "object"},
        },
        "required": ["jsonrpc", "method"],
    }
    error = {"anyOf": [_ref(dialect.name, "CallError") for dialect in dialects]}
    answer = {"type": "object", "properties": {"jsonrpc": {"const": "2.0"}, "id": True, "result": True, "error": error}}
    return {
        "tags": [surface.agent.name],
        "summary": "JSON-RPC: " + ", ".join(dialect.title for dialect in dialects),
        "operationId": _identifier(surface, HttpCall("call", "")),
        "parameters": list(map(header_parameter, (*_SERVICE, IDEMPOTENCY_KEY, LAST_EVENT_ID))),
        "requestBody": {"required": True, "content": {"application/json": {"schema": call}}},
        "responses": {
            "200": {
                "description": "The answer to the call, or to a call that streams each of its answers.",
                "content": {"application/json": {"schema": answer}, "text/event-stream": {"schema": answer}},
            }
        },
    }


def _card(surface: Surface) -> Json:
    dialect = CANONICAL.name if CANONICAL.name in surface.dialects else SupportedDialects(surface.dialects).dialects[0].name
    content: Json = {"schema": _ref(dialect, "AgentCard")} if _is_type(dialect, "AgentCard") else {}
    return {
        "tags": [surface.agent.name],
        "summary": "The card of the agent",
        "parameters": [header_parameter(VERSION)],
        "responses": {"200": {"description": "The card.", "content": {"application/json": content}}, "304": {"description": "It has not changed."}},
    }


def _in_path(names: Sequence[str]) -> list[Json]:
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _plain(found: re.Match[str]) -> str:
    return "{" + found[1] + "}"


def _identifier(surface: Surface, call: HttpCall) -> str:
    words = re.findall(r"\w+", f"{surface.path} {call.method} {call.path}")
    return "_".join(words)


def _ref(dialect: str, name: str) -> Json:
    return {"$ref": f"#/components/schemas/{dialect}.{name}"}


def _is_type(dialect: str, name: str) -> bool:
    return name in _types(dialect)


def _members(dialect: str, name: str) -> Iterator[tuple[str, Json]]:
    members: Mapping[str, Json] = _types(dialect).get(name, {}).get("properties", {})
    yield from members.items()


@cache
def _types(dialect: str) -> Json:
    """Read the types of a dialect, with references that hold in a document of OpenAPI."""
    text = files(a2a_contract).joinpath("schemas", f"{dialect}.json").read_text(encoding="utf-8")
    types: Json = from_json(text.replace(_REFERENCE, f"#/components/schemas/{dialect}."))["$defs"]
    return types
