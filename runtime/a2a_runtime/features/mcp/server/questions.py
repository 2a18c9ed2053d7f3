"""A question of a task as an elicitation, and the result as its answer.

    schema of the answer                     form
    flat object of texts, numbers, choices   that
    text, number, boolean, choice, none      one member ``answer``
    anything else                            one member ``answer``: JSON as text,
                                             with the schema in its description

An authorization with a URL is an elicitation by URL, if the client has these.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import mcp_types as mt

from a2a_contract.base import JsonObject
from a2a_contract.errors import InvalidParamsError
from a2a_contract.json_types import is_json_object
from a2a_runtime.client.typed.results import PendingQuestion
from a2a_runtime.skills.schema import SchemaMismatchError, SchemaValidator

_MEMBER = "answer"
_PRIMITIVES = frozenset({"string", "number", "integer", "boolean"})
_COMBINING = frozenset(
    {"anyOf", "oneOf", "allOf", "not", "if", "$ref", "dependentSchemas", "patternProperties"}
)
_TEXT: JsonObject = {"type": "string"}


class Support(NamedTuple):
    """The elicitations that a client has."""

    form: bool
    url: bool


def find_support(context: Any) -> Support:  # noqa: ANN401 - of the library, with open types
    """Find the elicitations of the client of a request; one that says nothing more has forms."""
    capabilities = context.session.client_capabilities
    found = None if capabilities is None else capabilities.elicitation
    if found is None:
        return Support(form=False, url=False)
    return Support(form=found.form is not None or found.url is None, url=found.url is not None)


def build_elicitation(question: PendingQuestion, support: Support) -> mt.ElicitRequest | None:
    """Build the elicitation of a question; ``None`` if the client cannot be asked."""
    message = question.task.status.message
    url = None
    if question.is_for_auth and message is not None:
        url = next((part.url for part in message.parts if part.url), None)
    if url is not None and support.url:
        return mt.ElicitRequest(
            params=mt.ElicitRequestURLParams(
                message=question.text, url=url, elicitation_id=question.task.id
            )
        )
    if not support.form:
        return None
    text = question.text if url is None else f"{question.text} {url}"
    return mt.ElicitRequest(
        params=mt.ElicitRequestFormParams(
            message=text, requested_schema=dict(_build_form(question.schema))
        )
    )


def read_answer(question: PendingQuestion, given: mt.ElicitResult) -> object:
    """Read the answer to a question from what the user has given, or raise
    ``InvalidParamsError``.
    """
    content = given.content or {}
    if question.schema is None:
        return str(content.get(_MEMBER, "done"))
    if _is_form(question.schema):
        return content
    value: Any = content.get(_MEMBER)
    if (
        not _is_primitive(question.schema)
        and isinstance(value, str)
        and not SchemaValidator(question.schema).is_valid(value)
    ):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise InvalidParamsError(
                "answer: is no JSON", fields=((_MEMBER, "Give JSON that fits the schema"),)
            ) from error
    try:
        SchemaValidator(question.schema).check(value)
    except SchemaMismatchError as error:
        raise InvalidParamsError(
            "answer: does not match the schema of the question", fields=error.fields
        ) from error
    return value


def _build_form(schema: JsonObject | None) -> JsonObject:
    if schema is not None and _is_form(schema):
        return {
            "type": "object",
            **{name: schema[name] for name in ("properties", "required") if name in schema},
        }
    member = _TEXT if schema is None else schema
    if not _is_primitive(member):
        member = {
            **_TEXT,
            "description": f"JSON that fits this schema: {json.dumps(schema, ensure_ascii=False)}",
        }
    return {"type": "object", "properties": {_MEMBER: member}, "required": [_MEMBER]}


def _is_form(schema: JsonObject) -> bool:
    properties = schema.get("properties")
    if (
        schema.get("type") != "object"
        or not is_json_object(properties)
        or not _COMBINING.isdisjoint(schema)
    ):
        return False
    return all(is_json_object(each) and _is_primitive(each) for each in properties.values())


def _is_primitive(schema: JsonObject) -> bool:
    return schema.get("type") in _PRIMITIVES and _COMBINING.isdisjoint(schema)
