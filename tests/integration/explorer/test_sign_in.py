"""Sign-in with OAuth 2.0 and OpenID Connect: an issuer on this machine, the window of a browser, and the token in a call."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
import pytest
from integration.explorer.documents import build_card, serve_documents
from integration.explorer.explorer_page import ExplorerPage, explore
from integration.outcome_agent import serve_on_socket
from litestar import Litestar, Request, Response, get, post
from litestar.response import Redirect

ACCESS_TOKEN, CODE = "token-of-the-issuer", "code-of-the-issuer"
SCHEME = {"scheme": "login", "clientId": "explorer"}


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
            digest = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
            if self.challenges.pop(form["code"], None) != digest:
                return Response({"error": "invalid_grant", "error_description": "another verifier"}, status_code=400)
            return Response({"access_token": ACCESS_TOKEN, "token_type": "Bearer", "expires_in": 300}, status_code=200)

        @get("/.well-known/openid-configuration")
        async def discovery(request: Request[Any, Any, Any]) -> dict[str, str]:
            base = str(request.base_url).rstrip("/")
            return {"issuer": base, "authorization_endpoint": f"{base}/authorize", "token_endpoint": f"{base}/token"}

        return Litestar([authorize, token, discovery], openapi_config=None)


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    """The issuer."""
    return Issuer()


@pytest.fixture(scope="module")
def issuer_url(issuer: Issuer) -> Iterator[str]:
    """Its URL."""
    with serve_on_socket(issuer.build_app()) as client:
        yield str(client.base_url).rstrip("/")


def build_schemes(kind: str, issuer_url: str) -> dict[str, object]:
    """Build the security schemes of a card."""
    if kind == "oauth2":
        flow = {"authorizationUrl": f"{issuer_url}/authorize", "tokenUrl": f"{issuer_url}/token", "scopes": {"tasks": "Use tasks"}}
        return {"login": {"oauth2SecurityScheme": {"flows": {"authorizationCode": flow}}}}
    return {"login": {"openIdConnectSecurityScheme": {"openIdConnectUrl": f"{issuer_url}/.well-known/openid-configuration"}}}


def authorize(page: ExplorerPage, redirect: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Begin a sign-in and go through the window of the issuer; return what the page keeps, and what the page's address gets."""
    begun = page.post("sign-in", {**SCHEME, "redirectUri": redirect}).json()
    location = httpx.get(begun["authorizationUrl"], trust_env=False).headers["location"]
    assert location.startswith(redirect)
    returned = page.http.get(location)
    assert "a2a-explorer-sign-in" in returned.text
    return begun, {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


@pytest.mark.parametrize("kind", ["oauth2", "openIdConnect"])
def test_sign_in(kind: str, issuer: Issuer, issuer_url: str) -> None:
    """The code is exchanged with the verifier, the token reaches the agent, and no record shows a secret."""
    with serve_documents(documents := {}) as (url, requests):
        documents["/.well-known/agent-card.json"] = build_card(url, securitySchemes=build_schemes(kind, issuer_url))
        with explore(url) as page:
            assert page.describe()["security"][0]["kind"] == kind
            begun, returned = authorize(page, f"{page.http.base_url}/explorer/".replace("//explorer", "/explorer"))
            assert returned["state"] == begun["state"]
            given = {**SCHEME, "redirectUri": f"{page.http.base_url}/explorer/".replace("//explorer", "/explorer")}
            exchanged = page.post("token", {**given, "code": returned["code"], "verifier": begun["verifier"]})
            assert exchanged.status_code == 200, exchanged.text
            token = exchanged.json()
            assert token["headers"] == {"Authorization": f"Bearer {ACCESS_TOKEN}"}
            assert issuer.requests[-1]["client_id"] == "explorer"
            records = str(token["exchanges"])
            assert token["exchanges"][-1]["url"] == f"{issuer_url}/token"
            assert [secret for secret in (ACCESS_TOKEN, CODE, begun["verifier"]) if secret in records] == []
            called = page.with_credentials(token["headers"]).send("hi")
            assert requests[-1][1]["authorization"] == f"Bearer {ACCESS_TOKEN}"
            assert ACCESS_TOKEN not in str(called)


def test_a_code_that_is_refused(issuer_url: str) -> None:
    """Another verifier, and a code that was used, are errors of the issuer, with its words."""
    with serve_documents(documents := {}) as (url, _):
        documents["/.well-known/agent-card.json"] = build_card(url, securitySchemes=build_schemes("oauth2", issuer_url))
        with explore(url) as page:
            document = {**SCHEME, "redirectUri": "http://127.0.0.1/explorer/", "code": CODE, "verifier": "x" * 43}
            error = page.post("token", document).json()["error"]
    assert (error["name"], "invalid_grant: another verifier" in error["message"]) == ("TokenError", True)


@pytest.mark.parametrize(
    ("schemes", "message"),
    [
        pytest.param({}, "the card has no scheme 'login'", id="no scheme"),
        pytest.param({"login": {"apiKeySecurityScheme": {"location": "header", "name": "X"}}}, "no authorization code flow", id="another kind"),
        pytest.param(build_schemes("oauth2", "http://id.example"), "not an https address", id="no TLS"),
        pytest.param(build_schemes("oauth2", "javascript:alert(1)//"), "not an https address", id="a script"),
        pytest.param(build_schemes("openIdConnect", "http://169.254.169.254"), "not an https address", id="an address of a cloud"),
    ],
)
def test_schemes_that_are_no_sign_in(schemes: dict[str, object], message: str) -> None:
    """Nothing is requested, and the page gets no address to open."""
    with serve_documents(documents := {}) as (url, _):
        documents["/.well-known/agent-card.json"] = build_card(url, securitySchemes=schemes)
        with explore(url) as page:
            answer = page.post("sign-in", {**SCHEME, "redirectUri": "http://127.0.0.1/explorer/"}).json()
    error = answer["error"]
    assert message in error["message"] + str(error["fields"])


def test_a_discovery_document_of_another_issuer(issuer_url: str) -> None:
    """Its addresses are not used."""
    with serve_documents(documents := {}) as (url, _):
        documents["/.well-known/openid-configuration"] = {
            "issuer": "https://evil.example", "authorization_endpoint": f"{issuer_url}/authorize", "token_endpoint": f"{issuer_url}/token"
        }  # fmt: skip
        documents["/.well-known/agent-card.json"] = build_card(url, securitySchemes=build_schemes("openIdConnect", url))
        with explore(url) as page:
            error = page.post("sign-in", {**SCHEME, "redirectUri": "http://127.0.0.1/explorer/"}).json()["error"]
    assert "not that of the issuer" in error["message"]


def test_members_that_are_missing(issuer_url: str) -> None:
    """Each is named."""
    with serve_documents(documents := {}) as (url, _):
        documents["/.well-known/agent-card.json"] = build_card(url, securitySchemes=build_schemes("oauth2", issuer_url))
        with explore(url) as page:
            fields = page.post("token", {"scheme": "login"}).json()["error"]["fields"]
    assert [each["path"] for each in fields] == ["clientId", "redirectUri", "code", "verifier"]
