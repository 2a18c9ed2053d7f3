"""Which HTTP methods a path of a surface has, for whoever came with another one.

Litestar refuses a method that it has never heard of before it asks us, and names those under which our paths are mounted, which are all. So what a
path really has is looked up here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from a2a_contract.paths import PATHS
from a2a_contract.routing import Route
from a2a_runtime.skills.card import FOLDER
from a2a_runtime.surface import Surface

SKILLS = "/skills"
SKILL_CALL, SKILL_SCHEMA = SKILLS + "/{skill:str}", FOLDER + "/{skill:str}/{file:str}"
SKILL_PATHS: Mapping[str, tuple[str, ...]] = {SKILL_CALL: ("POST", "OPTIONS"), SKILL_SCHEMA: ("GET", "HEAD", "OPTIONS")}
"""The paths of skills below a surface, and the methods of each."""


def methods_of(route: Route, parameters: Sequence[str]) -> tuple[str, ...]:
    """List the methods of a path: HEAD is there where GET is answered with one document."""
    read = route.match("GET", parameters)
    has_head = read is not None and not read.choices[0].binding.operation.streams
    return (*route.methods(parameters), *(("HEAD",) if has_head else ()), "OPTIONS")


def methods_at(surface: Surface, below: str) -> tuple[str, ...]:
    """Find the methods of a path below a surface; none where nothing is that has several."""
    for route in chain.from_iterable(PATHS.get(dialect, ()) for dialect in surface.dialects):
        if match := _match(route.path, below):
            return methods_of(route, match.groups())
    return next((methods for skill_path, methods in SKILL_PATHS.items() if _match(skill_path, below)), ())


def _match(pattern: str, path: str) -> re.Match[str] | None:
    return re.fullmatch("/".join("([^/]+)" if step.startswith("{") else re.escape(step) for step in pattern.split("/")), path)
