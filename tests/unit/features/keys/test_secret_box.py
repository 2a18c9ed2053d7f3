"""Encrypted secrets."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from a2a_contract.v1_0 import AuthenticationInfo, TaskPushNotificationConfig
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.features.keys.secret_box import DecryptionError, SecretBox
from a2a_runtime.service.push_configs import decrypt_config, encrypt_config

SCOPE = TaskScope("/x agent", "acme", "ada")
URL = "https://hooks.example/a"
SECRET = "tok"  # noqa: S105 - of this test
CONFIG = TaskPushNotificationConfig(
    id="c",
    task_id="t",
    url=URL,
    token=SECRET,
    authentication=AuthenticationInfo(scheme="Bearer", credentials="sésame"),
)


def test_encrypted_secrets_can_be_decrypted() -> None:
    """Token and credentials; the stored text reveals neither."""
    box = SecretBox.from_text(SecretBox.generate_key())
    kept = encrypt_config(CONFIG, box, SCOPE)
    assert not [secret for secret in ("tok", "sésame") if f'"{secret}"'.encode() in kept.to_json()]
    assert decrypt_config(kept, box, SCOPE, "t") == CONFIG
    assert encrypt_config(CONFIG, box, SCOPE) != kept


def test_keys_can_be_rotated() -> None:
    """The new key encrypts, the old one still decrypts; without it, its secrets are lost."""
    old = SecretBox.generate_key()
    new = SecretBox.generate_key()
    kept = encrypt_config(CONFIG, SecretBox.from_text(old), SCOPE)
    assert decrypt_config(kept, SecretBox.from_text(f"{new},{old}"), SCOPE, "t") == CONFIG
    with pytest.raises(DecryptionError, match="register it again"):
        decrypt_config(kept, SecretBox.from_text(new), SCOPE, "t")


ELSEWHERE = {
    "another URL": lambda kept: (
        kept.model_copy(update={"url": "https://evil.example"}),
        SCOPE,
        "t",
    ),
    "another webhook": lambda kept: (kept.model_copy(update={"id": "d"}), SCOPE, "t"),
    "another task": lambda kept: (kept, SCOPE, "u"),
    "another owner": lambda kept: (kept, SCOPE._replace(owner="eve"), "t"),
    "another tenant": lambda kept: (kept, SCOPE._replace(tenant="umbrella"), "t"),
    "the other secret": lambda kept: (
        kept.model_copy(
            update={
                "token": None,
                "authentication": kept.authentication.model_copy(
                    update={"credentials": kept.token}
                ),
            }
        ),
        SCOPE,
        "t",
    ),
}


@pytest.mark.parametrize("moved", ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_a_secret_is_bound_to_its_place(
    moved: Callable[
        [TaskPushNotificationConfig], tuple[TaskPushNotificationConfig, TaskScope, str]
    ],
) -> None:
    """Moved to another place of the database, it cannot be decrypted."""
    box = SecretBox.from_text(SecretBox.generate_key())
    kept, scope, task = moved(encrypt_config(CONFIG, box, SCOPE))
    with pytest.raises(DecryptionError):
        decrypt_config(kept, box, scope, task)


def test_plaintext_secrets_stay_readable() -> None:
    """Secrets from before encryption was enabled stay readable."""
    assert (
        decrypt_config(CONFIG, SecretBox.from_text(SecretBox.generate_key()), SCOPE, "t") == CONFIG
    )


@pytest.mark.parametrize("damaged", ["sealed:1:", "sealed:1:%%%", "sealed:1:AAAA"])
def test_damaged_secrets_are_rejected(damaged: str) -> None:
    """Every kind of damage to an encrypted secret raises the same error."""
    with pytest.raises(DecryptionError):
        SecretBox.from_text(SecretBox.generate_key()).decrypt(damaged, URL)


@pytest.mark.parametrize("keys", ["", "short", "a,b", "!" * 43])
def test_a_key_is_32_bytes(keys: str) -> None:
    """Any other key is rejected at start."""
    with pytest.raises(ValueError, match=r"32 bytes|not base64"):
        SecretBox.from_text(keys)
