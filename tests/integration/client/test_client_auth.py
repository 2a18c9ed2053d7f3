"""Clients prove who they are to real gates on real sockets, in the way that the card asks for."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from integration.client.tls_proxy import Authority, tls_proxy
from integration.outcome_agent import serve_on_socket
from jwt import PyJWK

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.errors import UnauthenticatedError
from a2a_contract.v1_0 import Task
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Authenticator, Identity
from a2a_runtime.auth.authenticators import (
    ApiKeyAuthenticator,
    BasicAuthenticator,
    KeyLocation,
    MtlsAuthenticator,
    User,
    digest_key,
    hash_password,
)
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.client import (
    HTTP_JSON,
    JSONRPC,
    A2AClient,
    CardNotFoundError,
    ClientCredentials,
    ClientOptions,
    MissingCredentialsError,
    Pin,
    TokenError,
)
from a2a_runtime.client.auth import ApiKeyAuth, Credential
from a2a_runtime.client.options import VerifiesCards
from a2a_runtime.client.signatures import CardNotTrustedError, CardVerifier
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.keys.card_signatures import CardSigner, TrustStore
from a2a_runtime.features.keys.jwks import OidcKeys
from a2a_runtime.features.keys.jwt_tokens import JwtAuthenticator
from a2a_runtime.features.keys.signing import SigningKey
from a2a_runtime.features.keys.verification import keys_from_jwks
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.token_issuer import TokenIssuer
from a2a_runtime.testing.webhook_receiver import WebhookReceiver, WebhookRequest, WebhookResponse

pytestmark = pytest.mark.anyio

USERS = {"ada": User(hash_password("pässword"), Identity("ada"))}
KEYS = {digest_key("k-1"): Identity("ada")}


class Provider:
    """An OpenID Connect provider on this machine: its document, its keys, and tokens for those who
    have the secret.
    """

    def __init__(self, receiver_port: Callable[[], int]) -> None:
        self._port = receiver_port
        self._issuer = TokenIssuer("")
        self.given = 0
        self.scopes: list[str] = []

    @property
    def url(self) -> str:
        """Its name, and where it is."""
        return f"http://127.0.0.1:{self._port()}"

    def answer(self, call: WebhookRequest) -> WebhookResponse:
        """Answer."""
        match call.path:
            case "/.well-known/openid-configuration":
                said: object = {
                    "issuer": self.url,
                    "jwks_uri": f"{self.url}/keys",
                    "token_endpoint": f"{self.url}/token",
                }
            case "/keys":
                return WebhookResponse(200, body=self._issuer.jwks())
            case _ if httpx.BasicAuth("me", "s3cret")._auth_header != call.headers.get(
                "authorization"
            ):
                return WebhookResponse(401, body=b'{"error": "invalid_client"}')
            case _:
                self.given += 1
                self.scopes += parse_qs(call.body.decode()).get("scope", [])
                said = {"access_token": self.token(), "expires_in": 3600}
        return WebhookResponse(200, body=json.dumps(said).encode())

    def token(self) -> str:
        """Sign a token."""
        self._issuer.name = self.url
        return self._issuer.issue_token("ada", scope="tasks")

    def authenticator(self) -> Authenticator:
        """Make what knows its tokens."""
        self._issuer.name = self.url
        return JwtAuthenticator(
            OidcKeys(self.url),
            self._issuer.validation(),
            open_id_connect_url=f"{self.url}/.well-known/openid-configuration",
        )


@pytest.fixture
async def provider() -> AsyncGenerator[Provider, None]:
    """A provider."""
    made = Provider(lambda: receiver.port)
    async with WebhookReceiver(made.answer) as receiver:
        yield made


async def who(ctx: TaskContext) -> str:
    """Say who is calling."""
    return ctx.caller.subject


@contextmanager
def serve_guarded_agent(
    *authenticators: Authenticator,
    require: list[dict[str, list[str]]] | None = None,
    signer: CardSigner | None = None,
) -> Iterator[str]:
    """Serve a guarded agent on a real socket."""
    agent = Agent("guarded", capabilities=Capabilities(extended_agent_card=True))
    agent.add("who", who, default=True)
    agent.add("secret", who, only_extended=True)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        surface = Surface(
            agent,
            gate=AuthGate(*authenticators, require=require, shared_subjects=True),
            signer=signer,
            public_url=signer and url,
        )
        with serve_on_socket(
            create_app(surface, store="memory", settings=FAST_SETTINGS), listening_socket=listening
        ):
            yield url


async def subject(
    url: str,
    auth: httpx.Auth | str | Mapping[str, Credential] | None,
    options: ClientOptions | None = None,
) -> str | None:
    """Ask an agent as whom it sees us."""
    async with A2AClient(url, auth=auth, options=options) as client:
        task = await client.send("x")
        assert isinstance(task, Task)
        return (task.artifacts or [])[0].parts[0].text


class Custom(httpx.Auth):
    """A proof that only its maker knows, in two steps."""

    requires_response_body = True

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Show the key once the agent has asked for it."""
        answer = yield request
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            request.headers["X-API-Key"] = "k-1"
            yield request


@dataclass(frozen=True)
class Way:
    """A gate, and the right and a wrong proof for it."""

    authenticator: Callable[[], Authenticator]
    right: Credential
    wrong: Credential


WAYS = {
    "key in a header": Way(lambda: ApiKeyAuthenticator(KEYS, scheme="it"), "k-1", "k-2"),
    "key in the query": Way(
        lambda: ApiKeyAuthenticator(KEYS, "key", KeyLocation.QUERY, scheme="it"),
        ApiKeyAuth("k-1", "key", "query"),
        ApiKeyAuth("k-2", "key", "query"),
    ),
    "key in a cookie": Way(
        lambda: ApiKeyAuthenticator(KEYS, "key", KeyLocation.COOKIE, scheme="it"), "k-1", "k-2"
    ),
    "name and password": Way(
        lambda: BasicAuthenticator(USERS, scheme="it"), ("ada", "pässword"), ("ada", "x")
    ),
    "proof of our own": Way(
        lambda: ApiKeyAuthenticator(KEYS, scheme="it"), Custom(), httpx.BasicAuth("a", "b")
    ),
}
PINS = [Pin(V1_0.name, JSONRPC), Pin(V1_0.name, HTTP_JSON), Pin(V0_3.name, JSONRPC)]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
async def test_credentials_are_sent_as_the_card_requires(way: Way) -> None:
    """In every dialect; wrong credentials are refused, and those for another scheme are not
    sent.
    """
    with serve_guarded_agent(way.authenticator()) as url:
        for pin in PINS:
            assert (
                await subject(url, {"it": way.right, "other": "t0ken"}, ClientOptions(pin=pin))
                == "ada"
            )
        with pytest.raises(UnauthenticatedError):
            await subject(url, {"it": way.wrong})
        with pytest.raises(
            MissingCredentialsError, match="requires it; given are credentials for other"
        ):
            await subject(url, {"other": "t0ken"})


async def test_tokens_come_from_where_we_say(provider: Provider) -> None:
    """A bearer token; OAuth client credentials; the same found through OpenID Connect.

    One token is for many requests.
    """
    with serve_guarded_agent(provider.authenticator(), require=[{"bearer": ["tasks"]}]) as url:
        assert (
            await subject(url, {"bearer": provider.token()})
            == await subject(url, provider.token())
            == "ada"
        )
        assert provider.given == 0
        proofs = (
            ClientCredentials(f"{provider.url}/token", "me", "s3cret", scopes=["tasks"]),
            ClientCredentials.from_issuer(provider.url, "me", "s3cret", scopes=["tasks"]),
        )
        for number, proof in enumerate(proofs, 1):
            assert [await subject(url, {"bearer": proof}) for _ in range(3)] == ["ada"] * 3
            assert provider.given == number
        proofs[0]._token = "one that was taken back"  # noqa: S105 - of this test
        assert (await subject(url, {"bearer": proofs[0]}), provider.given) == ("ada", 3)
        assert set(provider.scopes) == {"tasks"}


async def test_a_provider_that_gives_no_token_is_an_error_of_ours(provider: Provider) -> None:
    """A wrong secret, an unexpected document, and a redirect to plain HTTP; the error never
    contains the secret.
    """
    with serve_guarded_agent(provider.authenticator()) as url:
        for proof, said in (
            (ClientCredentials(f"{provider.url}/token", "me", "wr0ng"), "invalid_client"),
            (
                ClientCredentials.from_issuer(f"{provider.url}/", "me", "s3cret"),
                "no token endpoint in its discovery document",
            ),
        ):
            with pytest.raises(TokenError, match=said) as raised:
                await subject(url, {"bearer": proof})
            assert "s3cret" not in str(raised.value)
            assert "wr0ng" not in str(raised.value)


async def test_a_certificate_belongs_to_the_connection(tmp_path: Path) -> None:
    """Alone, or together with a key; without a certificate, or with another one, the request is
    refused.
    """
    authority = Authority.at(tmp_path)
    certificates = MtlsAuthenticator(["127.0.0.1"], callers={"CN=ada": Identity("ada")})
    both = [{"mtls": [], "apiKey": []}]
    ada = authority.client("ada")
    eve = authority.client("eve")
    nobody = authority.client()
    for require, more in (([{"mtls": []}], {}), (both, {"apiKey": "k-1"})):
        with serve_guarded_agent(
            certificates, ApiKeyAuthenticator(KEYS), require=require
        ) as inside:
            async with tls_proxy(httpx.URL(inside).port or 0, authority) as url:
                assert await subject(url, {"mtls": ada, **more}) == "ada"
                for context in (eve, nobody):
                    with pytest.raises(UnauthenticatedError):
                        await subject(url, {"mtls": context, **more})
    with serve_guarded_agent(certificates, ApiKeyAuthenticator(KEYS), require=both) as inside:
        async with tls_proxy(httpx.URL(inside).port or 0, authority) as url:
            with pytest.raises(UnauthenticatedError):
                await subject(url, {"mtls": ada, "apiKey": "k-2"})
            said = {
                "X-SSL-Client-Verify": "SUCCESS",
                "X-SSL-Client-S-DN": "CN=ada",
            }  # the proxy takes away what clients say of themselves
            with pytest.raises(UnauthenticatedError):
                await subject(url, {"mtls": nobody, "apiKey": "k-1"}, ClientOptions(headers=said))


@pytest.mark.parametrize("pin", PINS, ids=lambda pin: f"{pin.dialect}-{pin.transport.value}")
async def test_the_card_for_known_callers_is_checked_like_the_public_one(pin: Pin) -> None:
    """A signature of a trusted key is required; another one is an error, or a warning if the client
    only warns.
    """
    ours = SigningKey.generate()
    theirs = SigningKey.generate()
    trust, mistrust = (TrustStore(keys_from_jwks([key.to_jwk()])) for key in (ours, theirs))
    with serve_guarded_agent(ApiKeyAuthenticator(KEYS), signer=CardSigner([ours])) as url:

        async def names(check: VerifiesCards | None) -> list[str]:
            async with A2AClient(
                url, auth={"apiKey": "k-1"}, options=ClientOptions(pin=pin, card_verifier=check)
            ) as client:
                return [skill.id for skill in (await client.get_extended_card()).skills]

        assert await names(CardVerifier(trust)) == await names(None) == ["who", "secret"]
        assert await names(ButTheFirst(CardVerifier(mistrust, required=False))) == ["who", "secret"]
        with pytest.raises(CardNotTrustedError):
            await names(ButTheFirst(CardVerifier(mistrust)))


async def test_cards_are_checked_where_keys_are_given() -> None:
    """A pinned key is enough; the wrong one is an error, and without keys nothing is checked."""
    ours = SigningKey.generate()
    theirs = SigningKey.generate()
    with serve_guarded_agent(ApiKeyAuthenticator(KEYS), signer=CardSigner([ours])) as url:

        async def name(*keys: SigningKey) -> str:
            public = (PyJWK(key.to_jwk(), key.algorithm).key for key in keys)
            pinned = tuple(
                each.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
                for each in public
            )
            async with A2AClient(url, options=ClientOptions(card_keys=pinned)) as client:
                return (await client.get_card()).name

        assert await name(ours) == await name(theirs, ours) == await name()
        with pytest.raises(CardNotTrustedError):
            await name(theirs)


class ButTheFirst:
    """Checks every card but the first: the public one."""

    def __init__(self, check: CardVerifier) -> None:
        self._check = check
        self._cards = 0

    async def verify(self, card: bytes, dialect: str, url: str) -> bytes:
        """Check a card."""
        self._cards += 1
        if self._cards == 1:
            return card
        return await self._check.verify(card, dialect, url)


async def test_credentials_stay_with_their_host() -> None:
    """A card that moved to another host is read there without our keys and headers, and never over
    plain HTTP after HTTPS.
    """
    seen: list[Mapping[str, str]] = []

    def elsewhere(call: WebhookRequest) -> WebhookResponse:
        seen.append(call.headers)
        return WebhookResponse(404)

    async with WebhookReceiver(elsewhere) as other:
        target = f"http://127.0.0.1:{other.port}/agent.json"
        async with WebhookReceiver(lambda _: WebhookResponse(302, {"location": target})) as first:
            options = ClientOptions(headers={"X-Own": "s3cret"})
            async with A2AClient(
                f"http://127.0.0.1:{first.port}/card.json", auth=HeaderKeyAuth(), options=options
            ) as client:
                with pytest.raises(CardNotFoundError):
                    await client.get_card()
            assert first.requests[0].headers["x-api-key"] == "k-1"
            assert first.requests[0].headers["x-own"] == "s3cret"
    assert [
        (each.get("x-api-key"), each.get("x-own"), each.get("authorization")) for each in seen
    ] == [(None, None, None)]


class HeaderKeyAuth(httpx.Auth):
    """Credentials that send a key in a header of their own with the first request."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the header."""
        request.headers["X-API-Key"] = "k-1"
        yield request


async def test_a_card_that_is_not_public_needs_credentials_that_it_does_not_choose() -> None:
    """One auth serves the card and the calls; among several, nothing could choose before the card
    is read, and the error says so.
    """
    agent = Agent("hidden")
    agent.add("x", lambda ctx: ctx.text)
    gate = AuthGate(ApiKeyAuthenticator({digest_key("k" * 32): Identity("ada")}))
    with serve_on_socket(
        create_app(Surface(agent, gate=gate, public_card=False), settings=FAST_SETTINGS)
    ) as server:
        url = str(server.base_url)
        async with A2AClient(url, auth=ApiKeyAuth("k" * 32)) as client:
            assert (await client.get_card()).name == "hidden"
            assert isinstance(await client.send("hi"), Task)
        async with A2AClient(url, auth={"apiKey": "k" * 32}) as client:
            with pytest.raises(
                MissingCredentialsError,
                match=r"card itself needs credentials.*pass the one for the card as auth=",
            ):
                await client.send("hi")
        async with A2AClient(url) as client:
            with pytest.raises(UnauthenticatedError):
                await client.send("hi")
