"""Where in a request something is wrong, as people write it: ``message.parts[0].text``."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError


def places(error: ValidationError, skip: int = 0) -> tuple[tuple[str, str], ...]:
    """List each place and what is wrong there, once; ``skip`` leaves out so many steps that the request itself does not have."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return tuple(dict.fromkeys((_path(each["loc"][skip:]), each["msg"]) for each in found))


def _path(steps: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
