"""Sign-in with OAuth 2.0 and OpenID Connect: authorization code with PKCE, in a popup of the page.

    page ── scheme, client id ──► build_sign_in ──► authorization URL, state, verifier
    popup ──► issuer ──► the page's own address with the code
    page ── code, verifier ──► exchange_code ──► the header with the token

The addresses come from the card again in each step, never from the page: a code goes to the issuer
that the card names. A token URL has to be https, or on this machine if the agent itself is. Nothing
is kept here; the page holds state, verifier and token in its memory.
"""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from secrets import token_urlsafe
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import httpx

from a2a_contract.errors import InvalidParamsError
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.v1_0 import AgentCard, SecurityScheme, StringList
from a2a_runtime.client.errors import InvalidCardError, TokenError
from a2a_runtime.client.oauth import parse_json_object
from a2a_runtime.features.explorer.session import AgentSession, CardReading

_DISCOVERY_SUFFIX = "/.well-known/openid-configuration"
_OPENID = "openid"
_NO_SCOPES = StringList()
_LOCAL_HOSTS = frozenset(("localhost", "127.0.0.1", "::1"))
_SECONDS = 15.0
_MAX_BYTES = 1_000_000
_MAX_TEXT = 4096


class Issuer(NamedTuple):
    """The addresses of a sign-in."""

    authorization_url: str
    token_url: str
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SignInRequest:
    """Members of the requests of both steps."""

    scheme: str
    client_id: str
    redirect_uri: str
    scopes: tuple[str, ...] = ()
    code: str = ""
    verifier: str = ""
    client_secret: str = ""

    @classmethod
    def parse(cls, document: object, *, needs_code: bool = False) -> SignInRequest:
        """Parse it; raise ``InvalidParamsError`` with every member that is missing."""
        given = document if is_json_object(document) else {}
        required = ["scheme", "clientId", "redirectUri"]
        if needs_code:
            required += ("code", "verifier")
        texts = {
            name: _read_text(given, name)
            for name in ("scheme", "clientId", "redirectUri", "code", "verifier", "clientSecret")
        }
        missing = tuple(
            (name, "missing, or not a text of a usual length")
            for name in required
            if not texts[name]
        )
        if missing:
            raise InvalidParamsError(fields=missing)
        listed = given.get("scopes")
        scopes: tuple[str, ...] = ()
        if is_json_array(listed):
            scopes = tuple(each for each in listed if isinstance(each, str))
        return cls(
            texts["scheme"],
            texts["clientId"],
            texts["redirectUri"],
            scopes,
            texts["code"],
            texts["verifier"],
            texts["clientSecret"],
        )


async def build_sign_in(
    session: AgentSession, reading: CardReading, document: object
) -> Mapping[str, object]:
    """Build the address of the issuer for a popup, and what the page has to remember."""
    request = SignInRequest.parse(document)
    issuer = await _find_issuer(session, _require_card(reading), request.scheme)
    state = token_urlsafe(24)
    verifier = token_urlsafe(48)
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    scopes = request.scopes or issuer.scopes
    query = {
        "response_type": "code",
        "client_id": request.client_id,
        "redirect_uri": request.redirect_uri,
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    if scopes:
        query["scope"] = " ".join(scopes)
    parts = urlsplit(issuer.authorization_url)
    url = urlunsplit(parts._replace(query=urlencode([*parse_qsl(parts.query), *query.items()])))
    return {"authorizationUrl": url, "state": state, "verifier": verifier}


async def exchange_code(
    session: AgentSession, reading: CardReading, document: object
) -> Mapping[str, object]:
    """Exchange a code at the issuer of the card for the header with a token."""
    request = SignInRequest.parse(document, needs_code=True)
    issuer = await _find_issuer(session, _require_card(reading), request.scheme)
    form = {
        "grant_type": "authorization_code",
        "code": request.code,
        "redirect_uri": request.redirect_uri,
        "client_id": request.client_id,
        "code_verifier": request.verifier,
    }
    auth = (
        httpx.BasicAuth(request.client_id, request.client_secret) if request.client_secret else None
    )
    response = await _request(session, "POST", issuer.token_url, form, auth)
    answer = parse_json_object(response)
    token = answer.get("access_token")
    kind = answer.get("token_type", "Bearer")
    if (
        response.status_code != HTTPStatus.OK
        or not isinstance(token, str)
        or not token.isascii()
        or not token.isprintable()
    ):
        given = (answer.get("error"), answer.get("error_description"))
        reasons = [text for text in given if isinstance(text, str)]
        raise TokenError(
            f"{urlsplit(issuer.token_url).hostname}: no token "
            f"({': '.join(reasons) or response.status_code})"
        )
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise TokenError(
            f"{urlsplit(issuer.token_url).hostname}: a token of type {kind!r}, which the "
            "explorer cannot use; ask for a bearer token"
        )
    return {
        "headers": {"Authorization": f"Bearer {token}"},
        "expiresIn": answer.get("expires_in"),
        "scope": answer.get("scope"),
    }


async def _find_issuer(session: AgentSession, card: AgentCard, name: str) -> Issuer:
    """Find the addresses of a scheme on the card."""
    scheme = (card.security_schemes or {}).get(name)
    if scheme is None:
        known = ", ".join(card.security_schemes or ()) or "none"
        raise InvalidParamsError(
            fields=(("scheme", f"the card has no scheme {name!r}; it has {known}"),)
        )
    required: list[str] = []
    for each in card.security_requirements or ():
        required += (each.schemes or {}).get(name, _NO_SCOPES).list_ or ()
    scopes = tuple(dict.fromkeys(required))
    found = _read_flow(scheme, scopes) or await _discover(session, scheme, scopes)
    if found is None:
        raise InvalidParamsError(
            fields=(
                ("scheme", f"{name!r} has no authorization code flow; paste a token of it instead"),
            )
        )
    for url in found[:2]:
        _check_url(session, url)
    return found


def _read_flow(scheme: SecurityScheme, scopes: tuple[str, ...]) -> Issuer | None:
    oauth = scheme.oauth2_security_scheme
    flow = oauth.flows.authorization_code if oauth is not None else None
    if flow is None:
        return None
    return Issuer(flow.authorization_url, flow.token_url, scopes or tuple(flow.scopes))


async def _discover(
    session: AgentSession, scheme: SecurityScheme, scopes: tuple[str, ...]
) -> Issuer | None:
    """Read the discovery document of an OpenID provider, which must be of the issuer that the card
    names.
    """
    oidc = scheme.open_id_connect_security_scheme
    if oidc is None:
        return None
    url = oidc.open_id_connect_url
    _check_url(session, url)
    document = parse_json_object(await _request(session, "GET", url))
    issuer, authorization, token = (
        document.get(name) for name in ("issuer", "authorization_endpoint", "token_endpoint")
    )
    expected = url.removesuffix(_DISCOVERY_SUFFIX)
    if not isinstance(issuer, str) or issuer.rstrip("/") != expected.rstrip("/"):
        raise TokenError(
            f"{url}: the document is not that of the issuer {expected!r}, which the card "
            "names; report it to the operator of the agent"
        )
    if not isinstance(authorization, str) or not isinstance(token, str):
        raise TokenError(
            f"{url}: no authorization and token endpoints; report it to the operator of the issuer"
        )
    return Issuer(authorization, token, tuple(dict.fromkeys((_OPENID, *scopes))))


def _check_url(session: AgentSession, url: str) -> None:
    """Refuse an address at which a code could be read, and one of this machine that a card from
    elsewhere names.
    """
    parts = urlsplit(url)
    is_local = parts.hostname in _LOCAL_HOSTS
    is_allowed = parts.scheme == "https" or (parts.scheme == "http" and is_local)
    if (
        not is_allowed
        or not parts.hostname
        or (is_local and urlsplit(session.agent.url).hostname not in _LOCAL_HOSTS)
    ):
        raise TokenError(
            f"{url!r}: not an https address; the card names it for the sign-in, so report it "
            "to the operator of the agent"
        )


async def _request(
    session: AgentSession,
    method: str,
    url: str,
    form: Mapping[str, str] | None = None,
    auth: httpx.Auth | None = None,
) -> httpx.Response:
    """Ask the issuer, without credentials of the agent and without redirects."""
    try:
        async with (
            asyncio.timeout(_SECONDS),
            httpx.AsyncClient(
                event_hooks=session.recorder.hooks,
                headers={"accept-encoding": "identity"},
                timeout=_SECONDS,
            ) as http,
            http.stream(
                method,
                url,
                data=form,
                auth=auth,
                headers={"accept": "application/json"},
                follow_redirects=False,
            ) as response,
        ):
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _MAX_BYTES:
                    raise TokenError(
                        f"{url}: a response of more than {_MAX_BYTES} bytes; report it to "
                        "the operator of the issuer"
                    )
            return httpx.Response(
                response.status_code, content=bytes(body), request=response.request
            )
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
        raise TokenError(
            f"{url}: {str(error) or type(error).__name__}; check that the issuer is reachable"
        ) from error


def _require_card(reading: CardReading) -> AgentCard:
    if reading.resolved is None:
        raise InvalidCardError(reading.problem)
    return reading.resolved.card


def _read_text(document: Mapping[str, object], name: str) -> str:
    value = document.get(name)
    if isinstance(value, str) and len(value) <= _MAX_TEXT and value.isprintable():
        return value
    return ""
