"""Guards of the command's explorer: its token, its host, other pages, and cards that lead
elsewhere.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import httpx
import pytest
from integration.features.explorer.documents import (
    CARD_PATH,
    build_card,
    build_full_card,
    serve_documents,
)
from integration.features.explorer.explorer_page import ExplorerPage, explore, find_text
from integration.outcome_agent import build_test_agent, serve_on_socket

from a2a_runtime.app import create_app
from a2a_runtime.client.options import ClientOptions
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

SECRET = "s3cr3t-of-the-command-line"  # noqa: S105 - of the test


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """An agent."""
    with serve_on_socket(create_app(Surface(build_test_agent()), settings=FAST_SETTINGS)) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def page(url: str) -> Iterator[ExplorerPage]:
    """The page of its explorer."""
    with explore(url) as page:
        yield page


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"x-a2a-explorer": ""}, id="no token"),
        pytest.param({"x-a2a-explorer": "other"}, id="another token"),
        pytest.param({"origin": "https://evil.example"}, id="another origin"),
        pytest.param({"origin": "null"}, id="an origin without a name"),
        pytest.param({"sec-fetch-site": "cross-site"}, id="another site"),
        pytest.param({"sec-fetch-site": "same-site"}, id="another port of this machine"),
        pytest.param({"host": "evil.example"}, id="another name for this machine"),
        pytest.param({"host": "127.0.0.1:1"}, id="another port"),
    ],
)
def test_only_the_page_may_call(page: ExplorerPage, headers: dict[str, str]) -> None:
    """Every other request is refused before anything is done."""
    given = {**page.headers, **headers}
    assert page.http.get("/explorer/api/agents", headers=given).status_code == 403
    assert (
        page.http.post(
            "/explorer/api/agents/0/operations/ListTasks", headers=given, json={"request": {}}
        ).status_code
        == 403
    )


def test_the_page_itself_needs_no_token(page: ExplorerPage) -> None:
    """It holds nothing; but a name that leads to this machine gets nothing at all."""
    assert page.http.get("/explorer/").status_code == 200
    assert page.http.get("/").headers["location"] == "/explorer/"
    assert page.http.get("/explorer/", headers={"host": "evil.example"}).status_code == 403
    assert page.http.get("/other").status_code == 404
    assert (
        "access-control-allow-origin"
        not in page.http.options(
            "/explorer/api/agents", headers={"origin": "https://evil.example"}
        ).headers
    )


NAVIGATION = {
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "document",
}


def test_an_issuer_leads_back_to_the_page(page: ExplorerPage) -> None:
    """A window may come from another site; it gets the page, and nothing below."""
    assert page.http.get("/explorer/?state=s&code=c", headers=NAVIGATION).status_code == 200
    assert page.http.get("/explorer/api/agents", headers=NAVIGATION).status_code == 403
    assert (
        page.http.get("/explorer/", headers={**NAVIGATION, "sec-fetch-dest": "iframe"}).status_code
        == 403
    )


def test_an_issuer_leads_back_to_the_page_of_an_app() -> None:
    """After sign-in, an issuer redirects to the page within the app."""
    settings = replace(FAST_SETTINGS, explorer=True)
    with serve_on_socket(create_app(Surface(build_test_agent()), settings=settings)) as http:
        assert http.get("/explorer/?state=s&code=c", headers=NAVIGATION).status_code == 200
        assert http.get("/explorer/api/agents", headers=NAVIGATION).status_code == 403


def test_credentials_stay_at_the_origin_of_the_agent() -> None:
    """A card that leads elsewhere gets neither those of the command line nor those of the visitor,
    unless the origin is trusted.
    """
    with serve_documents({}) as (elsewhere, there), serve_documents(documents := {}) as (url, _):
        documents["/.well-known/agent-card.json"] = build_card(elsewhere)
        with explore(url, auth=SECRET) as page:
            described = page.describe()
            assert "another origin" in described["findings"][0]["text"]
            error = page.send("hi")["error"]
            assert (error["name"], there) == ("UntrustedOriginError", [])
            assert "--trust" in error["cure"]
        with explore(url) as page:
            assert (
                page.with_credentials({"X-Key": SECRET}).send("hi")["error"]["name"]
                == "UntrustedOriginError"
            )
            assert there == []
        with explore(url, ClientOptions(trusted_origins=(elsewhere,)), auth=SECRET) as page:
            assert page.send("hi")["error"]["origin"] == "agent"
            assert there[0][1]["authorization"] == f"Bearer {SECRET}"


def test_documents_of_a_card_are_read_at_the_agent_only() -> None:
    """A card names schemas and keys; those at other origins are not requested."""
    with (
        serve_documents({"/schema.json": {}}) as (elsewhere, there),
        serve_documents(documents := {}) as (url, here),
    ):
        reference = {"id": "x", "sha256": "0" * 64, "url": f"{elsewhere}/schema.json"}
        params = {"skills": {"s": {"streaming": False, "input": reference}}}
        # jku: http://127.0.0.1:1/k
        header = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsiLCJqa3UiOiJodHRwOi8vMTI3LjAuMC4xOjEvayJ9"
        documents["/.well-known/agent-card.json"] = build_card(
            url,
            skills=[{"id": "s", "name": "s", "description": "d", "tags": []}],
            capabilities={
                "extensions": [{"uri": "urn:a2a-gen:ext:skill-schemas:1", "params": params}]
            },
            signatures=[{"protected": header, "signature": "AAAA"}],
        )
        with explore(url) as page:
            described = page.describe()
        assert there == []
        assert [path for path, _ in here] == ["/.well-known/agent-card.json"]
        assert described["skills"][0]["inputSchema"] is None
        assert described["signatures"][0]["status"] == "unknown-key"


def test_a_card_that_cannot_be_used_comes_with_what_is_wrong() -> None:
    """The page gets the text of an invalid card, and the place of each problem."""
    with serve_documents(documents := {}) as (url, _):
        card = build_card(url, skills=[{"id": 5, "name": "s", "description": "d", "tags": []}])
        documents["/.well-known/agent-card.json"] = card
        with explore(url) as page:
            described = page.describe()
            assert (described["card"], json.loads(described["raw"])) == (None, card)
            assert "skills[0].id" in {
                each["path"] for each in described["findings"] if each["level"] == "error"
            }
            assert page.send("hi")["error"]["name"] == "InvalidCardError"


def test_a_member_of_another_version_of_the_card_is_known() -> None:
    """One document is the card of two versions; a member that neither of them has is named with
    both.
    """
    members = {
        "url": "http://agent.example",
        "preferredTransport": "JSONRPC",
        "protocolVersion": "0.3.0",
        "colour": "red",
    }
    with serve_documents(documents := {}) as (url, _):
        card = build_full_card(url)
        for extra in ({"preferredTransport": "JSONRPC"}, members):
            documents[CARD_PATH] = {**card, **extra}
            with explore(url) as page:
                (finding,) = page.describe()["findings"]
            versions = "A2A 1.0 or A2A 0.3" if extra is members else "A2A 1.0"
            assert finding["text"] == f"not a member of {versions}: clients ignore it"


def test_findings_that_no_schema_can_say() -> None:
    """Ids that are there twice, schemes that are not there, empty descriptions, unknown members."""
    skill = {"id": "s", "name": "s", "description": " ", "tags": [], "inputmodes": []}
    with serve_documents(documents := {}) as (url, _):
        documents["/.well-known/agent-card.json"] = build_card(
            url,
            skills=[skill, skill],
            securityRequirements=[{"schemes": {"none": {"list": []}}}],
            colour="red",
        )
        with explore(url) as page:
            found = {(each["path"], each["level"]) for each in page.describe()["findings"]}
    assert found >= {
        ("skills[1].id", "error"),
        ("skills[0].description", "warning"),
        ("securityRequirements[0]", "error"),
        ("colour", "info"),
        ("skills[0].inputmodes", "info"),
    }


def test_credentials_that_would_change_the_request_are_refused(page: ExplorerPage) -> None:
    """A visitor enters credentials, and neither lines nor headers of the connection."""
    for headers in (
        {"Host": "evil.example"},
        {"X-Key": "a\r\nX-Other: b"},
        {"Content-Length": "0"},
        {"bad name": "x"},
    ):
        assert page.with_credentials(headers).get("agents").status_code == 400
    broken = ExplorerPage(page.http, "0", {**page.headers, "x-a2a-credentials": "%%%"})
    assert broken.get("agents").status_code == 400


def test_sizes_are_bounded(page: ExplorerPage) -> None:
    """A body that is larger than the limit is refused."""
    response = page.http.post(
        "/explorer/api/agents/0/operations/ListTasks",
        headers=page.headers,
        content=b" " * 32_000_001,
    )
    assert response.status_code == 413


def test_open_streams_are_bounded(page: ExplorerPage) -> None:
    """A visitor may take half of the 64 places: the 33rd open request is refused, and the place of
    one that ends is free again.
    """
    url = "/explorer/api/agents/0/streams/SendStreamingMessage"
    document = {"request": {"message": {"parts": [{"text": "x"}]}, "metadata": {"skillId": "wait"}}}
    with (
        httpx.Client(base_url=page.http.base_url, timeout=30, trust_env=False) as http,
        ExitStack() as streams,
    ):
        for _ in range(32):
            assert (
                streams.enter_context(
                    http.stream("POST", url, headers=page.headers, json=document)
                ).status_code
                == 200
            )
        assert page.get("agents").status_code == 429
    deadline = time.monotonic() + 30
    while page.get("agents").status_code != 200:
        assert time.monotonic() < deadline, "requests of a page that has gone away are still open"
        time.sleep(0.02)


def test_the_text_of_an_operation_reaches_the_agent(page: ExplorerPage) -> None:
    """The guards let the page itself through, also when a browser names it."""
    own = ExplorerPage(
        page.http,
        "0",
        {
            **page.headers,
            "origin": str(page.http.base_url).rstrip("/"),
            "sec-fetch-site": "same-origin",
        },
    )
    assert find_text(own.send("hi")["result"]) == "hi"
