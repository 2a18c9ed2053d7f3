"""Arguments that the client refuses before it sends anything, and keys of cards."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from a2a_runtime.client import A2AClient, ClientOptions
from a2a_runtime.client.signatures import CardVerifier
from a2a_runtime.features.keys.card_signatures import TrustStore

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no scheme": (
        {"url": "agent.example:9000"},
        "url: 'agent.example:9000' is not a URL; begin it with https://",
    ),
    "no host": ({"url": "https://"}, "url: 'https://' is not a URL"),
    "another scheme": ({"url": "ftp://agent"}, "url: 'ftp://agent'"),
    "a port that is none": ({"url": "http://agent:port"}, "url: 'http://agent:port'"),
    "an interface": (
        {"options": ClientOptions(interface_url="agent/rpc")},
        "interface_url: 'agent/rpc'",
    ),
    "an origin": (
        {"options": ClientOptions(trusted_origins=("other",))},
        "trusted_origins: 'other'",
    ),
    "no time": ({"timeout": 0}, "timeout: 0 is not above 0"),
    "no key": (
        {"options": ClientOptions(card_keys=("my key",))},
        "card_keys: 'my key' is neither a URL nor a public key",
    ),
    "keys and a verifier": (
        {
            "options": ClientOptions(
                card_keys=("https://a/jwks",), card_verifier=CardVerifier(TrustStore())
            )
        },
        "both card_keys",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG.keys())
def test_what_could_never_work_is_refused_at_once(arguments: dict[str, Any], said: str) -> None:
    """The error names the argument and the fix."""
    with pytest.raises(ValueError, match=r"A2AClient|card_keys") as refused:
        A2AClient(**{"url": "https://agent.example", **arguments})
    assert said in str(refused.value)


def test_keys_and_urls_of_keys_verify_cards() -> None:
    """A client takes keys and URLs of keys together."""
    pem = (
        generate_private_key(SECP256R1())
        .public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )
    A2AClient(
        "https://agent.example",
        options=ClientOptions(card_keys=(pem, "https://agent.example/jwks.json")),
    )
