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
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from a2a_contract.v1_0 import SecurityScheme
from a2a_runtime.caller import TEAM

_LONGEST = 1000
_HALVES = re.compile("[\ud800-\udfff]")


class RefusedError(Exception):
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
    expires: float | None = None
    """Until when the proof holds, in seconds since 1970; ``None`` for ever."""

    def __post_init__(self) -> None:
        names = f"{self.subject}{self.tenant}{self.team}"
        # An empty subject would own what belongs to all strangers; halves of characters can be kept nowhere.
        if not self.subject or self.subject.startswith(TEAM) or len(names) > _LONGEST or _HALVES.search(names):
            raise RefusedError("The proof names nobody who could be a caller")


@runtime_checkable
class Authenticator(Protocol):
    """Knows one kind of proof."""

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | Awaitable[Identity | None] | None:
        """Say who sent a request, ``None`` when it has no proof of this kind, or raise why the proof is not believed.

        What it is handed is a mapping of headers, and a ``Credentials`` besides, for proofs that are not in headers.
        """
        ...


@runtime_checkable
class Describing(Protocol):
    """What a card can say of an authenticator or a gate."""

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Describe the proofs to clients, each under the name that requirements have for it."""
        ...
