"""Fuzzed requests: never a 500, a traceback or a file path, and always a response in the right
format.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from integration.outcome_agent import build_test_agent, build_test_app
from litestar.testing import TestClient

from a2a_contract.dialects import EXTENSIONS, MESH, V0_3, V1_0, VERSION
from a2a_contract.methods import METHODS
from a2a_contract.paths import PATHS
from a2a_runtime.surface import Limits, Surface

LIMIT = 200_000
SUPPORTED = frozenset((V1_0.name, V0_3.name, MESH.name))
CALLS = sorted({method for table in METHODS.values() for method in table})
TEMPLATES = sorted({route.path for routes in PATHS.values() for route in routes})
SECRETS = ("Traceback", ".py", "site-packages", "pydantic", "litestar", "asyncio")

WORDS = st.sampled_from(
    [
        "id",
        "message",
        "parts",
        "text",
        "kind",
        "role",
        "taskId",
        "contextId",
        "messageId",
        "configuration",
        "historyLength",
        "name",
        "url",
        "data",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.sampled_from(["user", "ROLE_USER", "text", "x" * 5000]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=25,
)
DEEP = st.integers(2, 50_000).map(lambda depth: b"[" * depth) | st.integers(2, 20_000).map(
    lambda depth: b'{"message":' * depth + b"1" + b"}" * depth
)
RAW = (
    st.binary(max_size=200)
    | DEEP
    | st.sampled_from(
        [
            b"\xff\xfe",
            b"\xed\xa0\x80",
            b"NaN",
            b"1e999",
            b'"\\ud800"',
            b"1" * 5000,
            b'{"a":1}{"a":2}',
            b"\x00",
        ]
    )
)
IDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12) | st.sampled_from(
    [":cancel", "a:b:cancel", "..", "%2e", "a/b", "\u2028", "x" * 3000]
)
HEADERS = st.dictionaries(
    st.sampled_from(
        [
            *VERSION.headers,
            *EXTENSIONS.headers,
            "Last-Event-ID",
            "Idempotency-Key",
            "Accept",
            "If-None-Match",
            "If-Modified-Since",
            "Cookie",
        ]
    ),
    st.text(
        st.characters(codec="latin-1", min_codepoint=32, exclude_characters="\x7f"), max_size=30
    ).map(str.strip)
    | st.sampled_from(["1.0", "0.3", "9.9", "3", "*", "Thu, 99 Foo 2020", ","]),
    max_size=3,
)


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of an agent with all dialects."""
    with TestClient(
        build_test_app(
            Surface(
                build_test_agent(),
                dialects=SUPPORTED,
                limits=Limits(body_bytes=LIMIT),
                only=frozenset(("echo",)),
            )
        )
    ) as client:
        yield client


def send_request(
    client: httpx.Client,
    method: str,
    path: str,
    body: bytes | None,
    headers: Mapping[str, str],
    query: str = "",
) -> httpx.Response:
    """Send a request, and check the invariants of every response."""
    sent = {
        name: value.encode("latin-1")
        for name, value in {"content-type": "application/json", **headers}.items()
    }
    response = client.request(
        method,
        httpx.URL(f"http://testserver.local{path}" + (f"?{query}" if query else "")),
        content=body,
        headers=sent,
    )
    assert response.status_code != 500, response.text
    assert response.status_code < 502
    text = response.text
    said = f"{path}{query}{(body or b'').decode('utf-8', 'replace')}{headers}"
    assert not [secret for secret in SECRETS if secret in text and secret not in said], text
    if method != "HEAD" and response.headers.get("content-type", "").endswith("json"):
        json.loads(text)
    return response


@given(body=RAW, headers=HEADERS)
def test_any_bytes_at_the_endpoint(
    client: httpx.Client, body: bytes, headers: dict[str, str]
) -> None:
    """The response has one of the JSON-RPC error codes."""
    answer = send_request(client, "POST", "/", body, headers).json()
    assert answer["error"]["code"] in {-32700, -32600, -32601, -32602, -32009}


@given(
    method=st.sampled_from(CALLS) | st.text(max_size=8),
    params=VALUES,
    call_id=VALUES,
    headers=HEADERS,
)
def test_any_params_of_any_method(
    client: httpx.Client, method: str, params: object, call_id: object, headers: dict[str, str]
) -> None:
    """The response has either a result or an error."""
    response = send_request(
        client,
        "POST",
        "/",
        dumps({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}),
        headers,
    )
    if response.headers["content-type"] == "application/json":
        assert ("result" in response.json()) is not ("error" in response.json())


@given(
    template=st.sampled_from(TEMPLATES),
    method=st.sampled_from(["GET", "POST", "DELETE", "PUT", "HEAD", "OPTIONS"]),
    data=st.data(),
)
def test_anything_at_any_path(
    client: httpx.Client, template: str, method: str, data: st.DataObject
) -> None:
    """Any path, query, headers and body get a response."""
    path = "".join(
        quote(data.draw(IDS), safe="") if piece.endswith(":str") else piece
        for piece in template.replace("{", "}").split("}")
    )
    verb = (
        data.draw(st.sampled_from(["", "", ":cancel", ":subscribe", ":nothing"]))
        if template.endswith("}")
        else ""
    )
    body = data.draw(RAW | VALUES.map(dumps)) if method in {"POST", "PUT"} else None
    query = data.draw(
        st.text(
            st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#"), max_size=40
        )
    )
    send_request(client, method, path + verb, body, data.draw(HEADERS), query)


@given(
    headers=HEADERS,
    host=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20),
)
def test_anything_about_a_card(client: httpx.Client, headers: dict[str, str], host: str) -> None:
    """The response is the card, 304 or an error."""
    assert send_request(
        client, "GET", "/.well-known/agent-card.json", None, {**headers, "Host": host}
    ).status_code in {200, 304, 400}


@pytest.mark.parametrize("path", ["/", "/message:send", "/v1/message:send", "/tasks/x:cancel"])
@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":['
        + b"1," * 60_000
        + b"1]}}}",
        b'{"message":{"messageId":"m","role":"ROLE_USER","parts":[' + b"{}," * 40_000 + b"{}]}}",
        b"[" * 150_000,
        b'{"a":' * 30_000,
        b'{"id":' + b"9" * 150_000 + b"}",
        b"\xff" * 150_000,
    ],
    ids=["numbers", "objects", "lists", "nested", "digits", "bytes"],
)
def test_a_huge_body_is_refused_quickly(client: httpx.Client, path: str, body: bytes) -> None:
    """The response stays small, however many errors there are."""
    began = time.process_time()
    response = send_request(client, "POST", path, body, {})
    assert len(response.content) < 50_000
    assert (
        time.process_time() - began < 3
    )  # of this process, which is the server too, whatever else the machine does


def dumps(value: object) -> bytes:
    """Serialize JSON as clients do."""
    return json.dumps(value).encode()
