"""Arbitrary requests: a gate admits or rejects them, without any other error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_contract.errors import AccessError
from a2a_runtime.auth.authentication import Credentials, Identity
from a2a_runtime.auth.authenticators import (
    ApiKeyAuthenticator,
    KeyLocation,
    MtlsAuthenticator,
    digest_key,
)
from a2a_runtime.auth.gate import AuthGate, Gate, PresenceGate
from a2a_runtime.base.caller import Caller
from a2a_runtime.features.keys.jwt_tokens import JwtAuthenticator
from a2a_runtime.testing.token_issuer import TokenIssuer

pytestmark = pytest.mark.anyio

ISSUER = TokenIssuer()
KEY = {digest_key("k"): Identity("ada")}
GATES: dict[str, Gate] = {
    "checkpoint": AuthGate(
        JwtAuthenticator(ISSUER.keys(), ISSUER.validation()),
        ApiKeyAuthenticator(KEY),
        ApiKeyAuthenticator(KEY, "key", KeyLocation.QUERY, scheme="query"),
        ApiKeyAuthenticator(KEY, "key", KeyLocation.COOKIE, scheme="cookie"),
        MtlsAuthenticator(["192.0.2.1"]),
    ),
    "presence": PresenceGate(),
}
NAMES = st.sampled_from(
    [
        b"authorization",
        b"x-api-key",
        b"cookie",
        b"x-ssl-client-verify",
        b"x-ssl-client-s-dn",
        b"host",
        b"",
    ]
) | st.binary(max_size=8)
VALUES = (
    st.binary(max_size=60)
    | st.binary(max_size=40).map(lambda raw: b"Bearer " + raw)
    | st.binary(max_size=40).map(lambda raw: b"key=" + raw)
    | st.sampled_from(
        [
            f"Bearer {ISSUER.issue_token()}".encode()[:-1],
            b"SUCCESS",
            b"CN=a",
            b"Bearer a.b.c",
            b"bearer",
            b"Basic Og==",
        ]
    )
)


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES.keys())
@given(
    headers=st.lists(st.tuples(NAMES, VALUES), max_size=6),
    query=st.binary(max_size=40),
    client=st.none() | st.tuples(st.text(max_size=9), st.just(1)),
)
def test_a_gate_raises_no_other_error(
    gate: Gate, headers: list[tuple[bytes, bytes]], query: bytes, client: tuple[str, int] | None
) -> None:
    """Arbitrary bytes, duplicate names and missing addresses raise no unexpected error."""
    scope = {
        "type": "http",
        "headers": headers,
        "query_string": query,
        "scheme": "http",
        "client": client,
    }
    try:
        # The scope has all members that are read.
        caller = gate.admit(Credentials(scope))  # type: ignore[arg-type]
    except AccessError:
        return
    assert isinstance(caller, Caller)
    assert caller.is_authenticated
