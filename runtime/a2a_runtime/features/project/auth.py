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
from typing import TypeAlias

from a2a_contract.auth_tables import (
    AnyOfTable,
    ApiKeysTable,
    AuthTables,
    BasicTable,
    FailedAttemptsTable,
    JwtTable,
    MutualTlsTable,
    PlatformTable,
)
from a2a_contract.v1_0 import OAuthFlows
from a2a_runtime.auth.authentication import Authenticator, Identity, InvalidCredentialsError
from a2a_runtime.auth.authenticators import (
    ApiKeyAuthenticator,
    BasicAuthenticator,
    KeyLocation,
    MtlsAuthenticator,
    User,
)
from a2a_runtime.auth.gate import AuthGate, Gate, PlatformGate, SchemeRequirement
from a2a_runtime.auth.rate_limit import FailedAttemptLimiter, RateLimit
from a2a_runtime.features.project.errors import ConfigError, ConfigProblem

SchemeTable: TypeAlias = JwtTable | ApiKeysTable | BasicTable | MutualTlsTable
"""An entry whose callers have credentials."""


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
    match table:
        case JwtTable():
            return _build_jwt_authenticator(name, table, folder, environment)
        case ApiKeysTable():
            identities = {
                digest: _build_identity(subject, table) for digest, subject in table.keys.items()
            }
            limiter = _build_limiter(table)
            return ApiKeyAuthenticator(
                identities,
                table.name,
                KeyLocation(table.location),
                scheme=name,
                failed_attempts=limiter,
            )
        case BasicTable():
            users = {
                user: User(password_hash, _build_identity(user, table))
                for user, password_hash in table.users.items()
            }
            return BasicAuthenticator(users, scheme=name, failed_attempts=_build_limiter(table))
        case MutualTlsTable():
            callers = None
            if table.callers is not None:
                callers = {
                    subject: _build_identity(caller, table)
                    for subject, caller in table.callers.items()
                }
            verified = table.verified_header, table.verified_value
            proxies = table.trusted_proxies or ()
            return MtlsAuthenticator(
                proxies,
                subject_header=table.subject_header,
                verified=verified,
                scheme=name,
                callers=callers,
            )


def _build_identity(subject: str, table: SchemeTable) -> Identity:
    """Build the identity of a caller that the file names; it has the required scopes as roles."""
    try:
        return Identity(subject, roles=frozenset(table.scopes or ()))
    except InvalidCredentialsError:
        raise ValueError(
            f"{subject!r} is not a valid caller; use a shorter name that does not begin with team:"
        ) from None


def _build_limiter(table: ApiKeysTable | BasicTable) -> FailedAttemptLimiter:
    if table.failed_attempts is False:
        return FailedAttemptLimiter(None, None)
    limits = table.failed_attempts
    if not isinstance(limits, FailedAttemptsTable):
        limits = FailedAttemptsTable()
    return FailedAttemptLimiter(
        RateLimit(limits.per_name, limits.seconds), RateLimit(limits.per_address, limits.seconds)
    )


def _build_jwt_authenticator(
    name: str, table: JwtTable, folder: Path, environment: Mapping[str, str]
) -> Authenticator:
    # the modules need an extra, which only projects with tokens install
    from a2a_runtime.features.keys import jwks, jwt_tokens, verification  # noqa: PLC0415

    default: tuple[str, ...] = jwt_tokens.DEFAULT_ALGORITHMS
    if table.secret_env:
        default = ("HS256",)
    elif table.public_key:
        default = ("RS256",)
    algorithms = tuple(table.algorithms or default)
    resolver: verification.KeyResolver
    if table.secret_env:
        if table.secret_env not in environment:
            raise ValueError(
                f"the environment variable {table.secret_env} is not set; set it to the secret"
            )
        secret = environment[table.secret_env]
        resolver = verification.keys_from_secret(secret, algorithms[0])
    elif table.public_key:
        pem = _read_bytes(folder / table.public_key)
        keys = (verification.keys_from_pem(pem, each) for each in algorithms)
        resolver = sum(keys, verification.KeySet())
    elif table.keys:
        resolver = jwks.JwksKeys(table.keys)
    else:
        resolver = jwks.OidcKeys(table.issuer)
    validation = jwt_tokens.JwtValidation(table.issuer, table.audience, algorithms, table.leeway)
    claim_names = jwt_tokens.ClaimNames(tenant=table.tenant_claim, team=table.team_claim)
    url = jwks.discovery_url(table.issuer) if table.discover else None
    flows = None
    if table.oauth2:
        flows = OAuthFlows.model_validate(table.oauth2.model_dump(exclude_none=True))
    return jwt_tokens.JwtAuthenticator(
        resolver, validation, claim_names, name, url, flows, table.keep_token
    )


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ValueError(
            f"{file}: {error.strerror}; the path starts at the folder of a2a.toml"
        ) from None
