"""OpenAPI of headers and of the plain HTTP calls of skills: input, output, question and errors.

The schemas of a skill stand where they are used: each is a document of its own, with references
into itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from pydantic_core import from_json

from a2a_contract.dialects import Dialect, Parameter
from a2a_runtime.agent import SkillDefinition
from a2a_runtime.http.asgi import IDEMPOTENCY_KEY
from a2a_runtime.skills.contract import AnyContract
from a2a_runtime.skills.schema import TEXT

Json: TypeAlias = "dict[str, Any]"  # pieces of a JSON document

_TASK_ID: Json = {
    "name": "taskId",
    "in": "query",
    "description": "The task whose question the body answers.",
    "schema": {"type": "string"},
}
_QUESTION: Json = {
    "type": "object",
    "properties": {
        "taskId": {"type": "string"},
        "contextId": {"type": "string"},
        "question": {
            "type": "object",
            "properties": {
                "text": {"description": "The text of the question.", "type": "string"},
                "data": {"description": "The data of the question."},
                "schema": {"description": "The JSON Schema of the answer.", "type": "object"},
            },
            "required": ["text"],
        },
    },
    "required": ["taskId", "contextId", "question"],
}


def header_parameter(parameter: Parameter) -> Json:
    """Describe a header."""
    return {
        "name": parameter.headers[0],
        "in": "header",
        "description": parameter.description,
        "schema": {"type": "string"},
    }


def skill_operation(skill: SkillDefinition, contract: AnyContract, dialect: Dialect) -> Json:
    """Describe the call of a skill, with errors as in a dialect."""
    output: Json = {**contract.output.schema}
    if contract.streams:
        output = {"type": "array", "items": output}
    responses: Json = {
        "200": {
            "description": "The output; of a stream, all of its chunks.",
            "content": {"application/json": {"schema": output}},
        }
    }
    if skill.asks:
        text = "The skill asks a question first; answer it with the same call and ?taskId=…"
        responses["202"] = {
            "description": text,
            "content": {"application/json": {"schema": _QUESTION}},
        }
    error = {
        dialect.media_types[0]: {"schema": {"$ref": f"#/components/schemas/{dialect.name}.Error"}}
    }
    parameters = [header_parameter(IDEMPOTENCY_KEY)]
    if skill.asks:
        parameters.insert(0, _TASK_ID)
    return {
        "summary": skill.name,
        "description": skill.description,
        "parameters": parameters,
        "requestBody": {"required": True, "content": _request_content(skill, contract)},
        "responses": {
            **responses,
            "400": {
                "description": "The input does not match its schema; all field errors are listed.",
                "content": error,
            },
            "default": {"description": "An error.", "content": error},
        },
    }


def _request_content(skill: SkillDefinition, contract: AnyContract) -> Json:
    examples = {
        f"example{number}": {"value": value}
        for number, value in enumerate(_example_inputs(skill, contract), 1)
    }
    media: Json = {"schema": contract.input.schema}
    if examples:
        media["examples"] = examples
    content: Json = {"application/json": media}
    if contract.input.validator.is_text:
        content["text/plain"] = media
    return content


def _example_inputs(skill: SkillDefinition, contract: AnyContract) -> Iterator[object]:
    """Select the examples of a skill that are inputs; others are sentences about it."""
    for text in skill.examples:
        try:
            value = text if contract.input is TEXT else from_json(text)
            contract.input.validator.check(value)
        except ValueError:  # not JSON, or JSON that does not match
            continue
        yield value
