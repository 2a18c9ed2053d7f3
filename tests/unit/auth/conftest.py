"""Credentials as a gate receives them."""

from __future__ import annotations

from collections.abc import Callable

from a2a_runtime.auth.authentication import Credentials

BuildCredentials = Callable[..., Credentials]


def build_credentials(
    *headers: tuple[str, str], query: str = "", client: str = "192.0.2.1"
) -> Credentials:
    """Build the credentials of a request."""
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    return Credentials(
        {
            "type": "http",
            "headers": raw,
            "query_string": query.encode(),
            "scheme": "https",
            "client": (client, 1),
        }
    )  # type: ignore[typeddict-item]  # as much of a scope as is read


def build_bearer(token: str) -> Credentials:
    """Build the credentials of a request with a token."""
    return build_credentials(("Authorization", f"Bearer {token}"))
