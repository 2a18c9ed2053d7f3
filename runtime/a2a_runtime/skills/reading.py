"""The value that a message carries for a skill.

    a data part          that value
    a text part          for a schema of texts, the text itself; else the JSON in it, or the text where only that fits, as a word that people type
    neither              refused: files are no input of a typed skill

The first part that can be the value is; what else the message holds is for people, or for the handler, which sees the whole message. What we write
ourselves is never read as something else: a text is a text part for a schema of texts, and a piece of data for all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pydantic_core import from_json

from a2a_contract.base import JSON_NULL
from a2a_contract.v1_0 import Part
from a2a_runtime.skills.form import Law, WrongValueError


class Carried(NamedTuple):
    """A value, and where in the message it stands."""

    value: object
    place: str


def carrier(value: object, law: Law | None) -> Part:
    """Make the part that carries a value; without a schema, a text is a text."""
    if isinstance(value, str) and (law is None or law.is_text):
        return Part(text=value)
    return Part(data=JSON_NULL if value is None else value)


def carried(parts: Sequence[Part], law: Law, around: str = "message.parts") -> Carried:
    """Find the value in the parts of a message, or raise ``WrongValueError``."""
    for index, part in enumerate(parts):
        if part.data is not None:
            return Carried(None if part.data is JSON_NULL else part.data, f"{around}[{index}].data")
    texts = [(index, part.text) for index, part in enumerate(parts) if part.text is not None]
    if not texts:
        raise WrongValueError(((around, "There is no text" if law.is_text else "There is no JSON: send a part with data, or JSON as text"),))
    if law.is_text:
        return Carried("\n".join(text for _, text in texts), around)
    index, text = texts[0]
    return Carried(_meant(text, law, f"{around}[{index}].text"), f"{around}[{index}].text")


def _meant(text: str, law: Law, place: str) -> object:
    """Read a text as JSON, or as itself where only that fits."""
    try:
        value: object = from_json(text, allow_inf_nan=False)
    except ValueError:
        if law.fits(text):
            return text
        raise WrongValueError(((place, "This is no JSON; the skill takes JSON that fits its schema"),)) from None
    return text if not law.fits(value) and law.fits(text) else value
