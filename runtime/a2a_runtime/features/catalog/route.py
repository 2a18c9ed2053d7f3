"""The catalog of an app: the cards of its agents.

An agent whose card is not public is listed only for callers whom its gate admits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import isawaitable
from typing import Any

from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler
from pydantic_core import to_json

from a2a_contract.errors import A2AError
from a2a_contract.routes.cards import CARDS
from a2a_runtime.auth.authentication import Credentials
from a2a_runtime.features.catalog.document import (
    CATALOG_PATH,
    CATALOG_TYPE,
    CatalogEntry,
    build_catalog,
)
from a2a_runtime.http.asgi import base_url
from a2a_runtime.http.middleware import OriginPolicy
from a2a_runtime.service.cards.builder import resolve_url
from a2a_runtime.surface import Surface

_PUBLIC = "public, max-age=300"
_PRIVATE = "private, no-store"


def build_catalog_route(get_surfaces: Callable[[], Sequence[Surface]]) -> HTTPRouteHandler:
    """Build the route of the catalog of some surfaces."""

    @get(CATALOG_PATH, include_in_schema=False)
    async def ai_catalog(request: Request[Any, Any, Any]) -> Response[bytes]:
        surfaces = get_surfaces()
        is_public = all(each.public_card is not False for each in surfaces)
        listed = [
            each
            for each in surfaces
            if each.public_card is not False or await _is_admitted(each, request)
        ]
        catalog = build_catalog(
            request.url.hostname or "agents",
            [_build_entry(each, base_url(request.scope, each.path)) for each in listed],
        )
        headers = {
            "cache-control": _PUBLIC if is_public else _PRIVATE,
            "vary": "Host" if is_public else "Host, Authorization",
        }
        return Response(to_json(catalog), media_type=CATALOG_TYPE, headers=headers)

    return ai_catalog


async def _is_admitted(surface: Surface, request: Request[Any, Any, Any]) -> bool:
    gate = surface.effective_gate
    try:
        OriginPolicy(surface).check(dict(request.scope["headers"]), is_write=False)
        admitted = None if gate is None else gate.admit(Credentials(request.scope))
        if isawaitable(admitted):
            await admitted
    except A2AError:
        return False
    return True


def _build_entry(surface: Surface, url: str) -> CatalogEntry:
    agent = surface.agent
    address = resolve_url(surface, url)
    tags: set[str] = set()
    for skill in surface.skills.values():
        if not skill.only_extended:
            tags.update(skill.tags)
    return CatalogEntry(
        address + CARDS[0].path, agent.name, address, agent.description, agent.version, sorted(tags)
    )
