"""Secrets of others, kept so that whoever reads the database cannot use them.

    vault = Vault([key])                    32 random bytes each; the first one seals, all of them open: so keys are changed
    sealed = vault.seal("hunter2", "the credentials of a webhook")
    vault.open(sealed, "the credentials of a webhook")

A sealed text (AES-256-GCM) opens only for what it was sealed for: a secret that is put elsewhere in the database goes nowhere. What was
stored before there was a key is not sealed, and stays readable.
"""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NoBase64Error
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from a2a_contract.errors import InvalidParamsError

_PREFIX = "sealed:1:"
_KEY_BYTES, _NONCE_BYTES = 32, 12


class DecryptionError(InvalidParamsError):
    """A sealed secret that none of the keys opens: its key was taken away, or somebody has moved it."""

    default_message = "The credentials of the webhook cannot be read any more; give them again"


class SecretBox:
    """Seals secrets, and opens them."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != _KEY_BYTES for key in keys):
            raise ValueError(f"a key of the vault has {_KEY_BYTES} bytes; make one with Vault.new_key()")
        self._ciphers = [AESGCM(key) for key in keys]

    @classmethod
    def from_text(cls, text: str) -> SecretBox:
        """Read keys as an operator writes them: base64, separated by commas."""
        try:
            return cls([urlsafe_b64decode(key.strip() + "=" * (-len(key.strip()) % 4)) for key in text.split(",")])
        except NoBase64Error as error:
            raise ValueError("a key of the vault is 32 bytes as base64") from error

    @staticmethod
    def generate_key() -> str:
        """Make a key, as text."""
        return secrets.token_urlsafe(_KEY_BYTES)

    def encrypt(self, secret: str, purpose: str) -> str:
        """Seal a secret for something."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return _PREFIX + urlsafe_b64encode(nonce + self._ciphers[0].encrypt(nonce, secret.encode(), purpose.encode())).decode()

    def decrypt(self, text: str, purpose: str) -> str:
        """Open what was sealed for something; what was never sealed is given back as it is."""
        if not text.startswith(_PREFIX):
            return text
        try:
            raw = urlsafe_b64decode(text[len(_PREFIX) :])
        except NoBase64Error as error:
            raise DecryptionError from error
        for lock in self._ciphers:
            try:
                return lock.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], purpose.encode()).decode()
            except (InvalidTag, ValueError):  # a nonce that is too short, or no text
                continue
        raise DecryptionError
