"""Issuer of tokens for the explorer's sign-in, and the cards that name it."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl

from litestar import Litestar, Request, Response, get, post
from litestar.response import Redirect

ACCESS_TOKEN = "token-of-the-issuer"  # noqa: S105 - of an issuer of tests
CODE = "code-of-the-issuer"
DISCOVERY = "/.well-known/openid-configuration"


class Issuer:
    """An authorization server for public clients that use PKCE."""

    def __init__(self) -> None:
        self.challenges: dict[str, str] = {}
        self.requests: list[dict[str, str]] = []

    def build_app(self) -> Litestar:
        """Build its app."""

        @get("/authorize")
        async def authorize(request: Request[Any, Any, Any]) -> Redirect:
            query = dict(request.query_params)
            assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
            self.challenges[CODE] = query["code_challenge"]
            return Redirect(f"{query['redirect_uri']}?state={query['state']}&code={CODE}")

        @post("/token")
        async def token(request: Request[Any, Any, Any]) -> Response[dict[str, object]]:
            form = dict(parse_qsl((await request.body()).decode()))
            self.requests.append(form)
            digest = (
                urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest())
                .rstrip(b"=")
                .decode()
            )
            if self.challenges.pop(form["code"], None) != digest:
                return Response(
                    {"error": "invalid_grant", "error_description": "another verifier"},
                    status_code=400,
                )
            return Response(
                {"access_token": ACCESS_TOKEN, "token_type": "Bearer", "expires_in": 300},
                status_code=200,
            )

        @get(DISCOVERY)
        async def discovery(request: Request[Any, Any, Any]) -> dict[str, str]:
            base = str(request.base_url).rstrip("/")
            return {
                "issuer": base,
                "authorization_endpoint": f"{base}/authorize",
                "token_endpoint": f"{base}/token",
            }

        return Litestar([authorize, token, discovery], openapi_config=None)


def build_schemes(kind: str, issuer_url: str) -> dict[str, object]:
    """Build the security schemes of a card."""
    if kind == "oauth2":
        flow = {
            "authorizationUrl": f"{issuer_url}/authorize",
            "tokenUrl": f"{issuer_url}/token",
            "scopes": {"tasks": "Use tasks"},
        }
        return {"login": {"oauth2SecurityScheme": {"flows": {"authorizationCode": flow}}}}
    return {"login": {"openIdConnectSecurityScheme": {"openIdConnectUrl": issuer_url + DISCOVERY}}}


def build_foreign_discovery(url: str) -> dict[str, str]:
    """Build the discovery document of another issuer, with endpoints at a URL."""
    return {
        "issuer": "https://evil.example",
        "authorization_endpoint": f"{url}/authorize",
        "token_endpoint": f"{url}/token",
    }
