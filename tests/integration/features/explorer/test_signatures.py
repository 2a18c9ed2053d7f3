"""Signatures of cards, verified with the keys that the agent publishes and with those that the user
of the explorer trusts.
"""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from integration.features.explorer.documents import (
    CARD_PATH,
    KEYS_PATH,
    build_full_card,
    serve_documents,
    sign_card,
)
from integration.features.explorer.explorer_page import explore

from a2a_runtime.client.options import ClientOptions
from a2a_runtime.features.keys.signing import SigningKey

KEY = SigningKey.generate()
OTHER = SigningKey.generate()


def to_pem(key: SigningKey) -> str:
    """Return the public key as text."""
    return (
        key.private.public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def describe(url: str, *card_keys: str) -> list[Any]:
    """Return the signatures as the page shows them."""
    with explore(url, ClientOptions(card_keys=card_keys)) as page:
        found: list[Any] = page.describe()["signatures"]
        return found


def test_a_key_of_the_origin_verifies() -> None:
    """The key set of the agent has the key; a card that was changed afterwards does not verify, and
    neither does one of a key that the set lacks.
    """
    with serve_documents(documents := {KEYS_PATH: {"keys": [KEY.to_jwk()]}}) as (url, _):
        documents[CARD_PATH] = sign_card(build_full_card(url), url + KEYS_PATH, KEY)
        (signature,) = describe(url)
        assert (signature["status"], signature["keyId"], signature["algorithm"]) == (
            "own-key",
            KEY.key_id,
            "ES256",
        )
        assert signature["text"] == "signed by a key that this agent itself publishes"
        documents[CARD_PATH] = {**documents[CARD_PATH], "description": "Changed."}
        assert [each["status"] for each in describe(url)] == ["invalid"]
        documents[CARD_PATH] = sign_card(build_full_card(url), url + KEYS_PATH, OTHER)
        assert [(each["status"], each["text"]) for each in describe(url)] == [
            ("unknown-key", "the key set of the agent has no such key")
        ]


@pytest.mark.parametrize("is_published", [True, False])
def test_a_trusted_key_verifies(is_published: bool) -> None:  # noqa: FBT001 - a table
    """The key that the option names, whether the agent publishes it or not; signatures of other
    keys are judged without it.
    """
    with serve_documents(documents := {KEYS_PATH: {"keys": [KEY.to_jwk()]}}) as (url, _):
        documents[CARD_PATH] = sign_card(
            build_full_card(url), url + KEYS_PATH if is_published else None, KEY, OTHER
        )
        trusted, other = describe(url, to_pem(KEY))
        assert (trusted["status"], trusted["text"]) == ("valid", "by a key of --card-key")
        assert other["status"] == "unknown-key"
        assert describe(url)[0]["status"] == ("own-key" if is_published else "unknown-key")


def test_a_card_without_a_trusted_signature_is_not_used() -> None:
    """With trusted keys, the page gets an error that says so."""
    with serve_documents(documents := {KEYS_PATH: {"keys": [KEY.to_jwk()]}}) as (url, _):
        documents[CARD_PATH] = sign_card(build_full_card(url), url + KEYS_PATH, KEY)
        with explore(url, ClientOptions(card_keys=(to_pem(OTHER),))) as page:
            error = page.get(f"agents/{page.agent}").json()["error"]
            assert error["name"] == "CardNotTrustedError"
            assert "no signature" in error["message"]
