"""The value that a message carries for a skill.

    a data part          that value
    a text part          the JSON in it; for a skill that takes text, the text itself
    neither              refused: files are no input of a typed skill

The first part that can be the value is; what else the message holds is for people, or for the handler, which sees the whole message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pydantic_core import from_json

from a2a_contract.base import JSON_NULL
from a2a_contract.v1_0 import Part
from a2a_runtime.skills.form import WrongValueError


class Carried(NamedTuple):
    """A value, and where in the message it stands."""

    value: object
    place: str


def carried(parts: Sequence[Part], *, is_text: bool, around: str = "message.parts") -> Carried:
    """Find the value in the parts of a message, or raise ``WrongValueError``."""
    for index, part in enumerate(parts):
        if part.data is not None:
            return Carried(None if part.data is JSON_NULL else part.data, f"{around}[{index}].data")
    texts = [(index, part.text) for index, part in enumerate(parts) if part.text is not None]
    if not texts:
        raise WrongValueError(((around, "There is no text" if is_text else "There is no JSON: send a part with data, or JSON as text"),))
    if is_text:
        return Carried("\n".join(text for _, text in texts), around)
    index, text = texts[0]
    place = f"{around}[{index}].text"
    try:
        return Carried(from_json(text, allow_inf_nan=False), place)
    except ValueError:
        raise WrongValueError(((place, "This is no JSON; the skill takes JSON that fits its schema"),)) from None
