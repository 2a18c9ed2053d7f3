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

from a2a_contract.json_types import is_object
from a2a_runtime.auth.authentication import Authenticator, Identity, RefusedError
from a2a_runtime.auth.authenticators import ApiKeys, Certificates, Passwords, Place, User
from a2a_runtime.auth.gate import Checkpoint, Gate, Requirement
from a2a_runtime.auth.rate_limit import Guesses, Rate
from a2a_runtime.project.errors import Complaint, ComplaintsError, complaints_of

# The kinds of proof that an ``a2a.toml`` can name, and the settings of each.

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
        from a2a_runtime.auth import jwks, jwt_tokens, keys  # noqa: PLC0415 - an extra: only where there are tokens

        usual = ("HS256",) if self.secret_env else ("RS256",) if self.public_key else jwt_tokens.Expected("i", "a").algorithms
        expected = jwt_tokens.Expected(self.issuer, self.audience, tuple(self.algorithms or usual), self.leeway)
        known: keys.Keys
        if self.secret_env:
            if self.secret_env not in environment:
                raise ValueError(f"there is no {self.secret_env} in the environment; set it to the secret")
            known = keys.secret(environment[self.secret_env], next(iter(expected.algorithms)))
        elif self.public_key:
            pem = _contents(folder / self.public_key)
            known = sum((keys.public_key(pem, each) for each in expected.algorithms), keys.KeySet())
        else:
            known = jwks.PublishedKeys(self.keys) if self.keys else jwks.DiscoveredKeys(self.issuer)
        return jwt_tokens.JwtAuthenticator(known, expected, jwt_tokens.Claims(tenant=self.tenant_claim, team=self.team_claim), scheme=name)


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


class _AnyOf(Table):
    any_of: list[Text | list[Text]]
    same_people: bool = False
    strangers: bool = False
    """Whether those may come in too who bring nothing."""

    @property
    def groups(self) -> Sequence[Sequence[str]]:
        """List the kinds of proof that are enough, each with those that have to come with it."""
        return [[each] if isinstance(each, str) else each for each in self.any_of]


def gates_of(entries: Mapping[str, object], folder: Path, environment: Mapping[str, str]) -> dict[str, Gate]:
    """Make every gate, or raise ``ComplaintsError`` with everything that is wrong with any of them."""
    complaints: list[Complaint] = []
    kinds: dict[str, AnyKind] = {}
    choices: dict[str, _AnyOf] = {}
    made: dict[str, Authenticator] = {}
    for name, entry in entries.items():
        read = _read(name, entry, complaints)
        if isinstance(read, _AnyOf):
            choices[name] = read
        elif read is not None:
            kinds[name] = read
    for name, kind in kinds.items():
        try:
            made[name] = kind.make(name, folder, environment)
        except ValueError as error:
            complaints.append(Complaint(("auth", name), str(error)))
    complaints += [complaint for name, choice in choices.items() if (complaint := _unknown(name, choice, entries, choices)) is not None]
    if complaints:
        raise ComplaintsError(complaints)
    gates: dict[str, Gate] = {name: Checkpoint(made[name], require=[{name: kind.scopes}]) for name, kind in kinds.items()}
    return gates | {name: _chosen(choice, kinds, made) for name, choice in choices.items()}


def _chosen(choice: _AnyOf, kinds: Mapping[str, AnyKind], made: Mapping[str, Authenticator]) -> Checkpoint:
    required: list[Requirement] = [{part: kinds[part].scopes for part in group} for group in choice.groups]
    strangers: list[Requirement] = [{}] if choice.strangers else []
    parts = dict.fromkeys(part for group in choice.groups for part in group)
    return Checkpoint(*(made[part] for part in parts), require=[*required, *strangers], same_people=choice.same_people)


def _unknown(name: str, choice: _AnyOf, entries: Mapping[str, object], choices: Mapping[str, _AnyOf]) -> Complaint | None:
    """Complain about a choice of nothing, or of what is no kind of proof."""
    known = [each for each in entries if each not in choices]
    unknown = [part for group in choice.groups for part in group if part not in known]
    if not unknown and choice.groups and all(choice.groups):
        return None
    wrong = ", ".join(unknown) or "nothing"
    return Complaint(("auth", name, "any_of"), f"{wrong} is no kind of proof; there is {', '.join(known) or 'no entry of auth with a kind'}")


def _read(name: str, entry: object, complaints: list[Complaint]) -> AnyKind | _AnyOf | None:
    kind = entry.get("kind") if is_object(entry) else None
    model = _AnyOf if is_object(entry) and "any_of" in entry else KINDS.get(str(kind))
    if model is None:
        said = "has no kind" if kind is None else f"kind {kind!r} is not known"
        complaints.append(Complaint(("auth", name, "kind"), f"{said}; write one of {', '.join(KINDS)}, or any_of = [\u2026]"))
        return None
    try:
        return model.model_validate(entry)
    except ValidationError as error:
        complaints += complaints_of(error, model, "auth", name)
        return None
