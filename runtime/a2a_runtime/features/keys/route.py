"""The route of the public keys of a process."""

from __future__ import annotations

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

# pyright: reportUnknownVariableType=false


def build_keys_route(path: str, jwks: bytes) -> HTTPRouteHandler:
    """Build the route of the public keys that the process signs with."""

    @get(path, include_in_schema=False)
    async def public_keys() -> Response[bytes]:
        return Response(
            jwks,
            media_type="application/jwk-set+json",
            headers={"cache-control": "public, max-age=300"},
        )

    return public_keys
