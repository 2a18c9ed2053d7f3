"""Finding a card, and keeping it as long as HTTP says."""

from __future__ import annotations

from collections.abc import Mapping

import httpx
import pytest
from pydantic_core import to_json

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.errors import UnauthenticatedError
from a2a_runtime.client.auth import BearerAuth
from a2a_runtime.client.card_resolver import CardResolver
from a2a_runtime.client.client import A2AClient
from a2a_runtime.client.errors import (
    CardNotFoundError,
    ConnectError,
    DiscoveryError,
    InvalidCardError,
    ResponseTooLargeError,
    UnexpectedStatusError,
    UntrustedOriginError,
)
from a2a_runtime.client.options import ClientOptions, ResponseLimits, RetryPolicy
from a2a_runtime.client.transport import HttpTransport

pytestmark = pytest.mark.anyio


def new_card(url: str = "http://agent/rpc", name: str = "new") -> bytes:
    """Write a card of 1.0."""
    interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    return to_json(
        {
            "name": name,
            "description": "",
            "version": "1",
            "capabilities": {},
            "supportedInterfaces": [interface],
            "skills": [],
        }
    )


OLD_CARD = to_json(
    {
        "name": "old",
        "description": "",
        "version": "1",
        "url": "http://agent/old",
        "capabilities": {},
        "skills": [],
        "protocolVersion": "0.3.0",
    }
)
SNAKE_CARD = OLD_CARD.replace(b"protocolVersion", b"protocol_version")
WELL_KNOWN = "/.well-known/agent-card.json"
OLDER = "/.well-known/agent.json"


class Clock:
    """A clock that is moved by hand, on which waiting takes no time."""

    now = 0.0

    def millis(self) -> int:
        """Say the time."""
        return int(self.now * 1000)

    def monotonic(self) -> float:
        """Say the time."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Do not wait."""


class Host:
    """A host with some files, which records its requests."""

    def __init__(
        self, files: Mapping[str, bytes | int], headers: Mapping[str, str] | None = None
    ) -> None:
        self.files = dict(files)
        self.headers = dict(headers or {})
        self.requests: list[tuple[str, str | None]] = []
        self.clock = Clock()
        self.is_up = True

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Give a file, or say that it has not changed."""
        self.requests.append((request.url.path, request.headers.get("if-none-match")))
        if not self.is_up:
            raise httpx.ConnectError("down")
        found = self.files.get(request.url.path, 404)
        if isinstance(found, int):
            return httpx.Response(
                found, headers={"location": "/elsewhere.json"} if found == 302 else {}
            )
        if "etag" in self.headers and request.headers.get("if-none-match") == self.headers["etag"]:
            return httpx.Response(304, headers=self.headers)
        return httpx.Response(200, content=found, headers=self.headers)

    def source(
        self, url: str = "http://agent", limits: ResponseLimits | None = None
    ) -> CardResolver:
        """Look for the card of the agent at a URL."""
        options = ClientOptions(
            clock=self.clock,
            retry_policy=RetryPolicy(attempts=1),
            limits=limits or ResponseLimits(),
        )
        return CardResolver(
            url,
            HttpTransport(
                httpx.AsyncClient(transport=httpx.MockTransport(self.answer)), options, 5.0
            ),
            options,
            {},
        )


FOUND: dict[str, tuple[Host, str, str, str]] = {
    "where it belongs": (Host({WELL_KNOWN: new_card()}), "http://agent", "new", WELL_KNOWN),
    "with a slash": (Host({WELL_KNOWN: new_card()}), "http://agent/", "new", WELL_KNOWN),
    "where it used to be": (Host({OLDER: OLD_CARD}), "http://agent", "old", OLDER),
    "in the names of Python": (Host({WELL_KNOWN: SNAKE_CARD}), "http://agent", "old", WELL_KNOWN),
    "below the agent": (
        Host({f"/a{WELL_KNOWN}": new_card()}),
        "http://agent/a",
        "new",
        f"/a{WELL_KNOWN}",
    ),
    "at the root, for the agent's endpoint": (
        Host({WELL_KNOWN: new_card()}),
        "http://agent/rpc/",
        "new",
        WELL_KNOWN,
    ),
    "its own URL": (
        Host({"/cards/mine.json": new_card()}),
        "http://agent/cards/mine.json",
        "new",
        "/cards/mine.json",
    ),
    "after a redirect": (
        Host({WELL_KNOWN: 302, "/elsewhere.json": new_card()}),
        "http://agent",
        "new",
        "/elsewhere.json",
    ),
    "not allowed at the first place": (
        Host({WELL_KNOWN: 405, OLDER: OLD_CARD}),
        "http://agent",
        "old",
        OLDER,
    ),
}


@pytest.mark.parametrize(("host", "url", "name", "path"), FOUND.values(), ids=FOUND.keys())
async def test_cards_are_found(host: Host, url: str, name: str, path: str) -> None:
    """At every place and in every form in which agents have them."""
    found = await host.source(url).get()
    assert found.card.name == name
    assert found.dialect is (V1_0 if name == "new" else V0_3)
    assert found.url == f"http://agent{path}"


MISSING: dict[str, tuple[Host, str, type[Exception], str]] = {
    "nowhere": (
        Host({}),
        "http://agent/a",
        CardNotFoundError,
        "agent/a/.well-known/agent-card.json",
    ),
    "another agent's at the root": (
        Host({WELL_KNOWN: new_card("http://agent/other")}),
        "http://agent/a",
        CardNotFoundError,
        (
            r"agent/.well-known/agent-card.json \(a card of an agent at other URLs\), .*; "
            r"check the URL"
        ),
    ),
    "no URL": (Host({}), "agent.example.com", CardNotFoundError, "begin it with https"),
    "a web page": (
        Host({WELL_KNOWN: b"<html>"}),
        "http://agent",
        InvalidCardError,
        "not a usable agent card",
    ),
    "a card with much that is wrong": (
        Host({WELL_KNOWN: b'{"name": 5, "supportedInterfaces": 7}'}),
        "http://agent",
        InvalidCardError,
        (
            r"\(name: Input should be a valid string; "
            r"supportedInterfaces: Input should be a valid array; "
            r"capabilities: Field required\); pass"
        ),
    ),
    "other JSON": (
        Host({WELL_KNOWN: b"{}"}),
        "http://agent",
        InvalidCardError,
        "not a usable agent card",
    ),
    "a card without an address": (
        Host({WELL_KNOWN: new_card("")}),
        "http://agent",
        InvalidCardError,
        "not a usable agent card",
    ),
    "only for those who are known": (
        Host({WELL_KNOWN: 401, OLDER: 401}),
        "http://agent",
        UnauthenticatedError,
        "Authentication",
    ),
    "broken": (Host({WELL_KNOWN: 500, OLDER: 404}), "http://agent", UnexpectedStatusError, "500"),
    "too large": (
        Host({WELL_KNOWN: new_card() + b" " * 2000}),
        "http://agent",
        ResponseTooLargeError,
        "1000 bytes",
    ),
}


@pytest.mark.parametrize(("host", "url", "kind", "text"), MISSING.values(), ids=MISSING.keys())
async def test_there_may_be_none(host: Host, url: str, kind: type[Exception], text: str) -> None:
    """The error says where was looked, and what was there."""
    with pytest.raises(kind, match=text):
        await host.source(url, ResponseLimits(card_bytes=1000)).get()


async def test_an_unreachable_host_is_no_missing_card() -> None:
    """The host may have a card, so the error is another one."""
    host = Host({})
    host.is_up = False
    with pytest.raises(ConnectError):
        await host.source().get()
    assert not issubclass(ConnectError, DiscoveryError)


AGES: dict[str, tuple[dict[str, str], float]] = {
    "as long as it says": ({"cache-control": "public, max-age=60"}, 60.0),
    "less the time that it has spent on the way": (
        {"cache-control": "max-age=60", "age": "20"},
        40.0,
    ),
    "not at all": ({"cache-control": "no-cache, max-age=60"}, 0.0),
    "by default": ({}, 300.0),
    "by default, where it is nonsense": ({"cache-control": "max-age=soon"}, 300.0),
}


@pytest.mark.parametrize(("headers", "age"), AGES.values(), ids=AGES.keys())
async def test_a_card_is_kept_while_it_is_good(headers: dict[str, str], age: float) -> None:
    """It is neither requested too early nor too late."""
    host = Host({WELL_KNOWN: new_card()}, headers)
    source = host.source()
    await source.get()
    host.clock.now = max(age - 0.1, 0.0)
    await source.get()
    assert len(host.requests) == (1 if age else 2)
    host.clock.now = age
    await source.get()
    assert len(host.requests) == (2 if age else 3)


async def test_a_card_that_has_not_changed_is_not_sent_again() -> None:
    """The agent is calls which one is there; the same object says that it is the same card."""
    host = Host({WELL_KNOWN: new_card()}, {"etag": '"1"', "cache-control": "max-age=10"})
    source = host.source()
    first = await source.get()
    assert await source.get(refresh=True) is first
    host.clock.now = 15.0
    assert await source.get() is first
    assert host.requests == [(WELL_KNOWN, None), (WELL_KNOWN, '"1"'), (WELL_KNOWN, '"1"')]
    host.headers["etag"] = '"2"'
    host.files[WELL_KNOWN] = new_card(name="changed")
    assert (await source.get(refresh=True)).card.name == "changed"


async def test_an_old_card_is_better_than_none() -> None:
    """While the agent is unreachable its last card is used; a forced refresh raises the reason."""
    host = Host({WELL_KNOWN: new_card()})
    source = host.source()
    first = await source.get()
    host.is_up = False
    host.clock.now = 301.0
    assert await source.get() is first
    with pytest.raises(ConnectError):
        await source.get(refresh=True)


async def test_a_card_may_move() -> None:
    """A card that is gone from its path is looked for at the other paths."""
    host = Host({WELL_KNOWN: new_card()})
    source = host.source()
    await source.get()
    host.files = {OLDER: OLD_CARD}
    assert (await source.get(refresh=True)).card.name == "old"


SECRETS = {
    "proof": (BearerAuth("hush"), ClientOptions()),
    "header": (None, ClientOptions(headers={"X-Extra": "hush"})),
    "an origin that is ours": (
        BearerAuth("hush"),
        ClientOptions(trusted_origins=("http://other/",)),
    ),
    "no secret": (None, ClientOptions()),
}


@pytest.mark.parametrize(("auth", "options"), SECRETS.values(), ids=SECRETS)
async def test_credentials_are_not_sent_to_an_untrusted_origin(
    auth: httpx.Auth | None, options: ClientOptions
) -> None:
    """A card that names another origin is refused unless the client trusts that one; the error says
    how to trust it.
    """
    calls: list[tuple[str, bool]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        calls.append((request.url.host, "hush" in str(request.headers.raw)))
        if request.method == "GET":
            return httpx.Response(200, content=new_card("http://other/rpc"))
        return httpx.Response(404)

    async with A2AClient(
        "http://agent", auth=auth, options=options, transport=httpx.MockTransport(answer)
    ) as client:
        is_secret = auth is not None or bool(options.headers)
        if is_secret and not options.trusted_origins:
            with pytest.raises(UntrustedOriginError, match=r"origins=\('http://other',\)"):
                await client.get("t")
            assert calls == [("agent", True)]
        else:
            with pytest.raises(UnexpectedStatusError):
                await client.get("t")
            assert calls == [("agent", is_secret), ("other", is_secret)]
