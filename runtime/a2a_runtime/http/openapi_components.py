"""How errors look, for an OpenAPI document: the bodies that ``rendering`` writes, once for each dialect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from pydantic_core import from_json

from a2a_contract.dialects import DIALECTS, Parameter
from a2a_contract.errors import ERRORS
from a2a_runtime.agent import SkillDefinition
from a2a_runtime.http.asgi import IDEMPOTENCY_KEY
from a2a_runtime.skills.contract import AnyContract
from a2a_runtime.skills.schema import TEXT

Json: TypeAlias = "dict[str, Any]"  # pieces of a JSON document

_TEXT: Json = {"type": "string"}
_FIELDS: Json = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"field": {"description": "The place in the request.", "type": "string"}, "description": _TEXT},
        "required": ["field", "description"],
    },
}
_DETAILS: Json = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "@type": _TEXT,
            "reason": _TEXT,
            "domain": _TEXT,
            "metadata": {"type": "object", "additionalProperties": _TEXT},
            "fieldViolations": _FIELDS,
        },
        "required": ["@type"],
    },
}
_STATUS: Json = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "integer"},
                "status": {"enum": sorted({row.grpc for row in ERRORS.values()})},
                "message": _TEXT,
                "details": _DETAILS,
            },
            "required": ["code", "status", "message", "details"],
        }
    },
    "required": ["error"],
}


def _called(data: Json) -> Json:
    return {"type": "object", "properties": {"code": {"type": "integer"}, "message": _TEXT, "data": data}, "required": ["code", "message"]}


_PLAIN = _called({"type": "object", "properties": {"reason": _TEXT, "fields": _FIELDS}})
_HTTP: Mapping[str, Json] = {"status": _STATUS, "jsonrpc": _PLAIN, "bare": _PLAIN}
_JSONRPC: Mapping[str, Json] = {"status": _called(_DETAILS), "jsonrpc": _PLAIN, "bare": _PLAIN}


def error_schemas(dialect: str) -> Json:
    """Describe the errors of a dialect: as a body of HTTP+JSON, and as the member of an answer to a call."""
    shape = DIALECTS[dialect].error_body
    return {f"{dialect}.Error": _HTTP[shape], f"{dialect}.CallError": _JSONRPC[shape]}


def error_response(dialect: str, description: str = "An error.") -> Json:
    """Describe the answer to a request that is refused."""
    content = {"schema": {"$ref": f"#/components/schemas/{dialect}.Error"}}
    return {"description": description, "content": {DIALECTS[dialect].media_types[0]: content}}


# The plain calls of skills for an OpenAPI document: what goes in, what comes out, what may be asked first, and how errors look.
#
# Schemas stand where they are used: each is a document of its own, whose references lead into itself.
#

_TASK: Json = {
    "name": "taskId",
    "in": "query",
    "description": "The task whose question this answers; the body is then the answer.",
    "schema": {"type": "string"},
}
_ASKED: Json = {
    "type": "object",
    "properties": {
        "taskId": {"type": "string"},
        "contextId": {"type": "string"},
        "question": {
            "type": "object",
            "properties": {
                "text": {"description": "What is asked.", "type": "string"},
                "data": {"description": "What there is to look at."},
                "schema": {"description": "The JSON Schema of the answer.", "type": "object"},
            },
            "required": ["text"],
        },
    },
    "required": ["taskId", "contextId", "question"],
}


def header_parameter(parameter: Parameter) -> Json:
    """Describe a header."""
    return {"name": parameter.headers[0], "in": "header", "description": parameter.description, "schema": {"type": "string"}}


def skill_operation(skill: SkillDefinition, contract: AnyContract, dialect: str) -> Json:
    """Describe the call of a skill; errors have the form of a dialect."""
    output: Json = {"type": "array", "items": contract.output.schema} if contract.streams else contract.output.schema
    answers: Json = {"200": {"description": "The output, of a stream all of its chunks.", "content": {"application/json": {"schema": output}}}}
    if skill.asks:
        asked = "The skill asks something first; answer with the same call and ?taskId=…"
        answers["202"] = {"description": asked, "content": {"application/json": {"schema": _ASKED}}}
    return {
        "summary": skill.name,
        "description": skill.description,
        "parameters": [*([_TASK] if skill.asks else []), header_parameter(IDEMPOTENCY_KEY)],
        "requestBody": {"required": True, "content": _content(skill, contract)},
        "responses": {
            **answers,
            "400": error_response(dialect, "The input does not fit its schema; every wrong place is named."),
            "default": error_response(dialect),
        },
    }


def _content(skill: SkillDefinition, contract: AnyContract) -> Json:
    examples = {f"example{number}": {"value": value} for number, value in enumerate(_examples(skill, contract), 1)}
    media: Json = {"schema": contract.input.schema, **({"examples": examples} if examples else {})}
    return {"application/json": media, **({"text/plain": media} if contract.input.validator.is_text else {})}


def _examples(skill: SkillDefinition, contract: AnyContract) -> Iterator[object]:
    """Find the examples of a skill that are inputs, and no sentences about it."""
    for text in skill.examples:
        try:
            value = text if contract.input is TEXT else from_json(text)
            contract.input.validator.check(value)
        except ValueError:  # no JSON, or JSON that does not fit
            continue
        yield value
