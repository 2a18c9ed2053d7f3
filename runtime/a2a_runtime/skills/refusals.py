"""Input that fits its schema and is refused all the same, for what no schema can say; and places in it as callers know them.

A handler refuses when there is a task already, so the places travel with the last message of the task, which is then rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from a2a_contract.kinds import is_list, is_object
from a2a_contract.v1_0 import Message
from a2a_runtime.skills.form import Fields

FIELDS = "a2a-gen/fields"
"""Member of a message's metadata: each wrong place, as errors of the protocol name it."""

_CARRIED = re.compile(r"^message\.parts\[\d+\]\.(?:data|text)\.?")


def refused(message: Message, fields: Iterable[tuple[str, str]]) -> Message:
    """Say in a message which places are wrong."""
    listed = [{"field": place, "description": text} for place, text in fields]
    return message.model_copy(update={"metadata": {**(message.metadata or {}), FIELDS: listed}})


def refused_fields(message: Message | None) -> tuple[tuple[str, str], ...]:
    """Read which places were wrong; none where a message says nothing of that."""
    listed = (message.metadata or {}).get(FIELDS) if message else None
    found = [each for each in listed if is_object(each)] if is_list(listed) else []
    return tuple((str(each.get("field", "")), str(each.get("description", ""))) for each in found)


def within(fields: Fields) -> tuple[tuple[str, str], ...]:
    """Name places in the input, and no longer in the message that carried it; the input itself has no name."""
    return tuple((_CARRIED.sub("", place), text) for place, text in fields)
