"""The plain calls of skills for an OpenAPI document: what goes in, what comes out, what may be asked first, and how errors look.

Schemas stand where they are used: each is a document of its own, whose references lead into itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic_core import from_json

from a2a_contract.dialects import Parameter
from a2a_runtime.agent import DeclaredSkill
from a2a_runtime.exchange.error_schemas import Json, error_response
from a2a_runtime.exchange.question import IDEMPOTENCY_KEY
from a2a_runtime.skills.contract import AnyContract
from a2a_runtime.skills.form import TEXT

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


def header(parameter: Parameter) -> Json:
    """Describe a header."""
    return {"name": parameter.headers[0], "in": "header", "description": parameter.description, "schema": {"type": "string"}}


def operation(skill: DeclaredSkill, contract: AnyContract, dialect: str) -> Json:
    """Describe the call of a skill; errors have the form of a dialect."""
    output: Json = {"type": "array", "items": contract.output.schema} if contract.streams else contract.output.schema
    answers: Json = {"200": {"description": "The output, of a stream all of its chunks.", "content": {"application/json": {"schema": output}}}}
    if skill.asks:
        asked = "The skill asks something first; answer with the same call and ?taskId=…"
        answers["202"] = {"description": asked, "content": {"application/json": {"schema": _ASKED}}}
    return {
        "summary": skill.name,
        "description": skill.description,
        "parameters": [*([_TASK] if skill.asks else []), header(IDEMPOTENCY_KEY)],
        "requestBody": {"required": True, "content": _content(skill, contract)},
        "responses": {
            **answers,
            "400": error_response(dialect, "The input does not fit its schema; every wrong place is named."),
            "default": error_response(dialect),
        },
    }


def _content(skill: DeclaredSkill, contract: AnyContract) -> Json:
    examples = {f"example{number}": {"value": value} for number, value in enumerate(_examples(skill, contract), 1)}
    media: Json = {"schema": contract.input.schema, **({"examples": examples} if examples else {})}
    return {"application/json": media, **({"text/plain": media} if contract.input.law.is_text else {})}


def _examples(skill: DeclaredSkill, contract: AnyContract) -> Iterator[object]:
    """Find the examples of a skill that are inputs, and no sentences about it."""
    for text in skill.examples:
        try:
            value = text if contract.input is TEXT else from_json(text)
            contract.input.law.check(value)
        except ValueError:  # no JSON, or JSON that does not fit
            continue
        yield value
