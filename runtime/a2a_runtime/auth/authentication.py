"""What an authenticator proves, and what an authenticator is.

    class Badges:
        def authenticate(self, headers):
            badge = headers.get("x-badge")
            return None if badge is None else Identity(owner_of(badge))

An authenticator that is asked about a request without its kind of proof says ``None``; one that finds a proof and does not believe it raises
``RefusedError``. The difference matters where a surface also lets in those who prove nothing: a wrong proof is never taken for none.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from urllib.parse import parse_qsl

from a2a_contract.v1_0 import SecurityScheme
from a2a_runtime.caller import TEAM_PREFIX

if TYPE_CHECKING:
    from litestar.types import HTTPScope

_MAX_NAME_CHARS = 1000
_SURROGATES = re.compile("[\ud800-\udfff]")


class InvalidCredentialsError(Exception):
    """A proof that is not believed; ``reason`` is told to whoever brought it, and must not repeat it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody, as one authenticator has proved it."""

    subject: str
    """Who it is: one text for one owner of tasks, never empty."""
    tenant: str = ""
    """The customer for whom they work; empty when that is not known."""
    scopes: frozenset[str] = frozenset()
    """What they were permitted to do."""
    roles: frozenset[str] = frozenset()
    """What they are."""
    team: str = ""
    """The team whose tasks they share, in place of having their own."""
    claims: Mapping[str, object] = field(default_factory=dict[str, object])
    """What else is known about them."""
    expires_at: float | None = None
    """Until when the proof holds, in seconds since 1970; ``None`` for ever."""

    def __post_init__(self) -> None:
        names = f"{self.subject}{self.tenant}{self.team}"
        # An empty subject would own what belongs to all strangers; halves of characters can be kept nowhere.
        if not self.subject or self.subject.startswith(TEAM_PREFIX) or len(names) > _MAX_NAME_CHARS or _SURROGATES.search(names):
            raise InvalidCredentialsError("The proof names nobody who could be a caller")


@runtime_checkable
class Authenticator(Protocol):
    """Knows one kind of proof."""

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | Awaitable[Identity | None] | None:
        """Say who sent a request, ``None`` when it has no proof of this kind, or raise why the proof is not believed.

        What it is handed is a mapping of headers, and a ``Credentials`` besides, for proofs that are not in headers.
        """
        ...


@runtime_checkable
class DescribesSchemes(Protocol):
    """What a card can say of an authenticator or a gate."""

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Describe the proofs to clients, each under the name that requirements have for it."""
        ...


# What a request brings along to prove who sent it, read from the connection only when somebody asks.
#
# Whatever comes twice proves nothing: of two values, a proxy may have looked at the other one.
#

_AUTHORIZATION = "authorization"


class Credentials(Mapping[str, str]):
    """The headers of a request, by their names in any spelling, and beside them its query and its cookies."""

    def __init__(self, scope: HTTPScope) -> None:
        self._scope = scope

    def getlist(self, header: str) -> tuple[str, ...]:
        """Give every value of a header."""
        name = header.lower().encode("latin-1")
        return tuple([value.decode("latin-1") for key, value in self._scope["headers"] if key == name])

    def get_header(self, name: str) -> str | None:
        """Give the value of a header, or refuse one that comes twice."""
        wanted, found = name.lower().encode("latin-1"), None
        for key, value in self._scope["headers"]:
            if key == wanted:
                if found is not None:
                    raise _duplicate_error("header", name)
                found = value
        return None if found is None else found.decode("latin-1")

    def get_query_parameter(self, name: str) -> str | None:
        """Give the value of a parameter of the query, or refuse one that comes twice."""
        return _require_single([value for key, value in self._query if key == name], "parameter", name)

    def get_cookie(self, name: str) -> str | None:
        """Give the value of a cookie, or refuse one that comes twice."""
        return _require_single([value for key, value in self._cookies if key == name], "cookie", name)

    @property
    def client_host(self) -> str:
        """The address that the request came from, as the server tells it."""
        try:
            client = self._scope["client"]
        except KeyError:  # servers may leave it out
            return ""
        return client[0] if client else ""

    @property
    def is_encrypted(self) -> bool:
        """Whether the request came over TLS, as the server tells it."""
        return self._scope["scheme"] == "https"

    @cached_property
    def _query(self) -> Sequence[tuple[str, str]]:
        return parse_qsl(self._scope["query_string"].decode("latin-1"), keep_blank_values=True)

    @cached_property
    def _cookies(self) -> Sequence[tuple[str, str]]:
        pairs = (pair.partition("=") for line in self.getlist("cookie") for pair in line.split(";"))
        return [(name.strip(), value.strip().removeprefix('"').removesuffix('"')) for name, _, value in pairs]

    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]  # a default is a text here
        """Give the value of a header, as ``header`` does, or something else."""
        found = self.get_header(key)
        return default if found is None else found

    def __getitem__(self, name: str) -> str:
        value = self.get_header(name)
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(key.decode("latin-1") for key, _ in self._scope["headers"]))

    def __len__(self) -> int:
        return len({key for key, _ in self._scope["headers"]})

    def __repr__(self) -> str:
        return "Credentials(…)"  # what is in here belongs in no log


def parse_authorization(headers: Mapping[str, str], scheme: str) -> str | None:
    """Give what the ``Authorization`` header says under a scheme (in small letters); ``None`` when it names no scheme or another one."""
    said, _, proof = headers.get(_AUTHORIZATION, "").partition(" ")
    return proof.strip() if said.lower() == scheme else None


def _require_single(values: Sequence[str], kind: str, name: str) -> str | None:
    if len(values) > 1:
        raise _duplicate_error(kind, name)
    return values[0] if values else None


def _duplicate_error(kind: str, name: str) -> InvalidCredentialsError:
    return InvalidCredentialsError(f"The {kind} {name} comes more than once")
