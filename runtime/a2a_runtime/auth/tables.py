"""Parts that kinds of authentication share when they are built from tables of an ``a2a.toml``: the
callers that a table names, and its limit on failed attempts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from a2a_runtime.auth.authentication import Identity, InvalidCredentialsError
from a2a_runtime.auth.rate_limit import FailedAttemptLimiter, RateLimit

if TYPE_CHECKING:
    from a2a_contract.auth_tables import FailedAttemptsTable


class SchemeTable(Protocol):
    """An entry whose callers have credentials."""

    @property
    def kind(self) -> str:
        """Return the key of the row in ``AUTHENTICATORS``."""
        ...

    @property
    def scopes(self) -> Sequence[str] | None:
        """Return the scopes that callers need."""
        ...


def build_identity(subject: str, table: SchemeTable) -> Identity:
    """Build the identity of a caller that the file names; it has the required scopes as roles."""
    try:
        return Identity(subject, roles=frozenset(table.scopes or ()))
    except InvalidCredentialsError:
        raise ValueError(
            f"{subject!r} is not a valid caller; use a shorter name that does not begin with team:"
        ) from None


def build_limiter(limits: FailedAttemptsTable | bool | None) -> FailedAttemptLimiter:  # noqa: FBT001
    """Build the limit of a table; without one, the defaults of the schema are those of the
    limiter.
    """
    if limits is False:
        return FailedAttemptLimiter(None, None)
    if limits is None or limits is True:
        return FailedAttemptLimiter()
    return FailedAttemptLimiter(
        RateLimit(limits.per_name, limits.seconds), RateLimit(limits.per_address, limits.seconds)
    )
