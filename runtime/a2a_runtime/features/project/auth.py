"""Gates from the tables ``[auth.*]`` of an ``a2a.toml``; surfaces refer to them by name.

[auth.staff]
kind = "jwt"                       tokens of an issuer
issuer = "https://id.example"
audience = "reports"
discover = true                    or keys = "https://id.example/keys", public_key = "issuer.pem",
                                   or secret_env = "TOKEN_SECRET"
oauth2 = { client_credentials = { token_url = "https://id.example/token", scopes = {} } }
                                   on the card; by default, discover shows OpenID Connect
scopes = ["reports"]

[auth.jobs]
kind = "api-keys"                  digests of keys and the names of their owners: a2a-gen auth key
keys = { 9f86d0… = "nightly-job" }

[auth.people]
kind = "basic"                     user names and password hashes: a2a-gen auth password
users = { ada = "scrypt$…" }

[auth.machines]
kind = "mutual-tls"                client certificates, verified by the server or a trusted proxy
trusted_proxies = ["10.0.0.0/28"]
callers = { "CN=box,O=Acme" = "box" }

[auth.cloud-run]
kind = "platform"                  a platform of this name authenticates callers before the agent

[auth.combined]
any_of = ["staff", "jobs", ["people", "machines"]]
                                   one of these; a nested list means all of its entries
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from a2a_contract.auth_tables import AnyOfTable, AuthTables, PlatformTable
from a2a_runtime.auth.authentication import Authenticator
from a2a_runtime.auth.gate import AuthGate, Gate, PlatformGate, SchemeRequirement
from a2a_runtime.auth.tables import SchemeTable
from a2a_runtime.features.project.errors import ConfigError, ConfigProblem
from a2a_runtime.ports.registry import AUTHENTICATORS, load_function


def build_gates(
    entries: AuthTables, folder: Path, environment: Mapping[str, str]
) -> dict[str, Gate]:
    """Build every gate, or raise ``ConfigError`` with the problems of all of them."""
    problems: list[ConfigProblem] = []
    tables = {
        name: table
        for name, table in entries.items()
        if not isinstance(table, AnyOfTable | PlatformTable)
    }
    platforms = [name for name, table in entries.items() if isinstance(table, PlatformTable)]
    any_of_tables = {
        name: table for name, table in entries.items() if isinstance(table, AnyOfTable)
    }
    authenticators: dict[str, Authenticator] = {}
    for name, table in tables.items():
        try:
            authenticators[name] = _build_authenticator(name, table, folder, environment)
        except ValueError as error:
            problems.append(ConfigProblem(("auth", name), str(error)))
    for name, any_of in any_of_tables.items():
        parts = chain.from_iterable(_list_groups(any_of))
        if unknown := [part for part in parts if part not in tables]:
            fix = f"use {', '.join(tables)}" if tables else "add one with a kind"
            text = "not an entry with a kind"
            if set(unknown) <= set(platforms):
                text = "a platform in front, which has no credentials"
            problems.append(
                ConfigProblem(("auth", name, "any_of"), f"{', '.join(unknown)} is {text}; {fix}")
            )
    if problems:
        raise ConfigError(problems)
    gates: dict[str, Gate] = {
        name: AuthGate(authenticators[name], require=[{name: table.scopes or ()}])
        for name, table in tables.items()
    }
    gates |= {name: PlatformGate(name) for name in platforms}
    return gates | {
        name: _build_any_of_gate(each, tables, authenticators)
        for name, each in any_of_tables.items()
    }


def _build_any_of_gate(
    table: AnyOfTable,
    tables: Mapping[str, SchemeTable],
    authenticators: Mapping[str, Authenticator],
) -> AuthGate:
    groups = _list_groups(table)
    require: list[SchemeRequirement] = [
        {part: tables[part].scopes or () for part in group} for group in groups
    ]
    parts = dict.fromkeys(chain.from_iterable(groups))
    anonymous: list[SchemeRequirement] = [{}] if table.anonymous else []
    return AuthGate(
        *(authenticators[part] for part in parts),
        require=[*require, *anonymous],
        shared_subjects=table.shared_subjects,
    )


def _list_groups(table: AnyOfTable) -> Sequence[Sequence[str]]:
    """List the alternatives, each a list of entries that are required together."""
    return [_to_group(each) for each in table.any_of]


def _to_group(entry: str | Sequence[str]) -> Sequence[str]:
    return [entry] if isinstance(entry, str) else entry


def _build_authenticator(
    name: str, table: SchemeTable, folder: Path, environment: Mapping[str, str]
) -> Authenticator:
    row = AUTHENTICATORS[table.kind]
    found = load_function(row)(name, table, folder, environment)
    if not isinstance(found, Authenticator):
        raise TypeError(f"{row} builds no authenticator")
    return found
