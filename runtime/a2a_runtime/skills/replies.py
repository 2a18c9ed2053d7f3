"""Follow-ups that answer a question: refused, while the task stays open, when they do not fit the schema that went with the question.

The schema is read from the question itself, as the task's status holds it: what was asked for counts, also after a restart with other code.
"""

from __future__ import annotations

import json
from functools import lru_cache

from a2a_contract.base import JsonObject
from a2a_contract.errors import InvalidParamsError
from a2a_contract.kinds import is_object
from a2a_contract.v1_0 import Message
from a2a_runtime.execution.context import QUESTION
from a2a_runtime.skills.form import Law, WrongValueError
from a2a_runtime.skills.reading import carried

_SCHEMA = "schema"


def check_reply(question: Message | None, reply: Message) -> None:
    """Raise ``InvalidParamsError`` when a message is no answer to a question."""
    schema = asked_schema(question)
    if schema is None:
        return
    law = _law(json.dumps(schema, sort_keys=True))
    place = ""
    try:
        value, place = carried(reply.parts, law)
        law.check(value)
    except WrongValueError as error:
        raise InvalidParamsError(fields=tuple(error.at(place) if place else error.fields)) from error


def asked_schema(question: Message | None) -> JsonObject | None:
    """Find the schema that a question wants its answer to fit."""
    told = (question.metadata or {}).get(QUESTION) if question else None
    schema = told.get(_SCHEMA) if is_object(told) else None
    return schema if is_object(schema) else None


@lru_cache(maxsize=256)
def _law(schema: str) -> Law:
    return Law(json.loads(schema))
