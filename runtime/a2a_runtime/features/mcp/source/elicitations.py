"""An elicitation of a server as a question to the caller, and the answer as its result.

    the caller answers              the server reads
    JSON of the requested form      accept, with the form
    a text                          accept, for a form with one text
    "decline", "cancel"             that
    "accept"                        accept, for a form without required members

A URL that the caller has to visit is an authorization: any answer but "decline" and "cancel"
accepts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

import mcp_types as mt
from pydantic import TypeAdapter

from a2a_contract.base import JsonObject
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.v1_0 import Message, Part
from a2a_runtime.base.texts import join_texts
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.mcp.source.calls import ElicitParams
from a2a_runtime.skills.schema import SchemaValidator, extract_payload

Action: TypeAlias = Literal["accept", "decline", "cancel"]
_ACCEPT: Action = "accept"
_REFUSALS: Mapping[object, Action] = {"decline": "decline", "cancel": "cancel"}
_CONTENT: TypeAdapter[dict[str, Any]] = TypeAdapter(
    dict[str, str | int | float | bool | list[str] | None]
)


async def ask_caller(context: TaskContext, params: ElicitParams, key: str) -> mt.ElicitResult:
    """Ask the caller, or return the answer that is recorded."""
    if isinstance(params, mt.ElicitRequestURLParams):
        request = context.reply(params.message, Part(url=params.url))
        return _parse_consent((await context.require_auth(request, key=key)).message)
    form = params.requested_schema
    schema = build_answer_schema(form)
    answer = (await context.ask(params.message, schema, key=key)).message
    value, _ = extract_payload(answer.parts, SchemaValidator(schema))
    return build_result(value, form)


def build_answer_schema(form: JsonObject) -> JsonObject:
    """Build the schema of the answer to a form."""
    words = [*_REFUSALS]
    if not form.get("required"):
        words.append(_ACCEPT)
    texts: list[JsonObject] = [] if (found := _find_text_member(form)) is None else [found[1]]
    return {"anyOf": [form, {"enum": words}, *texts]}


def build_result(value: object, form: JsonObject) -> mt.ElicitResult:
    """Build the result of an answer that matches its schema."""
    if isinstance(value, str) and value in _REFUSALS:
        return mt.ElicitResult(action=_REFUSALS[value])
    properties = form.get("properties")
    names = properties if is_json_object(properties) else {}
    if is_json_object(value):
        return mt.ElicitResult(
            action=_ACCEPT,
            content=_CONTENT.validate_python(
                {name: each for name, each in value.items() if name in names}
            ),
        )
    if (found := _find_text_member(form)) is not None and value != _ACCEPT:
        return mt.ElicitResult(action=_ACCEPT, content={found[0]: cast("str", value)})
    return mt.ElicitResult(action=_ACCEPT, content={})


def _find_text_member(form: JsonObject) -> tuple[str, JsonObject] | None:
    """Find the only member of a form, or the only one that is required, if it is a text."""
    properties = form.get("properties")
    required = form.get("required")
    if not is_json_object(properties):
        return None
    names: Sequence[object] = ()
    if len(properties) == 1:
        names = [*properties]
    elif is_json_array(required):
        names = required
    if len(names) != 1:
        return None
    name = str(names[0])
    schema = properties.get(name)
    if is_json_object(schema) and schema.get("type") == "string":
        return (name, schema)
    return None


def _parse_consent(answer: Message) -> mt.ElicitResult:
    return mt.ElicitResult(action=_REFUSALS.get(join_texts(answer).strip().lower(), _ACCEPT))
