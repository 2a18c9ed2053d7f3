"""Sign-in with OAuth 2.0 and OpenID Connect: an issuer on this machine, the window of a browser,
and the token in a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from integration.features.explorer.documents import build_card, serve_documents
from integration.features.explorer.explorer_page import ExplorerPage, explore
from integration.features.explorer.issuer import (
    ACCESS_TOKEN,
    CODE,
    DISCOVERY,
    Issuer,
    build_foreign_discovery,
    build_schemes,
)
from integration.outcome_agent import serve_on_socket

SCHEME = {"scheme": "login", "clientId": "explorer"}


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    """The issuer."""
    return Issuer()


@pytest.fixture(scope="module")
def issuer_url(issuer: Issuer) -> Iterator[str]:
    """Its URL."""
    with serve_on_socket(issuer.build_app()) as client:
        yield str(client.base_url).rstrip("/")


def authorize(page: ExplorerPage, redirect: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Begin a sign-in and go through the window of the issuer; return what the page keeps, and what
    the page's address gets.
    """
    begun = page.post("sign-in", {**SCHEME, "redirectUri": redirect}).json()
    location = httpx.get(begun["authorizationUrl"], trust_env=False).headers["location"]
    assert location.startswith(redirect)
    returned = page.http.get(location)
    assert "a2a-explorer-sign-in" in returned.text
    return begun, {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


@pytest.mark.parametrize("kind", ["oauth2", "openIdConnect"])
def test_sign_in(kind: str, issuer: Issuer, issuer_url: str) -> None:
    """The code is exchanged with the verifier, the token reaches the agent, and no record shows a
    secret.
    """
    with serve_documents(documents := {}) as (url, requests):
        documents["/.well-known/agent-card.json"] = build_card(
            url, securitySchemes=build_schemes(kind, issuer_url)
        )
        with explore(url) as page:
            assert page.describe()["security"][0]["kind"] == kind
            begun, returned = authorize(
                page, f"{page.http.base_url}/explorer/".replace("//explorer", "/explorer")
            )
            assert returned["state"] == begun["state"]
            given = {
                **SCHEME,
                "redirectUri": f"{page.http.base_url}/explorer/".replace("//explorer", "/explorer"),
            }
            exchanged = page.post(
                "token", {**given, "code": returned["code"], "verifier": begun["verifier"]}
            )
            assert exchanged.status_code == 200, exchanged.text
            token = exchanged.json()
            assert token["headers"] == {"Authorization": f"Bearer {ACCESS_TOKEN}"}
            assert issuer.requests[-1]["client_id"] == "explorer"
            records = str(token["exchanges"])
            assert token["exchanges"][-1]["url"] == f"{issuer_url}/token"
            assert [
                secret for secret in (ACCESS_TOKEN, CODE, begun["verifier"]) if secret in records
            ] == []
            called = page.with_credentials(token["headers"]).send("hi")
            assert requests[-1][1]["authorization"] == f"Bearer {ACCESS_TOKEN}"
            assert ACCESS_TOKEN not in str(called)


def test_a_code_that_is_refused(issuer_url: str) -> None:
    """Another verifier, and a code that was used, are errors of the issuer, with its words."""
    with serve_documents(documents := {}) as (url, _):
        documents["/.well-known/agent-card.json"] = build_card(
            url, securitySchemes=build_schemes("oauth2", issuer_url)
        )
        with explore(url) as page:
            document = {
                **SCHEME,
                "redirectUri": "http://127.0.0.1/explorer/",
                "code": CODE,
                "verifier": "x" * 43,
            }
            error = page.post("token", document).json()["error"]
    assert (error["name"], "invalid_grant: another verifier" in error["message"]) == (
        "TokenError",
        True,
    )


@pytest.mark.parametrize(
    ("schemes", "message"),
    [
        pytest.param({}, "the card has no scheme 'login'", id="no scheme"),
        pytest.param(
            {"login": {"apiKeySecurityScheme": {"location": "header", "name": "X"}}},
            "no authorization code flow",
            id="another kind",
        ),
        pytest.param(
            build_schemes("oauth2", "http://id.example"), "not an https address", id="no TLS"
        ),
        pytest.param(
            build_schemes("oauth2", "javascript:alert(1)//"), "not an https address", id="a script"
        ),
        pytest.param(
            build_schemes("openIdConnect", "http://169.254.169.254"),
            "not an https address",
            id="an address of a cloud",
        ),
    ],
)
def test_schemes_that_are_no_sign_in(schemes: dict[str, object], message: str) -> None:
    """Nothing is requested, and the page gets no address to open."""
    with serve_documents(documents := {}) as (url, _):
        documents["/.well-known/agent-card.json"] = build_card(url, securitySchemes=schemes)
        with explore(url) as page:
            answer = page.post(
                "sign-in", {**SCHEME, "redirectUri": "http://127.0.0.1/explorer/"}
            ).json()
    error = answer["error"]
    assert message in error["message"] + str(error["fields"])


def test_a_discovery_document_of_another_issuer(issuer_url: str) -> None:
    """The addresses in a discovery document of another issuer are not used."""
    with serve_documents(documents := {}) as (url, _):
        documents[DISCOVERY] = build_foreign_discovery(issuer_url)
        documents["/.well-known/agent-card.json"] = build_card(
            url, securitySchemes=build_schemes("openIdConnect", url)
        )
        with explore(url) as page:
            error = page.post(
                "sign-in", {**SCHEME, "redirectUri": "http://127.0.0.1/explorer/"}
            ).json()["error"]
    assert "not that of the issuer" in error["message"]


def test_members_that_are_missing(issuer_url: str) -> None:
    """The error names each member that a request for a token lacks."""
    with serve_documents(documents := {}) as (url, _):
        documents["/.well-known/agent-card.json"] = build_card(
            url, securitySchemes=build_schemes("oauth2", issuer_url)
        )
        with explore(url) as page:
            fields = page.post("token", {"scheme": "login"}).json()["error"]["fields"]
    assert [each["path"] for each in fields] == ["clientId", "redirectUri", "code", "verifier"]
