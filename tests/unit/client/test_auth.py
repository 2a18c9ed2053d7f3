"""Proofs that a client shows, and how it chooses among them."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import parse_qs

import httpx
import pytest

from a2a_contract.v1_0 import (
    AgentCapabilities,
    AgentCard,
    APIKeySecurityScheme,
    HTTPAuthSecurityScheme,
    MutualTlsSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a_runtime.client import A2AClient, ClientOptions
from a2a_runtime.client.auth import ApiKeyAuth, CardAuth, Credential, choose_auth
from a2a_runtime.client.errors import MissingCredentialsError, TokenError
from a2a_runtime.client.oauth import ClientCredentials

pytestmark = pytest.mark.anyio

TOKENS = "https://id.example/token"
AGENT = "https://agent.example/"


class World:
    """An authorization server and an agent behind one transport."""

    def __init__(self, life: object = 3600) -> None:
        self.life = life
        self.given = 0
        self.good = ""
        self.now = 0.0
        self.requests: list[httpx.Request] = []
        self.auth = ClientCredentials(
            TOKENS, "me", "s3cret", scopes=["a", "b"], now=lambda: self.now
        )

    async def answer(self, request: httpx.Request) -> httpx.Response:
        """Give a token, or look at one."""
        await asyncio.sleep(0)
        if request.url == TOKENS:
            self.requests.append(request)
            self.given += 1
            self.good = f"t-{self.given}"
            return httpx.Response(
                200,
                json={"access_token": self.good, "token_type": "Bearer", "expires_in": self.life},
            )
        return httpx.Response(
            200 if request.headers.get("authorization") == f"Bearer {self.good}" else 401
        )

    def client(self, auth: httpx.Auth | None = None) -> httpx.AsyncClient:
        """Make a client of this world."""
        return httpx.AsyncClient(transport=httpx.MockTransport(self.answer), auth=auth or self.auth)


async def test_one_token_is_for_all_requests() -> None:
    """It is requested once, with our name and secret in the header, and the scopes in the form."""
    world = World()
    async with world.client() as client:
        answers = await asyncio.gather(*(client.get(AGENT) for _ in range(10)))
    assert {each.status_code for each in answers} == {200}
    (request,) = world.requests
    assert request.headers["authorization"] == "Basic " + b64encode(b"me:s3cret").decode()
    assert parse_qs(request.content.decode()) == {
        "grant_type": ["client_credentials"],
        "scope": ["a b"],
    }


@pytest.mark.parametrize(
    ("life", "after", "count"),
    [(3600, 3500, 1), (3600, 3571, 2), (10, 6, 2), (None, 200, 1), ("x", 400, 2)],
)
async def test_a_token_is_renewed_before_it_runs_out(
    life: object, after: float, count: int
) -> None:
    """Renewal is 30 s before the end, or at half of a short life; after five minutes if the
    lifetime is unknown.
    """
    world = World(life)
    async with world.client() as client:
        await client.get(AGENT)
        world.now = after
        assert (await client.get(AGENT)).status_code == 200
    assert world.given == count


async def test_a_token_that_was_taken_back_is_replaced_once() -> None:
    """Concurrent requests share one refresh; if the agent refuses every token, refreshes end."""
    world = World()
    async with world.client() as client:
        await client.get(AGENT)
        world.good = "another"
        answers = await asyncio.gather(*(client.get(AGENT) for _ in range(10)))
        assert {each.status_code for each in answers} == {200}
        assert world.given == 2


REFUSALS: dict[str, tuple[Callable[[], httpx.Response], str]] = {
    "refused": (lambda: httpx.Response(400, json={"error": "invalid_client"}), "invalid_client"),
    "broken": (lambda: httpx.Response(500, text="oops"), "500"),
    "no token": (lambda: httpx.Response(200, json=[]), "200"),
    "empty token": (lambda: httpx.Response(200, json={"access_token": ""}), "200"),
}


@pytest.mark.parametrize(("answer", "said"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_server_without_a_token_is_an_error(
    answer: Callable[[], httpx.Response], said: str
) -> None:
    """The error has the reason of the server, without our secret."""
    async with httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: answer()), auth=World().auth
    ) as client:
        with pytest.raises(TokenError, match=said) as raised:
            await client.get(AGENT)
    assert "s3cret" not in str(raised.value)


def test_secrets_are_not_sent_in_the_open() -> None:
    """Secrets are neither sent over plain HTTP nor shown in a repr."""
    with pytest.raises(ValueError, match="https only"):
        ClientCredentials("http://id.example/token", "me", "s3cret")
    assert "s3cret" not in repr(World().auth) + repr(ApiKeyAuth("s3cret"))


@pytest.mark.parametrize(
    ("place", "seen"),
    [
        ("header", lambda request: request.headers["X-K"]),
        ("query", lambda request: request.url.params["X-K"]),
        ("cookie", lambda request: request.headers["cookie"].removeprefix("a=b; X-K=")),
    ],
)
def test_a_key_goes_where_the_card_says(place: str, seen: Callable[[httpx.Request], str]) -> None:
    """Other parameters of the request stay."""
    request = httpx.Request("GET", f"{AGENT}?a=b", headers={"cookie": "a=b"})
    authorized = next(ApiKeyAuth("k", "X-K", place).auth_flow(request))
    assert seen(authorized) == "k"
    assert authorized.url.params["a"] == "b"


SCHEMES = {
    "bearer": SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer")),
    "key": SecurityScheme(
        api_key_security_scheme=APIKeySecurityScheme(location="header", name="X-K")
    ),
    "basic": SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Basic")),
    "mtls": SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme()),
}


def card(*required: Sequence[str]) -> AgentCard:
    """Make a card that asks for something."""
    listed = [
        SecurityRequirement(schemes={name: StringList() for name in names}) for names in required
    ]
    return AgentCard(
        name="x",
        capabilities=AgentCapabilities(),
        security_schemes=SCHEMES,
        security_requirements=listed or None,
    )


CHOICES: dict[str, tuple[AgentCard, Mapping[str, Credential], dict[str, str]]] = {
    "the only one": (card(["bearer"]), {"bearer": "t"}, {"authorization": "Bearer t"}),
    "the first that is there": (card(["bearer"], ["key"]), {"key": "k"}, {"x-k": "k"}),
    "a name and a password": (
        card(["basic"]),
        {"basic": ("a", "b")},
        {"authorization": "Basic YTpi"},
    ),
    "both at once": (
        card(["bearer", "key"]),
        {"bearer": "t", "key": "k"},
        {"authorization": "Bearer t", "x-k": "k"},
    ),
    "rather than anonymous": (card([], ["key"]), {"key": "k"}, {"x-k": "k"}),
    "anonymous": (card([], ["key"]), {}, {}),
    "nothing is required": (card(), {"key": "k"}, {}),
}


@pytest.mark.parametrize(("asking", "proofs", "headers"), CHOICES.values(), ids=CHOICES.keys())
async def test_a_card_chooses_among_our_proofs(
    asking: AgentCard, proofs: Mapping[str, Credential], headers: dict[str, str]
) -> None:
    """By the names of its schemes, and is shown no other one."""
    async with httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(200)),
        auth=choose_auth(asking, proofs),
    ) as client:
        sent = (await client.get(AGENT)).request.headers
    assert {
        name: value for name, value in sent.items() if name in {"authorization", "x-k"}
    } == headers


async def test_a_key_goes_with_a_token_from_a_server() -> None:
    """A request has a key and a token where the card requires both."""
    world = World()
    async with world.client(
        choose_auth(card(["bearer", "key"]), {"bearer": world.auth, "key": "k"})
    ) as client:
        answer = await client.get(AGENT)
    assert (answer.status_code, answer.request.headers["x-k"]) == (200, "k")
    assert "x-k" not in world.requests[0].headers


def test_missing_credentials_are_an_error() -> None:
    """The error names the schemes of the card and the credentials of the client."""
    with pytest.raises(
        MissingCredentialsError,
        match="requires bearer with key or basic; given are credentials for key",
    ):
        choose_auth(card(["bearer", "key"], ["basic"]), {"key": "k"})


WRONG_KINDS: dict[str, tuple[str, Credential, str]] = {
    "a text for a name and password": (
        "basic",
        "s3cret",
        "basic: wrong kind of credentials; pass a \\(name, password\\) tuple",
    ),
    "a name and password for a token": (
        "bearer",
        ("ada", "s3cret"),
        "bearer: wrong kind of credentials; pass a str",
    ),
    "a text for a certificate": (
        "mtls",
        "s3cret",
        "mtls: wrong kind of credentials; pass an ssl.SSLContext",
    ),
}


@pytest.mark.parametrize(("scheme", "proof", "said"), WRONG_KINDS.values(), ids=WRONG_KINDS.keys())
def test_credentials_of_another_kind_are_not_sent(
    scheme: str, proof: Credential, said: str
) -> None:
    """They would expose a secret in the wrong place; the error names the kind that the scheme
    takes, without the secret.
    """
    with pytest.raises(MissingCredentialsError, match=said) as raised:
        choose_auth(card([scheme]), {scheme: proof})
    assert "s3cret" not in str(raised.value)


def test_without_a_card_nothing_is_chosen() -> None:
    """A client with an interface URL sends its one credential; the error text does not contain
    it.
    """
    with pytest.raises(ValueError, match="credentials by scheme name need a card"):
        A2AClient(AGENT, auth={"bearer": "s3cret"}, options=ClientOptions(interface_url=AGENT))
    assert repr(CardAuth({"bearer": "s3cret"})) == "CardAuth(bearer)"


async def test_a_card_moves_no_token_into_a_url() -> None:
    """A string that a card wants in the query is refused: who gave it may have meant a bearer
    token. A key that is said to be one is sent.
    """
    key = SecurityScheme(api_key_security_scheme=APIKeySecurityScheme(location="query", name="log"))
    asking = card(["bearer"]).model_copy(update={"security_schemes": {"bearer": key}})
    with pytest.raises(MissingCredentialsError, match="pass ApiKeyAuth"):
        choose_auth(asking, {"bearer": "hush"})
    assert choose_auth(asking, {"bearer": ApiKeyAuth("k", "log", "query")}) is not None
