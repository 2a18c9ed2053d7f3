"""The gate: a token with a known key against a bare PyJWT decode of the same token, an API key, and
a signed card.

Rounds take turns, so that a busy machine hits all alike; what is compared is the median of the
ratios of neighbours.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import jwt

from a2a_runtime.agent import Agent
from a2a_runtime.auth.authentication import Credentials, Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
from a2a_runtime.auth.gate import AuthGate, Gate
from a2a_runtime.base.caller import Caller
from a2a_runtime.features.keys.card_signatures import CardSigner
from a2a_runtime.features.keys.jwks import JwksKeys
from a2a_runtime.features.keys.jwt_tokens import JwtAuthenticator, JwtValidation
from a2a_runtime.features.keys.signing import SigningKey
from a2a_runtime.features.keys.verification import keys_from_secret
from a2a_runtime.service.cards.cache import CardCache
from a2a_runtime.surface import Surface
from a2a_runtime.testing.token_issuer import AUDIENCE, ISSUER, TokenIssuer

ROUNDS = 60
CALLS = 100
RATIO = 1.5
KEY_MICROSECONDS = 10.0
SECRET = "s" * 32
USUAL = [
    (b"host", b"agent.example"),
    (b"accept", b"*/*"),
    (b"accept-encoding", b"gzip"),
    (b"user-agent", b"python-httpx/0.28"),
    (b"content-length", b"200"),
]


@dataclass(frozen=True)
class Pair:
    """What is measured, and what it is compared with."""

    name: str
    gate: Callable[[], object]
    bare: Callable[[], object]


def request(name: bytes, value: str) -> dict[str, object]:
    """Make the scope of a request with a proof."""
    return {
        "type": "http",
        "headers": [*USUAL, (b"content-type", b"application/json"), (name, value.encode())],
        "query_string": b"",
        "scheme": "https",
    }


def admit_call(gate: Gate, name: bytes, value: str) -> Callable[[], object]:
    """Ask a gate as the exchange does, and make sure that it lets in, at once."""
    scope = request(name, value)
    # The scope has all members that are read.
    assert isinstance(gate.admit(Credentials(scope)), Caller)  # type: ignore[arg-type]
    return lambda: gate.admit(Credentials(scope))  # type: ignore[arg-type]  # as above


async def pairs() -> list[Pair]:
    """Make a pair for each kind of key: published and cached, and shared."""
    issuer = TokenIssuer()

    async def fetch(_url: str) -> bytes:
        return issuer.jwks()

    keys = JwksKeys(f"{ISSUER}/keys", fetch=fetch)
    found = keys.find(issuer.key_id, "ES256")
    key = found if isinstance(found, jwt.PyJWK) else await found
    token = issuer.issue_token("ada", scope="tasks", roles=["a"])
    shared = jwt.encode(
        {"sub": "ada", "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 3600},
        SECRET,
        "HS256",
    )
    return [
        _pair("ES256, keys of an issuer", JwtAuthenticator(keys, issuer.validation()), token, key),
        _pair(
            "HS256, shared secret",
            JwtAuthenticator(keys_from_secret(SECRET), JwtValidation(ISSUER, AUDIENCE, ("HS256",))),
            shared,
            keys_from_secret(SECRET).find(None, "HS256"),
        ),
    ]


def _pair(name: str, known: JwtAuthenticator, token: str, key: jwt.PyJWK) -> Pair:
    options = {"require": ["exp", "iss", "aud", "sub"]}

    def bare() -> object:
        return jwt.decode(
            token,
            key,
            algorithms=[key.algorithm_name],
            options=options,
            audience=AUDIENCE,
            issuer=ISSUER,
        )  # type: ignore[arg-type]  # a plain dict of options

    return Pair(name, admit_call(AuthGate(known), b"authorization", f"Bearer {token}"), bare)


def time_calls(work: Callable[[], object]) -> float:
    """Time some calls, and give the microseconds of one."""
    start = time.perf_counter()
    for _ in range(CALLS):
        work()
    return (time.perf_counter() - start) / CALLS * 1e6


def signed_card() -> Callable[[], object]:
    """Serve a card that is signed by two keys."""
    agent = Agent("signed", url="https://agent.example")
    agent.add("echo", lambda ctx: ctx.text)
    cards = CardCache(
        Surface(agent, signer=CardSigner([SigningKey.generate(), SigningKey.generate()]))
    )
    body = cards.get(None, "https://agent.example").body
    assert b'"protected"' in body
    return lambda: cards.get(None, "https://agent.example")


def main() -> int:
    """Print the table; the exit code says whether the goals are kept."""
    missed = False
    print(f"\nThe gate\n{'':40} {'gate us':>9} {'bare us':>9} {'ratio':>7} {'goal':>7}")
    for pair in asyncio.run(pairs()):
        rounds = [(time_calls(pair.gate), time_calls(pair.bare)) for _ in range(ROUNDS)]
        ratio = statistics.median(gate / bare for gate, bare in rounds)
        gate, bare = (statistics.median(column) for column in zip(*rounds, strict=True))
        missed |= ratio > RATIO
        print(
            f"{pair.name:40} {gate:9.1f} {bare:9.1f} {ratio:7.2f} {RATIO:7.2f}  "
            f"{'kept' if ratio <= RATIO else 'MISSED'}"
        )
    keys = ApiKeyAuthenticator(
        {digest_key(f"k-{number}"): Identity(f"u-{number}") for number in range(1000)}
    )
    key = statistics.median(
        time_calls(admit_call(AuthGate(keys), b"x-api-key", "k-500")) for _ in range(ROUNDS)
    )
    missed |= key > KEY_MICROSECONDS
    print(
        f"{'API key, one of 1,000':40} {key:9.1f} {'':9} {'':7} {KEY_MICROSECONDS:5.0f}us  "
        f"{'kept' if key <= KEY_MICROSECONDS else 'MISSED'}"
    )
    print(
        f"{'signed card, from memory':40} "
        f"{statistics.median(time_calls(signed_card()) for _ in range(5)):9.1f}"
    )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
