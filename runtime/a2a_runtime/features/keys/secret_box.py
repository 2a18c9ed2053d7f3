"""Encryption of the secrets that a store keeps, so that a copy of the database reveals none.

    box = SecretBox([key])    32 random bytes each; the first key encrypts, all of them decrypt:
                              that is how keys are rotated
    text = box.encrypt("hunter2", "the credentials of a webhook")
    box.decrypt(text, "the credentials of a webhook")

A text (AES-256-GCM) is bound to its purpose: moved to another place of the database it cannot be
decrypted. Secrets that were stored before there was a key are not encrypted, and are returned as
they are.
"""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from a2a_contract.errors import InvalidParamsError

_PREFIX = "sealed:1:"
_KEY_BYTES = 32
_NONCE_BYTES = 12


class DecryptionError(InvalidParamsError):
    """No key decrypts a secret: its key was removed, or the text was moved or damaged."""

    default_message = "The credentials of the webhook cannot be decrypted; register it again"


class SecretBox:
    """Encrypts and decrypts secrets."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != _KEY_BYTES for key in keys):
            raise ValueError(
                f"encryption keys: each must have {_KEY_BYTES} bytes; generate one with "
                "SecretBox.generate_key()"
            )
        self._ciphers = [AESGCM(key) for key in keys]

    @classmethod
    def from_text(cls, text: str) -> SecretBox:
        """Parse keys as base64, separated by commas."""
        try:
            return cls(
                [
                    urlsafe_b64decode(key.strip() + "=" * (-len(key.strip()) % 4))
                    for key in text.split(",")
                ]
            )
        except Base64Error as error:
            raise ValueError(
                f"encryption keys: not base64; each is {_KEY_BYTES} bytes as base64"
            ) from error

    @staticmethod
    def generate_key() -> str:
        """Generate a key as base64."""
        return secrets.token_urlsafe(_KEY_BYTES)

    def encrypt(self, secret: str, purpose: str) -> str:
        """Encrypt a secret for one purpose."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return (
            _PREFIX
            + urlsafe_b64encode(
                nonce + self._ciphers[0].encrypt(nonce, secret.encode(), purpose.encode())
            ).decode()
        )

    def decrypt(self, text: str, purpose: str) -> str:
        """Decrypt a text for its purpose; a text that is not encrypted is returned as it is."""
        if not text.startswith(_PREFIX):
            return text
        try:
            raw = urlsafe_b64decode(text[len(_PREFIX) :])
        except Base64Error as error:
            raise DecryptionError from error
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(
                    raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], purpose.encode()
                ).decode()
            except (InvalidTag, ValueError):  # a nonce that is too short, or no UTF-8
                continue
        raise DecryptionError
