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

_MARK = "sealed:1:"
_KEY, _NONCE = 32, 12


class LockedError(InvalidParamsError):
    """A sealed secret that none of the keys opens: its key was taken away, or somebody has moved it."""

    default_message = "The credentials of the webhook cannot be read any more; give them again"


class Vault:
    """Seals secrets, and opens them."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != _KEY for key in keys):
            raise ValueError(f"a key of the vault has {_KEY} bytes; make one with Vault.new_key()")
        self._locks = [AESGCM(key) for key in keys]

    @classmethod
    def of_text(cls, text: str) -> Vault:
        """Read keys as an operator writes them: base64, separated by commas."""
        try:
            return cls([urlsafe_b64decode(key.strip() + "=" * (-len(key.strip()) % 4)) for key in text.split(",")])
        except NoBase64Error as error:
            raise ValueError("a key of the vault is 32 bytes as base64") from error

    @staticmethod
    def new_key() -> str:
        """Make a key, as text."""
        return secrets.token_urlsafe(_KEY)

    def seal(self, secret: str, about: str) -> str:
        """Seal a secret for something."""
        nonce = secrets.token_bytes(_NONCE)
        return _MARK + urlsafe_b64encode(nonce + self._locks[0].encrypt(nonce, secret.encode(), about.encode())).decode()

    def open(self, text: str, about: str) -> str:
        """Open what was sealed for something; what was never sealed is given back as it is."""
        if not text.startswith(_MARK):
            return text
        try:
            raw = urlsafe_b64decode(text[len(_MARK) :])
        except NoBase64Error as error:
            raise LockedError from error
        for lock in self._locks:
            try:
                return lock.decrypt(raw[:_NONCE], raw[_NONCE:], about.encode()).decode()
            except (InvalidTag, ValueError):  # a nonce that is too short, or no text
                continue
        raise LockedError
