"""The client's side of a call: writing its JSON-RPC body, and reading what comes back, in an envelope or without one.

Answers are read as leniently as can be: whoever wrote them may have left out a ``result`` that says nothing, sent both members of which JSON-RPC
wants one, or taken the constants for granted that tell objects apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from .binding import Answer, Hearing
from .kinds import is_object
from .tags import supplied

_VERSION = "2.0"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as it came over the wire; what it stands for is the business of whoever knows the table of errors."""

    code: int | None
    message: str
    data: object = None


def call_body(method: str, call_id: str | int, params: Mapping[str, object]) -> bytes:
    """Write a call."""
    return to_json({"jsonrpc": _VERSION, "id": call_id, "method": method, "params": params})


class AnswerReader(Generic[Answer]):
    """Reads the answers to one operation in one dialect; without a hearing there is nothing to be read."""

    def __init__(self, hearing: Hearing[Answer] | None) -> None:
        self._hearing = hearing
        self._adapter: TypeAdapter[Any] | None = hearing.adapter() if hearing else None

    def read(self, body: bytes) -> Answer | None:
        """Read an answer that stands alone, or raise ``ValidationError``."""
        return None if self._adapter is None else self._heard(self._adapter, body)

    def read_envelope(self, body: bytes) -> Answer | Refusal | None:
        """Read the answer out of its JSON-RPC envelope, or the error that stands there; raise ``ValueError`` for what is neither."""
        said: object = from_json(body, allow_inf_nan=False)
        if not is_object(said):
            raise ValueError("a JSON-RPC answer is an object")
        error = said.get("error")
        if error is not None:
            return refusal(error)
        if self._adapter is None:
            return None
        if "result" not in said:
            raise ValueError("a JSON-RPC answer has a result or an error")
        return self._heard(self._adapter, to_json(said["result"]))

    def _heard(self, adapter: TypeAdapter[Any], body: bytes) -> Answer:
        hearing = self._hearing
        assert hearing is not None, "an adapter is made from a hearing"  # noqa: S101 - a fact of the constructor
        try:
            return hearing.read(adapter.validate_json(body))
        except ValidationError as error:
            whole = supplied(adapter.core_schema, from_json(body)) if _is_json(error) else None
            if whole is None:
                raise
            try:
                return hearing.read(adapter.validate_json(to_json(whole)))
            except ValidationError:
                raise error from None


def refusal(error: object) -> Refusal:
    """Read the error of a JSON-RPC answer, whatever it lacks; one that has nothing that could be read is told as it came."""
    if not is_object(error):
        return Refusal(None, error if isinstance(error, str) else to_json(error).decode())
    code, message = error.get("code"), error.get("message")
    if error and not isinstance(code, int) and not isinstance(message, str):
        return Refusal(None, to_json(error).decode(), error.get("data"))
    return Refusal(code if isinstance(code, int) else None, message if isinstance(message, str) else "", error.get("data"))


def _is_json(error: ValidationError) -> bool:
    return all(each["type"] != "json_invalid" for each in error.errors(include_url=False, include_context=False, include_input=False))
