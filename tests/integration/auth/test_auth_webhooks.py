"""Webhooks with signatures, encrypted secrets in the store, and cards signed with the operator's
keys.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from integration.outcome_agent import build_test_agent

from a2a_contract.dialects import V1_0
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_runtime.app import create_app
from a2a_runtime.features.keys.card_signatures import TrustStore, verify_card
from a2a_runtime.features.keys.process import read_keys
from a2a_runtime.features.keys.secret_box import SecretBox
from a2a_runtime.features.keys.signing import SigningKey
from a2a_runtime.features.keys.verification import KeySet, keys_from_jwks
from a2a_runtime.features.push import verify
from a2a_runtime.features.push.verification import TrustedSender, VerificationError
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app
from a2a_runtime.testing.webhook_receiver import WebhookReceiver, WebhookRequest

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with a signing key, an encryption key, and webhooks on this machine."""
    (tmp_path / "key.pem").write_text(SigningKey.generate().to_pem())
    return replace(
        FAST_SETTINGS,
        signing_keys=(str(tmp_path / "key.pem"),),
        encryption_keys=(SecretBox.generate_key(),),
        outbound_allow_loopback=True,
    )


async def fetch_keys(client: httpx.AsyncClient) -> KeySet:
    """Read the keys that an agent publishes."""
    document = (await client.get("/.well-known/jwks.json")).json()
    assert is_json_object(document)
    listed = document["keys"]
    assert is_json_array(listed)
    assert not [key for key in listed if is_json_object(key) and "d" in key]
    return keys_from_jwks(each for each in listed if is_json_object(each))


async def test_the_keys_that_sign_are_on_record(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """The log of a start has the public ids of the signing keys."""
    caplog.set_level(logging.INFO, "a2a_runtime.audit")
    keyring = read_keys(settings, [Surface(build_test_agent())])
    (line,) = [
        json.loads(each.getMessage()) for each in caplog.records if each.name == "a2a_runtime.audit"
    ]
    assert line == {
        "event": "signing-keys",
        "keys": " ".join(key.key_id for key in keyring.signing_keys),
    }


async def test_notifications_and_cards_are_signed(settings: Settings, tmp_path: Path) -> None:
    """A receiver verifies the notification with the published keys, and the card has a signature of
    the same.
    """
    app = create_app(
        Surface(build_test_agent(), public_url="https://busy.example"),
        store=f"sqlite:///{tmp_path}/tasks.db",
        settings=settings,
    )
    async with (
        WebhookReceiver() as receiver,
        run_app(app) as transport,
        httpx.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        push = {
            "url": receiver.url,
            "token": "t0ken-secret",
            "authentication": {"scheme": "Bearer", "credentials": "cr3dentials"},
        }
        params = {
            "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]},
            "configuration": {"taskPushNotificationConfig": push},
        }
        answer = await client.post(
            "/", json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
        )
        await receiver.wait_for_requests(1)
        keys = await fetch_keys(client)
        card = (await client.get("/.well-known/agent-card.json")).json()
        assert (await verify_card(card, TrustStore(keys), V1_0.name))["name"] == "busy"
        task_id = answer.json()["result"]["task"]["id"]
        listed = await client.get(f"/tasks/{task_id}/pushNotificationConfigs")
        assert "t0ken-secret" not in listed.text  # every caller is the owner
        assert "cr3dentials" not in listed.text
    call = receiver.requests[0]
    assert call.headers["authorization"] == "Bearer cr3dentials"
    assert call.headers["x-a2a-notification-token"] == "t0ken-secret"
    sender = TrustedSender(keys, "https://busy.example", receiver.url)
    proof = await verify(call.headers, call.body, sender)
    assert proof.id == call.headers["webhook-id"]
    await check_invalid_notifications(call, sender)
    stored = read_database(tmp_path)
    assert b"sealed:1:" in stored
    assert b"t0ken-secret" not in stored
    assert b"cr3dentials" not in stored


def read_database(folder: Path) -> bytes:
    """Read the bytes of a closed database, as a thief would."""
    return b"".join(file.read_bytes() for file in folder.glob("tasks.db*"))


async def check_invalid_notifications(call: WebhookRequest, sender: TrustedSender) -> None:
    """Check everything that could be wrong with a notification."""
    wrong: list[tuple[Mapping[str, str], bytes, TrustedSender]] = [
        (call.headers, call.body + b" ", sender),
        ({**call.headers, "content-digest": "sha-256=:x:"}, call.body, sender),
        ({**call.headers, "webhook-id": "another"}, call.body, sender),
        ({**call.headers, "webhook-signature": "x.y.z"}, call.body, sender),
        (
            {name: value for name, value in call.headers.items() if name != "webhook-signature"},
            call.body,
            sender,
        ),
        (call.headers, call.body, replace(sender, issuer="another owner")),
        (call.headers, call.body, replace(sender, webhook="https://me.example/other")),
        (
            call.headers,
            call.body,
            replace(sender, keys=keys_from_jwks([SigningKey.generate().to_jwk()])),
        ),
    ]
    for headers, body, by in wrong:
        with pytest.raises(VerificationError):
            await verify(headers, body, by)
