"""Responses of a registry."""

from __future__ import annotations

import gzip
from contextlib import aclosing

import httpx
import pytest

from a2a_runtime.heartbeat.loop import RegistryClient
from a2a_runtime.heartbeat.schedule import HeartbeatResult

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx.Response(200, headers={"content-encoding": "gzip"}, content=gzip.compress(b" " * 5_000_000)), "compressed"),
        (httpx.Response(200, content=b" " * 2_000_000), "too large"),
    ],
    ids=["compressed", "large"],
)
async def test_large_and_compressed_responses_are_rejected(answer: httpx.Response, said: str) -> None:
    """A response is read uncompressed up to 1 MiB; any other counts as unavailable."""
    encodings = list[str]()

    async def answered(request: httpx.Request) -> httpx.Response:
        encodings.append(request.headers["accept-encoding"])
        return answer

    async with aclosing(RegistryClient("http://registry", httpx.MockTransport(answered))) as registry:
        response = await registry.renew("an-agent")
    assert (response.result, said in response.reason) == (HeartbeatResult.UNAVAILABLE, True)
    assert encodings == ["identity"]
