"""The gate of a surface: it lets a request in as somebody, or refuses it, before its body is read.

    credentials ── Gate.admit ──► Caller
                               └► UnauthenticatedError, with a challenge, or PermissionDeniedError

Every route of a surface passes it; what a gate need not wait for it answers at once, without an ``await``.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from a2a_contract.errors import UnauthenticatedError
from a2a_runtime.auth.credentials import Credentials
from a2a_runtime.caller import Caller

ANYONE = Caller()
"""All callers who have proved nothing: one owner."""

_BEARER = "bearer"


class ChallengeError(UnauthenticatedError):
    """Nobody has proved anything; ``challenge`` says how to (the value of ``WWW-Authenticate``)."""

    def __init__(self, challenge: str, message: str = "") -> None:
        super().__init__(message)
        self.challenge = challenge


class Gate(Protocol):
    """Decides who comes in."""

    def admit(self, credentials: Credentials) -> Caller | Awaitable[Caller]:
        """Say who is calling, or raise why they may not."""
        ...


class OpenGate:
    """Lets everybody in, as one owner."""

    def admit(self, credentials: Credentials) -> Caller:  # noqa: ARG002 - nobody is asked for anything
        """Let everybody in."""
        return ANYONE


class PresenceGate:
    """Lets in whoever brings a bearer token, whatever it is. Tokens are not told apart, so that all who bring one are one owner."""

    def admit(self, credentials: Credentials) -> Caller:
        """Look whether there is a token."""
        scheme, _, token = (credentials.header("authorization") or "").partition(" ")
        if scheme.lower() != _BEARER or not token.strip():
            raise ChallengeError("Bearer")
        return ANYONE
