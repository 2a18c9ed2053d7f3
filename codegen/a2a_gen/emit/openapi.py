"""OpenAPI per dialect: its paths and its error schemas, as one JSON document that a server prefixes
and merges with those of other dialects.

The schemas of the types are in ``schemas/``; a reference names the dialect and the type:
``#/components/schemas/v1_0.Task``. The only tag of an operation is the name of what it calls, by
which a server can add parameters of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from a2a_gen.emit import routes
from a2a_gen.emit.package import get_definitions
from a2a_gen.emit.render import header
from a2a_gen.ir.extension import list_bases
from a2a_gen.ir.model import Contract, ContractDialect, OperationRow
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json

JsonObject = dict[str, Json]

_SOURCES = ("operations.json", "dialects.json", "errors.json")
_CARD_TYPE = "AgentCard"
_TEXT: JsonObject = {"type": "string"}
_FIELD_ERRORS: JsonObject = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "field": {"description": "Path of the field in the request.", "type": "string"},
            "description": _TEXT,
        },
        "required": ["field", "description"],
    },
}
_DETAILS: JsonObject = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "@type": _TEXT,
            "reason": _TEXT,
            "domain": _TEXT,
            "metadata": {"type": "object", "additionalProperties": _TEXT},
            "fieldViolations": _FIELD_ERRORS,
        },
        "required": ["@type"],
    },
}
_PLAIN_DATA: JsonObject = {
    "type": "object",
    "properties": {"reason": _TEXT, "fields": _FIELD_ERRORS},
}


def emit(contract: Contract, documents: Mapping[str, Document]) -> dict[str, bytes]:
    """Write a document for each dialect."""
    return {
        f"openapi/{dialect.name}.json": _serialize(_document(contract, dialect, documents))
        for dialect in contract.dialects
    }


def _serialize(document: JsonObject) -> bytes:
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n".encode()


def _document(
    contract: Contract, dialect: ContractDialect, documents: Mapping[str, Document]
) -> JsonObject:
    return {
        "openapi": "3.1.0",
        "$comment": header(_SOURCES).removeprefix("# "),
        "info": {"title": dialect.title, "version": dialect.version or "0"},
        "paths": dict(_paths(contract, dialect, _types(contract, dialect, documents))),
        "components": {"schemas": _error_schemas(contract, dialect)},
    }


def _types(
    contract: Contract, dialect: ContractDialect, documents: Mapping[str, Document]
) -> JsonObject:
    """Collect the schemas of a dialect by name, their references qualified."""
    files = sorted(family.file for family in contract.families if family.dialect == dialect.name)
    types: JsonObject = {}
    for file in files:
        definitions = get_definitions(documents[file].data)
        types |= {name: _qualify(schema, dialect) for name, schema in definitions.items()}
    return types


def _qualify(value: Json, dialect: ContractDialect) -> Json:
    if isinstance(value, list):
        return [_qualify(each, dialect) for each in value]
    if not isinstance(value, dict):
        return value
    qualified: dict[str, Json] = {}
    for key, each in value.items():
        if key == "$ref" and isinstance(each, str):
            qualified[key] = _reference(dialect, each.rpartition("/")[2])["$ref"]
        else:
            qualified[key] = _qualify(each, dialect)
    return qualified


def _paths(
    contract: Contract, dialect: ContractDialect, types: JsonObject
) -> Iterator[tuple[str, Json]]:
    methods: list[str] = []
    for _, call in contract.calls(dialect.name):
        if call.method:
            methods += (call.method, *call.aliases)
    if methods:
        yield "/", {"post": _jsonrpc_operation(contract, dialect, methods)}
    if dialect.form_of is None:
        for card in routes.card_paths(contract):
            yield card.path, {"get": _card_operation(contract, dialect, types)}
    for table in routes.build_route_tables(contract):
        if dialect.name == table.name or (dialect.extends and dialect.name in table.dialects):
            yield from _rest_paths(contract, dialect, table, types).items()


def _rest_paths(
    contract: Contract, dialect: ContractDialect, table: routes.RouteTable, types: JsonObject
) -> JsonObject:
    items: dict[str, JsonObject] = {}
    for route in table.paths:
        for (method, verb), choices in route.answers.items():
            # The version that an extension shares its paths with has other forms of messages; its
            # variants have the same.
            choice = next((each for each in choices if each.dialect == dialect.name), choices[0])
            path = route.path.replace(":str}", "}") + (f":{verb}" if verb else "")
            items.setdefault(path, {})[method.lower()] = _rest_operation(
                contract, dialect, choice.operation, (method, path, choice.dialect), types
            )
    return {**items}


def _rest_operation(
    contract: Contract,
    dialect: ContractDialect,
    operation: OperationRow,
    route: tuple[str, str, str],
    types: JsonObject,
) -> JsonObject:
    method, path, form = route
    call = operation.call(form)
    request, result = (call.http_request or "", call.http_result or "") if call else ("", "")
    in_path = re.findall(r"\{(\w+)\}", path)
    parameters: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": _TEXT} for name in in_path
    ]
    parameters += _headers(contract)
    body: JsonObject = {}
    if method == "POST":
        body = {
            "requestBody": {"content": _content(dialect, request, types, _media_types(dialect))}
        }
    else:
        parameters += [
            {"name": name, "in": "query", "schema": schema}
            for name, schema in _members(types, request).items()
            if name not in in_path
        ]
    media_types = ("text/event-stream",) if operation.streams else _media_types(dialect)
    return {
        "tags": [operation.name],
        "summary": f"{operation.name} ({dialect.title})",
        "operationId": "_".join(re.findall(r"\w+", f"{method} {path}")),
        "parameters": parameters,
        "responses": {
            "200": {
                "description": "The result.",
                "content": _content(dialect, result, types, media_types),
            },
            "default": {
                "description": "An error.",
                "content": {_media_types(dialect)[0]: {"schema": _reference(dialect, "Error")}},
            },
        },
        **body,
    }


def _jsonrpc_operation(
    contract: Contract, dialect: ContractDialect, methods: list[str]
) -> JsonObject:
    call: JsonObject = {
        "type": "object",
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["string", "integer", "null"]},
            "method": {"enum": [*methods]},
            "params": {"type": "object"},
        },
        "required": ["jsonrpc", "method"],
    }
    error: Json = {"anyOf": [_reference(dialect, "CallError")]}
    response: Json = {
        "schema": {
            "type": "object",
            "properties": {"jsonrpc": {"const": "2.0"}, "id": True, "result": True, "error": error},
        }
    }
    return {
        "tags": ["JSON-RPC"],
        "summary": f"JSON-RPC: {dialect.title}",
        "operationId": "call",
        "parameters": _headers(contract),
        "requestBody": {"required": True, "content": {"application/json": {"schema": call}}},
        "responses": {
            "200": {
                "description": (
                    "The response to the call; of a call that streams, each of its responses."
                ),
                "content": {"application/json": response, "text/event-stream": response},
            }
        },
    }


def _card_operation(contract: Contract, dialect: ContractDialect, types: JsonObject) -> JsonObject:
    return {
        "tags": [_CARD_TYPE],
        "summary": "The card of the agent",
        "parameters": _headers(contract)[:1],
        "responses": {
            "200": {
                "description": "The card.",
                "content": _content(dialect, _CARD_TYPE, types, ("application/json",)),
            },
            "304": {"description": "It has not changed."},
        },
    }


def _error_schemas(contract: Contract, dialect: ContractDialect) -> JsonObject:
    """Describe the errors of a dialect: the body over HTTP+JSON, and ``error`` of a JSON-RPC
    response.
    """
    plain = _error_object(_PLAIN_DATA)
    is_status = dialect.facts["error_body"] == "status"
    over_http, in_call = (
        (_status_body(contract, dialect), _error_object(_DETAILS)) if is_status else (plain, plain)
    )
    return {f"{dialect.name}.Error": over_http, f"{dialect.name}.CallError": in_call}


def _error_object(data: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": {"code": {"type": "integer"}, "message": _TEXT, "data": data},
        "required": ["code", "message"],
    }


def _status_body(contract: Contract, dialect: ContractDialect) -> JsonObject:
    own = {None, dialect.name, *list_bases(contract, dialect)}
    rows = [row for row in contract.errors if not row.is_abstract and row.since in own]
    names: list[Json] = [*sorted({str(row.columns[contract.canonical]["grpc"]) for row in rows})]
    properties: JsonObject = {
        "code": {"type": "integer"},
        "status": {"enum": names},
        "message": _TEXT,
        "details": _DETAILS,
    }
    error: JsonObject = {"type": "object", "properties": properties, "required": [*properties]}
    return {"type": "object", "properties": {"error": error}, "required": ["error"]}


def _headers(contract: Contract) -> list[Json]:
    """Describe the headers of every operation: version and extensions."""
    parameters = {str(each.name): each for each in contract.parameters}
    both = [parameters[name] for name in ("version", "extensions") if name in parameters]
    return [
        {"name": each.headers[0], "in": "header", "description": each.description, "schema": _TEXT}
        for each in both
    ]


def _content(
    dialect: ContractDialect, name: str, types: JsonObject, media_types: tuple[str, ...]
) -> JsonObject:
    content: JsonObject = {"schema": _reference(dialect, name)} if name in types else {}
    return {media_type: dict(content) for media_type in media_types}


def _media_types(dialect: ContractDialect) -> tuple[str, ...]:
    media_types = dialect.facts["media_types"]
    if isinstance(media_types, tuple):
        return tuple(map(str, media_types))
    return ()


def _members(types: JsonObject, name: str) -> JsonObject:
    record = types.get(name)
    properties = record.get("properties") if isinstance(record, dict) else None
    if isinstance(properties, dict):
        return properties
    return {}


def _reference(dialect: ContractDialect, name: str) -> JsonObject:
    return {"$ref": f"#/components/schemas/{dialect.name}.{name}"}
