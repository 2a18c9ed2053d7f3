"""The gate of a surface: it lets a request in as somebody, or refuses it, before its body is read.

    credentials ── Gate.admit ──► Caller
                               └► UnauthenticatedError, with a challenge, or PermissionDeniedError

Every route of a surface passes it; what a gate need not wait for it answers at once, without an ``await``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from a2a_contract.errors import PermissionDeniedError, TokenEmptyError, UnauthenticatedError
from a2a_contract.v1_0 import HTTPAuthSecurityScheme, SecurityRequirement, SecurityScheme, StringList
from a2a_runtime.auth.credentials import Credentials, authorization
from a2a_runtime.auth.identity import Describing, RefusedError
from a2a_runtime.caller import Caller

ANYONE = Caller()
"""All callers who have proved nothing: one owner."""

BEARER = "bearer"
_SOMEBODY = Caller(proofs={BEARER: frozenset()})


class ChallengeError(UnauthenticatedError):
    """Nobody has proved anything; ``challenge`` says how to (the value of ``WWW-Authenticate``)."""

    def __init__(self, challenge: str, message: str = "", *, details: Mapping[str, str] | None = None) -> None:
        super().__init__(message, details=details)
        self.challenge = challenge


class EmptyTokenError(ChallengeError, TokenEmptyError):
    """Somebody has sent an empty bearer token."""


class ScopeError(PermissionDeniedError):
    """The caller is known, and lacks something that they could ask to be given; ``challenge`` says what."""

    def __init__(self, missing: frozenset[str], scheme: str = "Bearer") -> None:
        scopes = " ".join(sorted(missing))
        super().__init__(f"This needs a scope or role that the caller does not have: {scopes}", details={"missing_scopes": scopes})
        self.challenge = f'{scheme} error="insufficient_scope", scope="{scopes}"'


class Gate(Protocol):
    """Decides who comes in."""

    def admit(self, credentials: Credentials) -> Caller | Awaitable[Caller]:
        """Say who is calling, or raise why they may not."""
        ...


@runtime_checkable
class DescribingGate(Gate, Describing, Protocol):
    """A gate that cards can describe."""

    def security_requirements(self) -> Sequence[SecurityRequirement]:
        """Say which schemes a client has to satisfy: those of any one requirement, all at once."""
        ...


class OpenGate:
    """Lets everybody in, as one owner."""

    def admit(self, credentials: Credentials) -> Caller:  # noqa: ARG002 - nobody is asked for anything
        """Let everybody in."""
        return ANYONE


class PresenceGate:
    """Lets in whoever brings a bearer token, whatever it is. Tokens are not told apart, so that all who bring one are one owner.

    It stands alone: beside somebody who looks at tokens, it would let in whom they refuse.
    """

    def admit(self, credentials: Credentials) -> Caller:
        """Look whether there is a token."""
        try:
            token = authorization(credentials, BEARER)
        except RefusedError as error:
            raise ChallengeError("Bearer", error.reason) from None
        if token is None:
            raise ChallengeError("Bearer", details={"header": "Authorization: Bearer <token>"})
        if not token:
            raise EmptyTokenError("Bearer")
        return _SOMEBODY

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Describe the token."""
        return {BEARER: SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))}

    def security_requirements(self) -> Sequence[SecurityRequirement]:
        """Say that the token is needed."""
        return [SecurityRequirement(schemes={BEARER: StringList()})]
