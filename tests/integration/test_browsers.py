"""Browsers, which do for any page what it tells them to, with the cookies of whoever looks at it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conformance.security.guarded import guarded_agent
from litestar.testing import TestClient

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.jsonrpc import serialize_call
from a2a_contract.methods import METHODS
from a2a_contract.operations import SEND_MESSAGE
from a2a_contract.v1_0 import SendMessageRequest
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, KeyLocation, digest_key
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message

OWN, NAMED = "https://agent.example", "https://app.example"
MESSAGE = SendMessageRequest(message=build_user_message("x"))


def call(dialect: str) -> bytes:
    """Write a message as a call."""
    name, binding = next((name, each) for name, each in METHODS[dialect].items() if each.operation is SEND_MESSAGE)
    return serialize_call(name, "r-1", binding.encode_request(MESSAGE))


WRITES = {
    "1.0 JSON-RPC": ("/", call(V1_0.name)),
    "0.3 JSON-RPC": ("/", call(V0_3.name)),
    "HTTP+JSON": ("/message:send", MESSAGE.to_json()),
    "without a body": ("/tasks/nope:cancel", b""),
    "a skill": ("/skills/shout", b'"x"'),
}
PAGES = {
    "no browser": ({}, True),
    "its own": ({"sec-fetch-site": "same-origin", "origin": "https://inside.example"}, True),
    "its reader's doing": ({"sec-fetch-site": "none"}, True),
    "its own, in an old browser": ({"origin": "http://testserver.local"}, True),
    "its own, behind a proxy": ({"origin": OWN}, True),
    "named": ({"origin": NAMED, "sec-fetch-site": "cross-site"}, True),
    "another site": ({"sec-fetch-site": "cross-site"}, False),
    "a neighbour": ({"sec-fetch-site": "same-site", "origin": "https://other.agent.example"}, False),
    "another site, in an old browser": ({"origin": "https://evil.example"}, False),
    "another port": ({"origin": "http://testserver.local:81"}, False),
    "hidden": ({"origin": "null"}, False),
    "empty": ({"origin": ""}, False),
    "almost its own": ({"origin": f"{OWN}.evil.example"}, False),
}


@pytest.mark.parametrize(("said", "may"), PAGES.values(), ids=PAGES.keys())
@pytest.mark.parametrize(("path", "body"), WRITES.values(), ids=WRITES.keys())
def test_a_browser_does_nothing_here_for_pages_of_others(path: str, body: bytes, said: dict[str, str], may: bool) -> None:  # noqa: FBT001 - a table
    """Although it asks nobody before it sends a body without a type, or none at all; what reads, no foreign page can read the answer of."""
    gate = AuthGate(ApiKeyAuthenticator({digest_key("k"): Identity("ada")}, name="sid", location=KeyLocation.COOKIE))
    surface = Surface(guarded_agent(), gate=gate, public_url=OWN)
    with TestClient(create_app(surface, store="memory", settings=replace(FAST_SETTINGS, cors_origins=(NAMED,)))) as client:
        headers = {"cookie": "sid=k", "a2a-version": "1.0" if path.startswith(("/message", "/tasks")) else "", **said}
        answer = client.post(path, content=body, headers=headers)
        assert (answer.status_code == 403) is not may
        assert ("Pages of other origins" in answer.text) is not may
        assert client.get("/tasks", headers=headers).status_code == 200


def test_every_page_may_where_every_page_is_named() -> None:
    """The operator was warned."""
    with TestClient(create_app(guarded_agent(), store="memory", settings=replace(FAST_SETTINGS, cors_origins=("*",)))) as client:
        assert client.post("/", content=call(V1_0.name), headers={"origin": "https://any.example", "sec-fetch-site": "cross-site"}).is_success
