"""Where in a request something is wrong, as people write it: ``message.parts[0].text``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ValidationError

from .steps import steps

MANY: Final = 1000
"""So many wrong places are not listed one by one: a body can hold millions of them, and each costs more than the bytes that it came in."""


def places(error: ValidationError, skip: int = 0, of: type[BaseModel] | None = None) -> tuple[tuple[str, str], ...]:
    """List each place and what is wrong there, once; ``skip`` leaves out steps around the request, ``of`` (its type) the names of branches."""
    if error.error_count() > MANY:
        return (("", f"More than {MANY} values are wrong"),)
    found = error.errors(include_url=False, include_context=False, include_input=False)
    where = ((each["loc"][skip:], each["msg"]) for each in found)
    return tuple(dict.fromkeys((_path(loc if of is None else steps(of, loc)), text) for loc, text in where))


def _path(steps: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
