"""Masks of secrets in records of the wire."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_contract.errors import InvalidRequestError
from a2a_runtime.features.asgi_transport import StreamingAsgiTransport
from a2a_runtime.features.explorer.visitor import VisitorCredentials
from a2a_runtime.features.explorer.wire import MASK, Masker, WireRecorder

SECRET = "abc/def+ghi=="  # noqa: S105 - of the test


@pytest.mark.parametrize(
    ("name", "value", "masked"),
    [
        ("Authorization", "Bearer abcdef", f"Bearer {MASK}"),
        ("Authorization", "abcdef", MASK),
        ("Cookie", "a=b; c=d", MASK),
        ("Set-Cookie", "a=b", MASK),
        ("X-Api-Key", "abcdef", MASK),
        ("X-Custom", "abcdef", MASK),
        ("X-Other", f"before {SECRET} after", f"before {MASK} after"),
        ("Content-Type", "application/json", "application/json"),
    ],
)
def test_headers(name: str, value: str, masked: str) -> None:
    """Names decide, those that the visitor has used too, and values that are known."""
    assert Masker([SECRET], ["x-custom"]).mask_header(name, value) == masked


def test_urls() -> None:
    """A secret is masked in its spelling of URLs, and so are parameters whose names say what they
    are.
    """
    masker = Masker([SECRET], ["own"])
    url = str(
        httpx.URL(
            "https://agent.example/a", params={"x": SECRET, "own": "1", "code": "2", "page": "3"}
        )
    )
    masked = httpx.URL(masker.mask_url(url)).params
    assert (masked["x"], masked["own"], masked["code"], masked["page"]) == (MASK, MASK, MASK, "3")


def test_bodies() -> None:
    """Tokens in JSON and in forms."""
    assert (
        Masker().mask_text('{"access_token": "a\\"b", "tokens": "c"}')
        == f'{{"access_token": "{MASK}", "tokens": "c"}}'
    )
    assert (
        Masker().mask_form("grant_type=x&code=y&code_verifier=z")
        == f"grant_type=x&code={MASK}&code_verifier={MASK}"
    )


@given(st.text(min_size=4, max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_a_known_secret_is_in_no_text(secret: str, before: str, after: str) -> None:
    """A known secret is masked in every text of a recorded exchange."""
    assert secret not in Masker([secret]).mask_text(before + secret + after).replace(MASK, "")


@pytest.mark.parametrize(
    "header", ["e30", "eyJoZWFkZXJzIjogW119", "W10", "!", "eyJxdWVyeSI6IHsiYSI6IDF9fQ"]
)
def test_credentials_of_a_visitor_are_read_or_refused(header: str) -> None:
    """Everything but an object of texts is an error."""
    if header == "e30":
        assert VisitorCredentials.parse(header) == VisitorCredentials()
    else:
        with pytest.raises(InvalidRequestError, match="x-a2a-credentials"):
            VisitorCredentials.parse(header)


@pytest.mark.anyio
async def test_a_body_is_kept_up_to_a_limit() -> None:
    """The rest is passed on, and the record says so."""

    async def app(_scope: object, _receive: object, send: Any) -> None:  # noqa: ANN401 - of ASGI
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": False})

    recorder = WireRecorder(Masker())
    async with httpx.AsyncClient(
        transport=StreamingAsgiTransport(app, lambda _: {}), event_hooks=recorder.hooks
    ) as http:  # type: ignore[arg-type, return-value, typeddict-item]
        response = await http.get("http://agent.example")
    (exchange,) = recorder.exchanges
    assert (
        len(response.content),
        len(exchange.response_body),
        exchange.is_truncated,
        exchange.status,
    ) == (1_000_000, 262_144, True, 200)
