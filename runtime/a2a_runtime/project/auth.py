"""Gates from the tables ``[auth.*]`` of an ``a2a.toml``; surfaces refer to them by name.

[auth.staff]
kind = "jwt"                       tokens of an issuer
issuer = "https://id.example"
audience = "reports"
discover = true                    or keys = "https://id.example/keys", public_key = "issuer.pem", or secret_env = "TOKEN_SECRET"
oauth2 = { client_credentials = { token_url = "https://id.example/token", scopes = {} } }      on the card; by default, discover shows OpenID Connect
scopes = ["reports"]

[auth.jobs]
kind = "api-keys"                  digests of keys and the names of their owners: a2a-gen auth key
keys = { 9f86d0… = "nightly-job" }

[auth.people]
kind = "basic"                     user names and password hashes: a2a-gen auth password
users = { ada = "scrypt$…" }

[auth.machines]
kind = "mutual-tls"                client certificates, verified by the server, or by a trusted proxy
trusted_proxies = ["10.0.0.0/28"]
callers = { "CN=box,O=Acme" = "box" }

[auth.combined]
any_of = ["staff", "jobs", ["people", "machines"]]       one of these; a nested list means all of its entries
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from a2a_contract.json_types import is_json_object
from a2a_contract.v1_0 import OAuthFlows
from a2a_runtime.auth.authentication import Authenticator, Identity, InvalidCredentialsError
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, BasicAuthenticator, KeyLocation, MtlsAuthenticator, User
from a2a_runtime.auth.gate import AuthGate, Gate, SchemeRequirement
from a2a_runtime.auth.rate_limit import FailedAttemptLimiter, RateLimit
from a2a_runtime.project.errors import ConfigError, ConfigProblem, to_config_problems
from a2a_runtime.project.tables import ConfigTable, NonEmptyText, PositiveInteger, PositiveSeconds


class _AuthTable(ConfigTable):
    scopes: tuple[NonEmptyText, ...] = ()
    """Required scopes or roles."""

    def build_identity(self, subject: str) -> Identity:
        """Build the identity of a caller that the file names; it has the required scopes as roles."""
        try:
            return Identity(subject, roles=frozenset(self.scopes))
        except InvalidCredentialsError:
            raise ValueError(f"{subject!r} is not a valid caller; use a shorter name that does not begin with team:") from None


def _parse_flows(value: object) -> OAuthFlows:
    """Parse the one flow that the card shows; a setting that the contract does not know is an error, as everywhere in the file."""
    flows = OAuthFlows.model_validate(value)
    if flows.model_dump(by_alias=False, exclude_unset=True) != value:
        raise ValueError("unknown setting in the flow; the settings are token_url, authorization_url, device_authorization_url, refresh_url, scopes")
    return flows


class JwtTable(_AuthTable):
    """Signed tokens."""

    kind: Literal["jwt"]
    issuer: NonEmptyText
    audience: NonEmptyText | list[NonEmptyText]
    algorithms: list[NonEmptyText] | None = None
    discover: bool = False
    keys: NonEmptyText | None = None
    public_key: NonEmptyText | None = None
    secret_env: NonEmptyText | None = None
    tenant_claim: NonEmptyText | None = None
    team_claim: NonEmptyText | None = None
    leeway: float = 0.0
    oauth2: Annotated[OAuthFlows, BeforeValidator(_parse_flows)] | None = None
    """The way to a token, for the card."""

    @model_validator(mode="after")
    def _check_key_source(self) -> JwtTable:
        if sum(map(bool, (self.discover, self.keys, self.public_key, self.secret_env))) != 1:
            raise ValueError("the source of keys is not clear; set one of discover, keys, public_key, secret_env")
        return self

    def build_authenticator(self, name: str, folder: Path, environment: Mapping[str, str]) -> Authenticator:
        """Build the authenticator."""
        from a2a_runtime.auth import jwks, jwt_tokens, keys  # noqa: PLC0415 - an extra, needed only for tokens

        default = ("HS256",) if self.secret_env else ("RS256",) if self.public_key else jwt_tokens.DEFAULT_ALGORITHMS
        algorithms = tuple(self.algorithms or default)
        validation = jwt_tokens.JwtValidation(self.issuer, self.audience, algorithms, self.leeway)
        resolver: keys.KeyResolver
        if self.secret_env:
            if self.secret_env not in environment:
                raise ValueError(f"the environment variable {self.secret_env} is not set; set it to the secret")
            resolver = keys.keys_from_secret(environment[self.secret_env], algorithms[0])
        elif self.public_key:
            pem = _read_bytes(folder / self.public_key)
            resolver = sum((keys.keys_from_pem(pem, each) for each in algorithms), keys.KeySet())
        else:
            resolver = jwks.JwksKeys(self.keys) if self.keys else jwks.OidcKeys(self.issuer)
        claim_names = jwt_tokens.ClaimNames(tenant=self.tenant_claim, team=self.team_claim)
        url = jwks.discovery_url(self.issuer) if self.discover else None
        return jwt_tokens.JwtAuthenticator(resolver, validation, claim_names, name, url, self.oauth2)


class FailedAttemptsTable(ConfigTable):
    """Allowed failed attempts of one address; ``failed_attempts = false`` means no limit."""

    per_name: PositiveInteger | None = 10
    per_address: PositiveInteger | None = 50
    seconds: PositiveSeconds = 60


def _parse_failed_attempts(value: object) -> object:
    return FailedAttemptsTable(per_name=None, per_address=None) if value is False else value


class _LimitedAuthTable(_AuthTable):
    failed_attempts: Annotated[FailedAttemptsTable, BeforeValidator(_parse_failed_attempts)] = FailedAttemptsTable()

    def build_limiter(self) -> FailedAttemptLimiter:
        """Build the limiter of failed attempts."""
        table = self.failed_attempts
        per_name, per_address = (None if each is None else RateLimit(each, table.seconds) for each in (table.per_name, table.per_address))
        return FailedAttemptLimiter(per_name, per_address)


class ApiKeysTable(_LimitedAuthTable):
    """Digests of API keys, and the names of their owners."""

    kind: Literal["api-keys"]
    keys: dict[NonEmptyText, NonEmptyText]
    name: NonEmptyText = "X-API-Key"
    location: KeyLocation = KeyLocation.HEADER

    def build_authenticator(self, name: str, _folder: Path, _environment: Mapping[str, str]) -> Authenticator:
        """Build the authenticator."""
        identities = {digest: self.build_identity(subject) for digest, subject in self.keys.items()}
        return ApiKeyAuthenticator(identities, self.name, self.location, scheme=name, failed_attempts=self.build_limiter())


class BasicTable(_LimitedAuthTable):
    """User names and password hashes."""

    kind: Literal["basic"]
    users: dict[NonEmptyText, NonEmptyText]

    def build_authenticator(self, name: str, _folder: Path, _environment: Mapping[str, str]) -> Authenticator:
        """Build the authenticator."""
        users = {user: User(password_hash, self.build_identity(user)) for user, password_hash in self.users.items()}
        return BasicAuthenticator(users, scheme=name, failed_attempts=self.build_limiter())


class MutualTlsTable(_AuthTable):
    """Client certificates, verified by the server, or by a proxy if some are trusted."""

    kind: Literal["mutual-tls"]
    trusted_proxies: Annotated[list[NonEmptyText], Field(min_length=1)] | None = None
    subject_header: NonEmptyText = "X-SSL-Client-S-DN"
    verified_header: NonEmptyText = "X-SSL-Client-Verify"
    verified_value: NonEmptyText = "SUCCESS"
    callers: dict[NonEmptyText, NonEmptyText] | None = None
    """Callers by the subjects of their certificates; without it, every verified certificate is admitted."""

    def build_authenticator(self, name: str, _folder: Path, _environment: Mapping[str, str]) -> Authenticator:
        """Build the authenticator."""
        if self.scopes and self.callers is None:
            raise ValueError('a certificate has no scopes; name the callers that have them, e.g. callers = { "CN=ada,O=Acme" = "ada" }')
        callers = None if self.callers is None else {subject: self.build_identity(caller) for subject, caller in self.callers.items()}
        verified = self.verified_header, self.verified_value
        return MtlsAuthenticator(self.trusted_proxies or (), subject_header=self.subject_header, verified=verified, scheme=name, callers=callers)


AnyAuthTable: TypeAlias = JwtTable | ApiKeysTable | BasicTable | MutualTlsTable
AUTH_TABLES: Mapping[str, type[AnyAuthTable]] = {"jwt": JwtTable, "api-keys": ApiKeysTable, "basic": BasicTable, "mutual-tls": MutualTlsTable}


class _AnyOfTable(ConfigTable):
    any_of: list[NonEmptyText | list[NonEmptyText]]
    shared_subjects: bool = False
    anonymous: bool = False
    """Admits requests without credentials too."""

    @property
    def groups(self) -> Sequence[Sequence[str]]:
        """The alternatives, each a list of entries that are required together."""
        return [[each] if isinstance(each, str) else each for each in self.any_of]


def build_gates(entries: Mapping[str, object], folder: Path, environment: Mapping[str, str]) -> dict[str, Gate]:
    """Build every gate, or raise ``ConfigError`` with the problems of all of them."""
    problems: list[ConfigProblem] = []
    tables: dict[str, AnyAuthTable] = {}
    any_of_tables: dict[str, _AnyOfTable] = {}
    authenticators: dict[str, Authenticator] = {}
    for name, entry in entries.items():
        table = _parse_table(name, entry, problems)
        if isinstance(table, _AnyOfTable):
            any_of_tables[name] = table
        elif table is not None:
            try:
                authenticators[name] = table.build_authenticator(name, folder, environment)
            except ValueError as error:
                problems.append(ConfigProblem(("auth", name), str(error)))
            tables[name] = table
    known = [name for name in entries if name not in any_of_tables]
    for name, table in any_of_tables.items():
        unknown = [part for group in table.groups for part in group if part not in known]
        if unknown or not table.groups or not all(table.groups):
            fix = f"use {', '.join(known)}" if known else "add one with a kind"
            problems.append(ConfigProblem(("auth", name, "any_of"), f"{', '.join(unknown) or 'an empty list'} is not an entry with a kind; {fix}"))
    if problems:
        raise ConfigError(problems)
    gates: dict[str, Gate] = {name: AuthGate(authenticators[name], require=[{name: table.scopes}]) for name, table in tables.items()}
    return gates | {name: _build_any_of_gate(table, tables, authenticators) for name, table in any_of_tables.items()}


def _build_any_of_gate(table: _AnyOfTable, tables: Mapping[str, AnyAuthTable], authenticators: Mapping[str, Authenticator]) -> AuthGate:
    require: list[SchemeRequirement] = [{part: tables[part].scopes for part in group} for group in table.groups]
    parts = dict.fromkeys(part for group in table.groups for part in group)
    anonymous: list[SchemeRequirement] = [{}] if table.anonymous else []
    return AuthGate(*(authenticators[part] for part in parts), require=[*require, *anonymous], shared_subjects=table.shared_subjects)


def _parse_table(name: str, entry: object, problems: list[ConfigProblem]) -> AnyAuthTable | _AnyOfTable | None:
    kind = entry.get("kind") if is_json_object(entry) else None
    model = _AnyOfTable if is_json_object(entry) and "any_of" in entry else AUTH_TABLES.get(str(kind))
    if model is None:
        problem = "missing" if kind is None else f"unknown kind {kind!r}"
        problems.append(ConfigProblem(("auth", name, "kind"), f"{problem}; use one of {', '.join(AUTH_TABLES)}, or any_of = [\u2026]"))
        return None
    try:
        return model.model_validate(entry)
    except ValidationError as error:
        problems += to_config_problems(error, model, "auth", name)
        return None


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}; the path starts at the folder of a2a.toml") from None
