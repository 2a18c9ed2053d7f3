"""The caller of a request, and the scope of their tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple, Self

from a2a_contract.base import JsonObject
from a2a_contract.json_types import is_json_array, is_json_object

TEAM_PREFIX = "team:"
"""Prefix of the owner of a team's tasks; no subject begins with it."""
_MAX_ACTORS = 16
_IPV6_HOST_BITS = 64


class SurfaceKey(NamedTuple):
    """Key of a surface in stored tasks.

    Agents that share a store do not share tasks, even at the same path.
    """

    path: str
    agent: str

    def to_text(self) -> str:
        """Join path and agent name; a path has no blank."""
        return f"{self.path} {self.agent}"

    @classmethod
    def from_text(cls, text: str) -> SurfaceKey:
        """Parse the result of ``to_text``."""
        path, _, agent = text.partition(" ")
        return cls(path, agent)


class TaskScope(NamedTuple):
    """Scope in which a task exists; requests in any other scope do not find it.

    ``surface`` is the key of a surface, ``tenant`` the customer of the call, ``owner`` the caller
    or their team. Anonymous callers are one owner. A plain tuple: every operation looks something
    up by it. Recent ones are kept (``build_scope``), because every request needs one.
    """

    surface: str = ""
    tenant: str = ""
    owner: str = ""

    @property
    def limit_key(self) -> str:
        """Name whose the tasks of the scope are where nothing but the scope is known, see
        ``Caller.limit_key``.
        """
        if self.owner:
            return f"{self.tenant}\0{self.owner}"
        return ""

    def to_text(self) -> str:
        """Serialize the scope, unambiguously: a column of every key in a database."""
        return _serialize_scope(self)

    @classmethod
    def from_text(cls, text: str) -> TaskScope:
        """Parse the result of ``to_text``."""
        return _parse_scope(text)


build_scope = lru_cache(maxsize=1024)(TaskScope)


@lru_cache(maxsize=1024)
def to_network(address: str) -> str:
    """Return an IPv4 address as it is, and the /64 network of an IPv6 address, whose owner has all
    addresses of it.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    return str(parsed.ipv4_mapped or int(parsed) >> _IPV6_HOST_BITS)


@lru_cache(maxsize=1024)
def _serialize_scope(scope: TaskScope) -> str:
    return json.dumps(
        [scope.surface, scope.tenant, scope.owner], ensure_ascii=False, separators=(",", ":")
    )


@lru_cache(maxsize=1024)
def _parse_scope(text: str) -> TaskScope:
    surface, tenant, owner = json.loads(text)
    return TaskScope(surface, tenant, owner)


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller that the gate has admitted."""

    subject: str = ""
    tenant: str = ""
    scopes: frozenset[str] = frozenset()
    """OAuth scopes."""
    roles: frozenset[str] = frozenset()
    claims: Mapping[str, object] = field(default_factory=dict[str, object], compare=False)
    """Other claims of the credentials."""
    team: str = ""
    """Team whose tasks the caller shares instead of owning tasks alone."""
    schemes: Mapping[str, frozenset[str]] = field(
        default_factory=dict[str, frozenset[str]], compare=False
    )
    """Security schemes by which the caller is authenticated, each with its scopes and roles."""
    expires_at: float | None = field(default=None, compare=False)
    """Expiry of the credentials in seconds since 1970; ``None``: never."""
    token: str = field(default="", compare=False, repr=False)
    """Bearer token of the caller, for ``client.OnBehalfOf``; only if the gate keeps it, and in the
    run for which it came only.
    """

    @property
    def actors(self) -> tuple[str, ...]:
        """Agents that act for the caller, the one that has called first (claim ``act``, RFC
        8693).
        """
        names: list[str] = []
        actor = self.claims.get("act")
        while is_json_object(actor) and len(names) < _MAX_ACTORS:
            names.append(str(actor.get("sub", "")))
            actor = actor.get("act")
        return tuple(names)

    def to_json(self) -> JsonObject:
        """Return what later runs of a task know of the caller besides its scope; empty if that is
        all. Tokens and schemes are left out.
        """
        if not (self.team or self.scopes or self.roles or self.claims):
            return {}
        names = {
            "subject": self.subject,
            "team": self.team,
            "scopes": sorted(self.scopes),
            "roles": sorted(self.roles),
        }
        claims = {name: value for name, value in self.claims.items() if _is_json(value)}
        return {name: value for name, value in {**names, "claims": claims}.items() if value}

    @classmethod
    def from_json(cls, value: JsonObject, scope: TaskScope) -> Self:
        """Build the caller of a task from the result of ``to_json``."""
        if not value:
            return cls(scope.owner, scope.tenant)
        scopes = _read_names(value.get("scopes"))
        roles = _read_names(value.get("roles"))
        claims = value.get("claims")
        known = claims if is_json_object(claims) else {}
        return cls(
            str(value.get("subject", "")),
            scope.tenant,
            scopes,
            roles,
            known,
            str(value.get("team", "")),
        )

    def satisfies(self, requirement: Mapping[str, Iterable[str]]) -> bool:
        """Return whether the caller is authenticated by every scheme of a requirement, with all of
        its scopes.
        """
        return all(
            name in self.schemes and self.schemes[name].issuperset(needed)
            for name, needed in requirement.items()
        )

    @property
    def is_authenticated(self) -> bool:
        """True if the caller has presented valid credentials."""
        return bool(self.subject or self.schemes)

    @property
    def owner(self) -> str:
        """Owner of the caller's tasks: the caller, or their team."""
        if self.team:
            return f"{TEAM_PREFIX}{self.team}"
        return self.subject

    def limit_key(self, address: str) -> str:
        """Name whom limits count for: the caller, or the network of an anonymous one."""
        if self.team or self.subject:
            return f"{self.tenant}\0{self.owner}"
        return to_network(address)

    @property
    def is_individual(self) -> bool:
        """True if the caller's tasks belong to them alone: they have a name and no team."""
        return bool(self.subject) and not self.team

    def task_scope(self, surface: str) -> TaskScope:
        """Build the scope of the caller's tasks on a surface."""
        return build_scope(surface, self.tenant, self.owner)


def _is_json(value: object) -> bool:
    """Return whether a claim can be stored; a host may have put any object there."""
    if is_json_object(value):
        return all(map(_is_json, value.values()))
    if is_json_array(value):
        return all(map(_is_json, value))
    return value is None or isinstance(value, str | int | float)


def _read_names(value: object) -> frozenset[str]:
    return frozenset(map(str, value)) if is_json_array(value) else frozenset()
