"""Authenticators, the identities that they return, and the credentials that they read.

    class BadgeAuthenticator:
        def authenticate(self, headers):
            badge = headers.get("x-badge")
            return None if badge is None else Identity(find_owner(badge))

An authenticator returns ``None`` if a request has no credentials of its scheme, and raises
``InvalidCredentialsError`` if it has invalid ones. The gate needs the difference on a surface that
also admits anonymous callers: invalid credentials never count as none.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from urllib.parse import parse_qsl

from a2a_contract.v1_0 import SecurityScheme
from a2a_runtime.base.caller import TEAM_PREFIX

if TYPE_CHECKING:
    from litestar.types import HTTPScope

GRPC_EXTENSION = "grpc"
"""Extension of the scope of a call over gRPC, whose metadata are its headers."""

_MAX_NAME_CHARS = 1000
_SURROGATES = re.compile("[\ud800-\udfff]")


class InvalidCredentialsError(Exception):
    """Credentials that an authenticator rejects.

    Clients read ``reason``, so it must not repeat the credentials.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller as one authenticator knows it."""

    subject: str
    """The name of the caller and the owner of its tasks; never empty."""
    tenant: str = ""
    """The customer that the caller acts for; empty if unknown."""
    scopes: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    team: str = ""
    """The team that owns the caller's tasks instead of the subject; empty without one."""
    claims: Mapping[str, object] = field(default_factory=dict[str, object])
    expires_at: float | None = None
    """Seconds since 1970 at which the credentials expire; ``None`` for never."""
    token: str = field(default="", repr=False)
    """The bearer token itself, for calls in the name of the caller; empty: it is not kept."""

    def __post_init__(self) -> None:
        names = f"{self.subject}{self.tenant}{self.team}"
        # An empty subject would own the tasks of all anonymous callers; surrogates cannot be stored
        # as UTF-8.
        if (
            not self.subject
            or self.subject.startswith(TEAM_PREFIX)
            or len(names) > _MAX_NAME_CHARS
            or _SURROGATES.search(names)
        ):
            raise InvalidCredentialsError("The credentials do not name a valid caller")


@runtime_checkable
class Authenticator(Protocol):
    """Checks the credentials of one scheme."""

    def authenticate(
        self, headers: Mapping[str, str], /
    ) -> Identity | Awaitable[Identity | None] | None:
        """Identify the caller; ``None`` without credentials of this scheme,
        ``InvalidCredentialsError`` if they are invalid.

        The gate passes a ``Credentials``: a mapping of headers that also has the query and the
        cookies.
        """
        ...


@runtime_checkable
class DescribesSchemes(Protocol):
    """An authenticator or gate whose schemes a card can list."""

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the schemes, each under the name that requirements use."""
        ...


@runtime_checkable
class HasAuthorizationServer(Protocol):
    """An authenticator of tokens that an OAuth 2.0 server issues."""

    @property
    def authorization_server(self) -> str:
        """Return the URL of the issuer; empty if it has none."""
        ...


class Credentials(Mapping[str, str]):
    """Headers of a request, with any spelling of their names; query and cookies are parsed on first
    use.

    A header, parameter or cookie that occurs twice is rejected: a proxy may have checked the other
    value.
    """

    def __init__(self, scope: HTTPScope) -> None:
        self._scope = scope

    # the default is a text here
    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """Return the value of a header, or the default."""
        name = key.lower().encode("latin-1")
        found = None
        # a loop on purpose: every request passes here, and a list costs more
        for each, value in self._scope["headers"]:
            if each == name:
                if found is not None:
                    raise _duplicate_error("header", key)
                found = value
        if found is None:
            return default
        return found.decode("latin-1")

    @property
    def scope(self) -> Mapping[str, object]:
        """The ASGI scope, with what the middleware of a host has put into it."""
        return self._scope

    def getlist(self, header: str) -> tuple[str, ...]:
        """Return every value of a header."""
        name = header.lower().encode("latin-1")
        return tuple(
            [value.decode("latin-1") for key, value in self._scope["headers"] if key == name]
        )

    def get_query_parameter(self, name: str) -> str | None:
        """Return the value of a query parameter, or of the metadata of its name: a call over gRPC
        has no query.
        """
        if GRPC_EXTENSION in self._extensions:
            return self.get(name)
        return _find_single(self._query, "parameter", name)

    def get_cookie(self, name: str) -> str | None:
        """Return the value of a cookie."""
        return _find_single(self._cookies, "cookie", name)

    @property
    def client_host(self) -> str:
        """The address of the client, as the server reports it; empty if it reports none."""
        return self._client[0]

    @property
    def is_forwarded(self) -> bool:
        """True if the address is that of a header: uvicorn then reports port 0.

        It trusts headers from this machine unless told otherwise.
        """
        return self._client[1] == 0

    @property
    def certificate_name(self) -> str | None:
        """The subject of the client's certificate (RFC 4514), if the server ends TLS and has
        verified one.
        """
        name = self._extensions.get("tls", {}).get("client_cert_name")
        if isinstance(name, str):
            return name
        return None

    @property
    def _extensions(self) -> Mapping[str, Mapping[object, object]]:
        try:
            return self._scope["extensions"] or {}
        except KeyError:
            # servers may leave them out
            return {}

    @property
    def _client(self) -> tuple[str, int | None]:
        try:
            return self._scope["client"] or ("", None)
        except KeyError:
            # servers may leave it out
            return "", None

    @cached_property
    def _query(self) -> Sequence[tuple[str, str]]:
        return parse_qsl(self._scope["query_string"].decode("latin-1"), keep_blank_values=True)

    @cached_property
    def _cookies(self) -> Sequence[tuple[str, str]]:
        pairs: list[tuple[str, str, str]] = []
        for line in self.getlist("cookie"):
            pairs += [each.partition("=") for each in line.split(";")]
        return [
            (name.strip(), value.strip().removeprefix('"').removesuffix('"'))
            for name, _, value in pairs
        ]

    def __getitem__(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(key.decode("latin-1") for key, _ in self._scope["headers"]))

    def __len__(self) -> int:
        return len({key for key, _ in self._scope["headers"]})

    def __repr__(self) -> str:
        # its content must never reach a log
        return "Credentials(…)"


def parse_authorization(headers: Mapping[str, str], scheme: str) -> str | None:
    """Return the value of the ``Authorization`` header for a scheme in lower case; ``None`` if it
    is absent or of another scheme.
    """
    found, _, value = headers.get("authorization", "").partition(" ")
    if found.lower() == scheme:
        return value.strip()
    return None


def _find_single(pairs: Sequence[tuple[str, str]], kind: str, name: str) -> str | None:
    values = [value for key, value in pairs if key == name]
    if len(values) > 1:
        raise _duplicate_error(kind, name)
    if values:
        return values[0]
    return None


def _duplicate_error(kind: str, name: str) -> InvalidCredentialsError:
    return InvalidCredentialsError(f"The {kind} {name} occurs more than once")
