"""What an OpenAPI document says of the protection of a surface: the same as the card, since OpenAPI has the same schemes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from a2a_contract.routes.cards import CARDS
from a2a_contract.translate.v0_3 import write_security_scheme  # the schemes of 0.3 are those of OpenAPI
from a2a_runtime.exchange.error_schemas import Json
from a2a_runtime.surface import Surface

_UNNAMEABLE = re.compile(r"[^A-Za-z0-9._-]+")


def schemes_of(surfaces: Sequence[Surface]) -> Json:
    """List the schemes of all surfaces."""
    return {_name(surface, name): write_security_scheme(scheme) for surface in surfaces for name, scheme in surface.security_schemes.items()}


def protected(surface: Surface, paths: Iterator[tuple[str, Json]]) -> Iterator[tuple[str, Json]]:
    """Say of each operation what it needs; cards need nothing."""
    open_paths = {surface.path + route.path for route in CARDS}
    needed = [_needed(surface, each.schemes or {}) for each in surface.security_requirements]
    for path, item in paths:
        security: list[Json] = [] if path in open_paths else needed
        yield path, {method: {**operation, "security": security} for method, operation in item.items()} if needed else item


def _needed(surface: Surface, schemes: Mapping[str, Any]) -> Json:
    return {_name(surface, name): scopes.list_ or [] for name, scopes in schemes.items()}


def _name(surface: Surface, scheme: str) -> str:
    """Name a scheme apart from those of other surfaces."""
    return _UNNAMEABLE.sub("-", f"{surface.path}-{scheme}").strip("-")
