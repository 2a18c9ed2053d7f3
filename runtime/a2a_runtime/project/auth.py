"""Gates as ``a2a.toml`` describes them, under the names by which surfaces refer to them.

[auth.staff]
kind = "jwt"                       tokens of an issuer
issuer = "https://id.example"
audience = "reports"
discover = true                    or keys = "https://id.example/keys", public_key = "issuer.pem", or secret_env = "TOKEN_SECRET"
scopes = ["reports"]

[auth.jobs]
kind = "api-keys"                  digests of keys, and whose they are: a2a-gen auth key
keys = { 9f86d0… = "nightly-job" }

[auth.people]
kind = "basic"                     names, and hashes of passwords: a2a-gen auth password
users = { ada = "scrypt$…" }

[auth.machines]
kind = "mutual-tls"                client certificates, checked by a proxy that alone is believed
trusted_proxies = ["10.0.0.0/28"]
callers = { "CN=box,O=Acme" = "box" }

[auth.everybody]
any_of = ["staff", "jobs", ["people", "machines"]]       one of these; those in a list of their own all at once
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from a2a_contract.json_types import is_json_object
from a2a_runtime.auth.authentication import Authenticator, Identity, InvalidCredentialsError
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, BasicAuthenticator, KeyLocation, MtlsAuthenticator, User
from a2a_runtime.auth.gate import AuthGate, Gate, SchemeRequirement
from a2a_runtime.auth.rate_limit import FailedAttemptLimiter, RateLimit
from a2a_runtime.project.errors import ConfigError, ConfigProblem, to_config_problems

# The kinds of proof that an ``a2a.toml`` can name, and the settings of each.

NonEmptyText: TypeAlias = Annotated[str, Field(min_length=1)]
_PositiveInteger: TypeAlias = Annotated[int, Field(ge=1)]
_Seconds: TypeAlias = Annotated[float, Field(gt=0)]


class ConfigTable(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _AuthTable(ConfigTable):
    scopes: tuple[NonEmptyText, ...] = ()
    """What a caller must be permitted to do."""

    def build_identity(self, subject: str) -> Identity:
        """Say who somebody is whom this file itself names: they have what is required here."""
        try:
            return Identity(subject, roles=frozenset(self.scopes))
        except InvalidCredentialsError:
            raise ValueError(f"{subject!r} cannot be the name of a caller; choose a shorter one that does not begin with team:") from None


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

    @model_validator(mode="after")
    def _check_key_source(self) -> JwtTable:
        if sum(map(bool, (self.discover, self.keys, self.public_key, self.secret_env))) != 1:
            raise ValueError("say where the keys are: one of discover, keys, public_key, secret_env")
        return self

    def build_authenticator(self, name: str, folder: Path, environment: Mapping[str, str]) -> Authenticator:
        """Make the authenticator."""
        from a2a_runtime.auth import jwks, jwt_tokens, keys  # noqa: PLC0415 - an extra: only where there are tokens

        usual = ("HS256",) if self.secret_env else ("RS256",) if self.public_key else jwt_tokens.JwtValidation("i", "a").algorithms
        expected = jwt_tokens.JwtValidation(self.issuer, self.audience, tuple(self.algorithms or usual), self.leeway)
        known: keys.KeyResolver
        if self.secret_env:
            if self.secret_env not in environment:
                raise ValueError(f"there is no {self.secret_env} in the environment; set it to the secret")
            known = keys.keys_from_secret(environment[self.secret_env], next(iter(expected.algorithms)))
        elif self.public_key:
            pem = _read_bytes(folder / self.public_key)
            known = sum((keys.keys_from_pem(pem, each) for each in expected.algorithms), keys.KeySet())
        else:
            known = jwks.JwksKeys(self.keys) if self.keys else jwks.OidcKeys(self.issuer)
        return jwt_tokens.JwtAuthenticator(known, expected, jwt_tokens.ClaimNames(tenant=self.tenant_claim, team=self.team_claim), scheme=name)


class FailedAttemptsTable(ConfigTable):
    of_name: _PositiveInteger | None = 10
    of_address: _PositiveInteger | None = 50
    seconds: _Seconds = 60


def _parse_failed_attempts(value: object) -> object:
    return FailedAttemptsTable(of_name=None, of_address=None) if value is False else value


class _LimitedAuthTable(_AuthTable):
    guesses: Annotated[FailedAttemptsTable, BeforeValidator(_parse_failed_attempts)] = FailedAttemptsTable()
    """How many wrong proofs one address may show; ``false`` for any number."""

    def build_limiter(self) -> FailedAttemptLimiter:
        """Make what counts them."""
        said = self.guesses
        of_name, of_address = (None if each is None else RateLimit(each, said.seconds) for each in (said.of_name, said.of_address))
        return FailedAttemptLimiter(of_name, of_address)


class ApiKeysTable(_LimitedAuthTable):
    """API keys: digests, and whose they are."""

    kind: Literal["api-keys"]
    keys: dict[NonEmptyText, NonEmptyText]
    name: NonEmptyText = "X-API-Key"
    place: KeyLocation = KeyLocation.HEADER

    def build_authenticator(self, name: str, _folder: Path, _environment: Mapping[str, str]) -> Authenticator:
        """Make the authenticator."""
        whose = {digest: self.build_identity(subject) for digest, subject in self.keys.items()}
        return ApiKeyAuthenticator(whose, self.name, self.place, scheme=name, failed_attempts=self.build_limiter())


class BasicTable(_LimitedAuthTable):
    """Names and hashes of passwords."""

    kind: Literal["basic"]
    users: dict[NonEmptyText, NonEmptyText]

    def build_authenticator(self, name: str, _folder: Path, _environment: Mapping[str, str]) -> Authenticator:
        """Make the authenticator."""
        users = {user: User(password_hash, self.build_identity(user)) for user, password_hash in self.users.items()}
        return BasicAuthenticator(users, scheme=name, failed_attempts=self.build_limiter())


class MutualTlsTable(_AuthTable):
    """Client certificates, checked by a proxy."""

    kind: Literal["mutual-tls"]
    trusted_proxies: Annotated[list[NonEmptyText], Field(min_length=1)]
    subject_header: NonEmptyText = "X-SSL-Client-S-DN"
    verified_header: NonEmptyText = "X-SSL-Client-Verify"
    verified_value: NonEmptyText = "SUCCESS"
    callers: dict[NonEmptyText, NonEmptyText] | None = None
    """Who comes in, by the names in certificates; without it, whoever has a certificate."""

    def build_authenticator(self, name: str, _folder: Path, _environment: Mapping[str, str]) -> Authenticator:
        """Make the authenticator."""
        if self.scopes and self.callers is None:
            raise ValueError('a certificate says nothing of scopes; name those who have them: callers = { "CN=ada,O=Acme" = "ada" }')
        callers = None if self.callers is None else {subject: self.build_identity(caller) for subject, caller in self.callers.items()}
        verified = self.verified_header, self.verified_value
        return MtlsAuthenticator(self.trusted_proxies, subject_header=self.subject_header, verified=verified, scheme=name, callers=callers)


AnyAuthTable: TypeAlias = JwtTable | ApiKeysTable | BasicTable | MutualTlsTable
AUTH_TABLES: Mapping[str, type[AnyAuthTable]] = {"jwt": JwtTable, "api-keys": ApiKeysTable, "basic": BasicTable, "mutual-tls": MutualTlsTable}


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}; name the file from the folder of a2a.toml") from None


class _AnyOfTable(ConfigTable):
    any_of: list[NonEmptyText | list[NonEmptyText]]
    same_people: bool = False
    strangers: bool = False
    """Whether those may come in too who bring nothing."""

    @property
    def groups(self) -> Sequence[Sequence[str]]:
        """List the kinds of proof that are enough, each with those that have to come with it."""
        return [[each] if isinstance(each, str) else each for each in self.any_of]


def build_gates(entries: Mapping[str, object], folder: Path, environment: Mapping[str, str]) -> dict[str, Gate]:
    """Make every gate, or raise ``ComplaintsError`` with everything that is wrong with any of them."""
    complaints: list[ConfigProblem] = []
    kinds: dict[str, AnyAuthTable] = {}
    choices: dict[str, _AnyOfTable] = {}
    made: dict[str, Authenticator] = {}
    for name, entry in entries.items():
        read = _parse_table(name, entry, complaints)
        if isinstance(read, _AnyOfTable):
            choices[name] = read
        elif read is not None:
            kinds[name] = read
    for name, kind in kinds.items():
        try:
            made[name] = kind.build_authenticator(name, folder, environment)
        except ValueError as error:
            complaints.append(ConfigProblem(("auth", name), str(error)))
    complaints += [complaint for name, choice in choices.items() if (complaint := _check_any_of(name, choice, entries, choices)) is not None]
    if complaints:
        raise ConfigError(complaints)
    gates: dict[str, Gate] = {name: AuthGate(made[name], require=[{name: kind.scopes}]) for name, kind in kinds.items()}
    return gates | {name: _build_any_of_gate(choice, kinds, made) for name, choice in choices.items()}


def _build_any_of_gate(table: _AnyOfTable, tables: Mapping[str, AnyAuthTable], authenticators: Mapping[str, Authenticator]) -> AuthGate:
    required: list[SchemeRequirement] = [{part: tables[part].scopes for part in group} for group in table.groups]
    strangers: list[SchemeRequirement] = [{}] if table.strangers else []
    parts = dict.fromkeys(part for group in table.groups for part in group)
    return AuthGate(*(authenticators[part] for part in parts), require=[*required, *strangers], shared_subjects=table.same_people)


def _check_any_of(name: str, table: _AnyOfTable, entries: Mapping[str, object], any_of_tables: Mapping[str, _AnyOfTable]) -> ConfigProblem | None:
    """Complain about a choice of nothing, or of what is no kind of proof."""
    known = [each for each in entries if each not in any_of_tables]
    unknown = [part for group in table.groups for part in group if part not in known]
    if not unknown and table.groups and all(table.groups):
        return None
    wrong = ", ".join(unknown) or "nothing"
    return ConfigProblem(("auth", name, "any_of"), f"{wrong} is no kind of proof; there is {', '.join(known) or 'no entry of auth with a kind'}")


def _parse_table(name: str, entry: object, problems: list[ConfigProblem]) -> AnyAuthTable | _AnyOfTable | None:
    kind = entry.get("kind") if is_json_object(entry) else None
    model = _AnyOfTable if is_json_object(entry) and "any_of" in entry else AUTH_TABLES.get(str(kind))
    if model is None:
        said = "has no kind" if kind is None else f"kind {kind!r} is not known"
        problems.append(ConfigProblem(("auth", name, "kind"), f"{said}; write one of {', '.join(AUTH_TABLES)}, or any_of = [\u2026]"))
        return None
    try:
        return model.model_validate(entry)
    except ValidationError as error:
        problems += to_config_problems(error, model, "auth", name)
        return None
