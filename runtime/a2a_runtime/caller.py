"""Who calls, and whose tasks they may see."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

TEAM_PREFIX = "team:"
"""Begin of the owner of a team's tasks; no subject begins with it."""


class TaskScope(NamedTuple):
    """The room that a task lives in: it exists for those who ask from the same room, and for nobody else.

    ``surface`` is the place of the agent that was called, ``tenant`` the customer it was called for, ``owner`` who called. Callers that cannot be
    told apart are one owner. A plain tuple: every call looks something up by it.
    """

    surface: str = ""
    tenant: str = ""
    owner: str = ""

    def to_text(self) -> str:
        """Write the scope as one text, different for different scopes: a column of every key in a database."""
        return _text_of(self)

    @classmethod
    def from_text(cls, text: str) -> TaskScope:
        """Read what ``to_text`` wrote."""
        return _scope_of(text)


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody whom the gate has let in, and what is known about them."""

    subject: str = ""
    tenant: str = ""
    scopes: frozenset[str] = frozenset()
    """What they were permitted to do."""
    roles: frozenset[str] = frozenset()
    """What they are."""
    claims: Mapping[str, object] = field(default_factory=dict[str, object], compare=False)
    """What else is known about them."""
    team: str = ""
    """The team whose tasks they share, in place of having their own."""
    schemes: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]], compare=False)
    """The schemes by which they have proved who they are, each with the scopes and roles that it gives them."""

    expires_at: float | None = field(default=None, compare=False)
    """Until when that holds, in seconds since 1970; ``None`` for ever."""

    def satisfies(self, requirement: Mapping[str, Iterable[str]]) -> bool:
        """Whether they have proved themselves by every scheme that is required, with everything that is required of it."""
        return all(name in self.schemes and self.schemes[name].issuperset(needed) for name, needed in requirement.items())

    @property
    def is_authenticated(self) -> bool:
        """Whether they have proved anything."""
        return bool(self.subject or self.schemes)

    @property
    def owner(self) -> str:
        """To whom their tasks belong: to themselves, or to the team whose tasks they share."""
        return f"{TEAM_PREFIX}{self.team}" if self.team else self.subject

    @property
    def is_individual(self) -> bool:
        """Whether what is theirs is nobody else's: they have a name, and share with no team."""
        return bool(self.subject) and not self.team

    def task_scope(self, surface: str) -> TaskScope:
        """Say which room of a surface is theirs."""
        return TaskScope(surface, self.tenant, self.owner)


@lru_cache(maxsize=1024)
def _text_of(scope: TaskScope) -> str:
    return json.dumps([scope.surface, scope.tenant, scope.owner], ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=1024)
def _scope_of(text: str) -> TaskScope:
    surface, tenant, owner = json.loads(text)
    return TaskScope(surface, tenant, owner)
