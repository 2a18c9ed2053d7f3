"""Cards that we sign are verified by the official SDK, and the other way round."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from integration.outcome_agent import build_test_agent
from litestar.testing import TestClient
from peers.environments import interpreter

from a2a_contract.dialects import V0_3, V1_0
from a2a_runtime.app import create_app
from a2a_runtime.features.keys.card_signatures import (
    CardSigner,
    InvalidSignatureError,
    TrustStore,
    verify_card,
)
from a2a_runtime.features.keys.signing import PrivateKey, SigningKey
from a2a_runtime.features.keys.verification import KeySet, keys_from_jwks
from a2a_runtime.surface import Surface

pytestmark = [pytest.mark.anyio, pytest.mark.peer, pytest.mark.requirement("1.0", "8.4")]

SDK = "a2a-sdk-1.3.0"


def to_pem(key: PrivateKey) -> str:
    """Write a private key."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


KEYS = {
    "ES256": SigningKey.generate(),
    "EdDSA": SigningKey.from_pem(to_pem(Ed25519PrivateKey.generate()), "ed"),
    "RS256": SigningKey.from_pem(to_pem(generate_private_key(65537, 2048)), "rsa"),
}
FULL = {
    "name": "Größe \u2028 𝄞",
    "description": 'Says "hello"\n\tand \\ more',
    "version": "1.0.0",
    "supportedInterfaces": [
        {"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
    "capabilities": {
        "streaming": False,
        "pushNotifications": True,
        "extensions": [
            {
                "uri": "https://x/e",
                "params": {
                    "n": 5,
                    "f": 0.1,
                    "big": 1e21,
                    "small": 1e-7,
                    "deep": {"a": [1, None, True]},
                },
            }
        ],
    },
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [
        {"id": "a", "name": "A", "description": "Does a.", "tags": ["x"], "examples": ["Do it"]}
    ],
    "securitySchemes": {
        "b": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}}
    },
    "securityRequirements": [{"schemes": {"b": {"list": ["read"]}}}],
    "iconUrl": "https://a.example/icon",
}
CARDS: dict[str, dict[str, object]] = {
    "full": FULL,
    "required and empty": {
        **FULL,
        "description": "",
        "skills": [{"id": "a", "name": "A", "description": "", "tags": []}],
    },
    "empties that do not count": {
        **FULL,
        "securityRequirements": [],
        "capabilities": {"streaming": False, "extensions": []},
    },
    "optional and empty": {
        **FULL,
        "documentationUrl": "",
        "capabilities": {"pushNotifications": False},
    },
    "scheme without scopes": {**FULL, "securityRequirements": [{"schemes": {"b": {}}}]},
}


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"


def run_sdk(*questions: object) -> Sequence[object]:
    """Ask the SDK."""
    command = [str(interpreter(SDK)), "-I", str(Path(__file__).with_name("signing_peer.py"))]
    lines = "\n".join(json.dumps(each) for each in questions)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def build_trust(key: SigningKey) -> TrustStore:
    """Trust one key."""
    return TrustStore(keys_from_jwks([key.to_jwk()]))


def test_the_sdk_verifies_what_we_sign() -> None:
    """Every kind of key, every kind of card, and not when a letter was changed."""
    questions = []
    expected = []
    for key in KEYS.values():
        for card in CARDS.values():
            signatures = [each.to_dict() for each in CardSigner([key]).sign(card)]
            for signed, is_right in (({**card}, True), ({**card, "version": "6.6.6"}, False)):
                questions.append(
                    {"card": {**signed, "signatures": signatures}, "jwk": key.to_jwk()}
                )
                expected.append(is_right)
    assert run_sdk(*questions) == expected


async def test_we_verify_what_the_sdk_signs() -> None:
    """The SDK leaves out whatever is empty; that form is known here too."""
    questions = [
        {"card": card, "pem": to_pem(key.private), "alg": name, "kid": key.key_id}
        for name, key in KEYS.items()
        for card in CARDS.values()
    ]
    for question, card in zip(questions, run_sdk(*questions), strict=True):
        assert isinstance(card, dict)
        key = KEYS[str(question["alg"])]
        assert (await verify_card(card, build_trust(key)))["name"] == FULL["name"]
        with pytest.raises(InvalidSignatureError):
            await verify_card({**card, "version": "6.6.6"}, build_trust(key))
        with pytest.raises(InvalidSignatureError):
            await verify_card(card, TrustStore(KeySet()))


async def test_members_outside_of_the_signature_are_dropped() -> None:
    """The SDK signs cards without requirements that have no scopes; it verifies no other form, and
    we drop the requirements of its cards.
    """
    key = KEYS["ES256"]
    card = CARDS["scheme without scopes"]
    whole, short = [each.to_dict() for each in CardSigner([key]).sign(card)]
    assert run_sdk(
        *({"card": {**card, "signatures": [each]}, "jwk": key.to_jwk()} for each in (whole, short))
    ) == [False, True]
    (signed,) = run_sdk(
        {"card": card, "pem": to_pem(key.private), "alg": "ES256", "kid": key.key_id}
    )
    assert isinstance(signed, dict)
    assert signed["securityRequirements"]
    assert "securityRequirements" not in await verify_card(signed, build_trust(key))


async def test_a_served_card_is_signed_for_everybody_who_reads_it() -> None:
    """The document of each version, and the one for both: each reader finds a signature over what
    it reads.
    """
    key = KEYS["ES256"]
    other = KEYS["EdDSA"]
    surface = Surface(
        build_test_agent(), signer=CardSigner([key, other]), public_url="https://busy.example"
    )
    with TestClient(create_app(surface, store="memory")) as client:
        path = "/.well-known/agent-card.json"
        combined = client.get(path).json()
        newer, older = (
            client.get(path, headers={"a2a-version": version}).json() for version in ("1.0", "0.3")
        )
        assert client.get(path).content == client.get(path).content
        for each in (key, other):
            for card, dialects in ((combined, (V1_0, V0_3)), (newer, (V1_0,)), (older, (V0_3,))):
                for dialect in dialects:
                    assert (await verify_card(card, build_trust(each), dialect.name))[
                        "name"
                    ] == "busy"
        assert (
            run_sdk(
                *(
                    {"card": card, "jwk": each.to_jwk()}
                    for card in (combined, newer)
                    for each in (key, other)
                )
            )
            == [True] * 4
        )
