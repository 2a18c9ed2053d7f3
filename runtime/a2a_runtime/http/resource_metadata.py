"""Protected-resource metadata (RFC 9728): which authorization servers issue the
tokens for a surface.

    GET /.well-known/oauth-protected-resource/agent
        {"resource": "https://…/agent", "authorization_servers": ["https://id.example"],
         "bearer_methods_supported": ["header"], …}

A 401 names the document in its challenge. A client follows it only to issuers that it trusts
(``client.TrustedIssuers``): what an agent says does not decide where secrets go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from litestar import Request, Response, get
from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.types import HTTPScope
from pydantic_core import to_json

from a2a_runtime.http.asgi import base_url
from a2a_runtime.service.cards.builder import resolve_url
from a2a_runtime.service.cards.declarations import METADATA_PATH
from a2a_runtime.surface import Surface

_BEARER = re.compile(r"\bBearer\b(?P<parameters> (?=\w+=))?")


def build_metadata_route(get_surfaces: Callable[[], Sequence[Surface]]) -> HTTPRouteHandler:
    """Build the route of the metadata of some surfaces."""

    @get([METADATA_PATH, METADATA_PATH + "/{surface_path:path}"], include_in_schema=False)
    async def protected_resource(request: Request[Any, Any, Any]) -> Response[bytes]:
        path = str(request.path_params.get("surface_path", "")).rstrip("/")
        surface = next(
            (each for each in get_surfaces() if each.path == path and each.authorization_servers),
            None,
        )
        if surface is None:
            raise NotFoundException
        metadata = _build_metadata(surface, base_url(request.scope, path))
        return Response(
            to_json(metadata),
            media_type="application/json",
            headers={"cache-control": "public, max-age=300", "vary": "Host"},
        )

    return protected_resource


def add_metadata_url(challenge: str, surface: Surface, scope: HTTPScope) -> str:
    """Name the metadata of a surface in the bearer challenge of a 401."""
    if not surface.authorization_servers:
        return challenge
    parameter = f'resource_metadata="{base_url(scope, METADATA_PATH + surface.path)}"'
    return _BEARER.sub(
        lambda found: f"Bearer {parameter}{', ' if found['parameters'] else ''}", challenge, count=1
    )


def _build_metadata(surface: Surface, url: str) -> Mapping[str, object]:
    required: set[str] = set()
    for requirement in surface.security_requirements:
        for scopes in (requirement.schemes or {}).values():
            required.update(scopes.list_ or ())
    metadata = {
        "resource": resolve_url(surface, url),
        "resource_name": surface.agent.name,
        "authorization_servers": [*surface.authorization_servers],
        "bearer_methods_supported": ["header"],
        "scopes_supported": sorted(required),
        "resource_documentation": surface.agent.documentation_url,
    }
    return {name: value for name, value in metadata.items() if value}
