"""How errors look, for an OpenAPI document: the bodies that ``rendering`` writes, once for each dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from a2a_contract.dialects import DIALECTS
from a2a_contract.errors import ERRORS

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
