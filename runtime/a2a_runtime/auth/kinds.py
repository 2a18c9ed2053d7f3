"""The kinds of proof that an ``a2a.toml`` can name, and the settings of each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from a2a_runtime.auth.api_keys import ApiKeys, Place
from a2a_runtime.auth.certificates import Certificates
from a2a_runtime.auth.guesses import Guesses
from a2a_runtime.auth.identity import Authenticator, Identity, RefusedError
from a2a_runtime.auth.passwords import Passwords, User
from a2a_runtime.auth.rates import Rate

Text: TypeAlias = Annotated[str, Field(min_length=1)]
_Count: TypeAlias = Annotated[int, Field(ge=1)]
_Seconds: TypeAlias = Annotated[float, Field(gt=0)]


class Table(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Kind(Table):
    scopes: tuple[Text, ...] = ()
    """What a caller must be permitted to do."""

    def identity(self, subject: str) -> Identity:
        """Say who somebody is whom this file itself names: they have what is required here."""
        try:
            return Identity(subject, roles=frozenset(self.scopes))
        except RefusedError:
            raise ValueError(f"{subject!r} cannot be the name of a caller; choose a shorter one that does not begin with team:") from None


class Jwt(_Kind):
    """Signed tokens."""

    kind: Literal["jwt"]
    issuer: Text
    audience: Text | list[Text]
    algorithms: list[Text] | None = None
    discover: bool = False
    keys: Text | None = None
    public_key: Text | None = None
    secret_env: Text | None = None
    tenant_claim: Text | None = None
    team_claim: Text | None = None
    leeway: float = 0.0

    @model_validator(mode="after")
    def _has_one_source(self) -> Jwt:
        if sum(map(bool, (self.discover, self.keys, self.public_key, self.secret_env))) != 1:
            raise ValueError("say where the keys are: one of discover, keys, public_key, secret_env")
        return self

    def make(self, name: str, folder: Path, environment: Mapping[str, str]) -> Authenticator:
        """Make the authenticator."""
        from a2a_runtime.auth import keys, published, tokens  # noqa: PLC0415 - an extra: only where there are tokens

        usual = ("HS256",) if self.secret_env else ("RS256",) if self.public_key else tokens.Expected("i", "a").algorithms
        expected = tokens.Expected(self.issuer, self.audience, tuple(self.algorithms or usual), self.leeway)
        known: keys.Keys
        if self.secret_env:
            if self.secret_env not in environment:
                raise ValueError(f"there is no {self.secret_env} in the environment; set it to the secret")
            known = keys.secret(environment[self.secret_env], next(iter(expected.algorithms)))
        elif self.public_key:
            pem = _contents(folder / self.public_key)
            known = sum((keys.public_key(pem, each) for each in expected.algorithms), keys.KeySet())
        else:
            known = published.PublishedKeys(self.keys) if self.keys else published.DiscoveredKeys(self.issuer)
        return tokens.JwtAuthenticator(known, expected, tokens.Claims(tenant=self.tenant_claim, team=self.team_claim), scheme=name)


class _Guesses(Table):
    of_name: _Count | None = 10
    of_address: _Count | None = 50
    seconds: _Seconds = 60


def _unlimited(said: object) -> object:
    return _Guesses(of_name=None, of_address=None) if said is False else said


class _Guessable(_Kind):
    guesses: Annotated[_Guesses, BeforeValidator(_unlimited)] = _Guesses()
    """How many wrong proofs one address may show; ``false`` for any number."""

    def limit(self) -> Guesses:
        """Make what counts them."""
        said = self.guesses
        of_name, of_address = (None if each is None else Rate(each, said.seconds) for each in (said.of_name, said.of_address))
        return Guesses(of_name, of_address)


class Keys(_Guessable):
    """API keys: digests, and whose they are."""

    kind: Literal["api-keys"]
    keys: dict[Text, Text]
    name: Text = "X-API-Key"
    place: Place = Place.HEADER

    def make(self, name: str, _folder: Path, _environment: Mapping[str, str]) -> Authenticator:
        """Make the authenticator."""
        whose = {digest: self.identity(subject) for digest, subject in self.keys.items()}
        return ApiKeys(whose, self.name, self.place, scheme=name, guesses=self.limit())


class Basic(_Guessable):
    """Names and hashes of passwords."""

    kind: Literal["basic"]
    users: dict[Text, Text]

    def make(self, name: str, _folder: Path, _environment: Mapping[str, str]) -> Authenticator:
        """Make the authenticator."""
        users = {user: User(password_hash, self.identity(user)) for user, password_hash in self.users.items()}
        return Passwords(users, scheme=name, guesses=self.limit())


class MutualTls(_Kind):
    """Client certificates, checked by a proxy."""

    kind: Literal["mutual-tls"]
    trusted_proxies: Annotated[list[Text], Field(min_length=1)]
    subject_header: Text = "X-SSL-Client-S-DN"
    verified_header: Text = "X-SSL-Client-Verify"
    verified_value: Text = "SUCCESS"
    callers: dict[Text, Text] | None = None
    """Who comes in, by the names in certificates; without it, whoever has a certificate."""

    def make(self, name: str, _folder: Path, _environment: Mapping[str, str]) -> Authenticator:
        """Make the authenticator."""
        if self.scopes and self.callers is None:
            raise ValueError('a certificate says nothing of scopes; name those who have them: callers = { "CN=ada,O=Acme" = "ada" }')
        callers = None if self.callers is None else {subject: self.identity(caller) for subject, caller in self.callers.items()}
        verified = self.verified_header, self.verified_value
        return Certificates(self.trusted_proxies, subject_header=self.subject_header, verified=verified, scheme=name, callers=callers)


AnyKind: TypeAlias = Jwt | Keys | Basic | MutualTls
KINDS: Mapping[str, type[AnyKind]] = {"jwt": Jwt, "api-keys": Keys, "basic": Basic, "mutual-tls": MutualTls}


def _contents(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}; name the file from the folder of a2a.toml") from None
