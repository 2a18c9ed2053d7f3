"""Gates as ``a2a.toml`` describes them, under the names by which surfaces refer to them.

[auth.staff]
kind = "jwt"                       tokens of an issuer
issuer = "https://id.example"
audience = "reports"
discover = true                    or keys = "https://id.example/keys", public_key = "issuer.pem", or secret_env = "TOKEN_SECRET"
scopes = ["reports"]

[auth.jobs]
kind = "api-keys"                  digests of keys, and whose they are: printf %s "$KEY" | sha256sum
keys = { 9f86d0… = "nightly-job" }

[auth.everybody]
any_of = ["staff", "jobs"]
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from a2a_contract.kinds import is_object
from a2a_contract.places import places
from a2a_runtime.auth.api_keys import ApiKeys, Place
from a2a_runtime.auth.checkpoint import Checkpoint, Requirement
from a2a_runtime.auth.gate import Gate
from a2a_runtime.auth.identity import Authenticator, Identity

_Text: TypeAlias = Annotated[str, Field(min_length=1)]


class _Kind(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    scopes: list[_Text] = []
    """What a caller must be permitted to do."""


class _Jwt(_Kind):
    kind: Literal["jwt"]
    issuer: _Text
    audience: _Text | list[_Text]
    algorithms: list[_Text] | None = None
    discover: bool = False
    keys: _Text | None = None
    public_key: _Text | None = None
    secret_env: _Text | None = None
    tenant_claim: _Text | None = None
    team_claim: _Text | None = None
    leeway: float = 0.0

    @model_validator(mode="after")
    def _has_one_source(self) -> _Jwt:
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
                raise ValueError(f"auth.{name}: there is no {self.secret_env} in the environment")
            known = keys.secret(environment[self.secret_env], next(iter(expected.algorithms)))
        elif self.public_key:
            pem = _contents(folder / self.public_key, name)
            known = sum((keys.public_key(pem, each) for each in expected.algorithms), keys.KeySet())
        else:
            known = published.PublishedKeys(self.keys) if self.keys else published.DiscoveredKeys(self.issuer)
        return tokens.JwtAuthenticator(known, expected, tokens.Claims(tenant=self.tenant_claim, team=self.team_claim), scheme=name)


class _ApiKeys(_Kind):
    kind: Literal["api-keys"]
    keys: dict[_Text, _Text]
    name: _Text = "X-API-Key"
    place: Place = Place.HEADER

    def make(self, name: str, _folder: Path, _environment: Mapping[str, str]) -> Authenticator:
        """Make the authenticator."""
        whose = {digest: Identity(subject, roles=frozenset(self.scopes)) for digest, subject in self.keys.items()}
        return ApiKeys(whose, self.name, self.place, scheme=name)


class _AnyOf(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    any_of: list[_Text]
    same_people: bool = False
    strangers: bool = False
    """Whether those may come in too who bring nothing."""


_KINDS: Mapping[object, type[_Jwt | _ApiKeys]] = {"jwt": _Jwt, "api-keys": _ApiKeys}


def gates_of(entries: Mapping[str, object], folder: Path, environment: Mapping[str, str]) -> dict[str, Gate]:
    """Make every gate, or say what is wrong with the first that cannot be made (``ValueError``)."""
    read = {name: _read(name, entry) for name, entry in entries.items()}
    kinds = {name: entry for name, entry in read.items() if not isinstance(entry, _AnyOf)}
    made = {name: entry.make(name, folder, environment) for name, entry in kinds.items()}
    gates: dict[str, Gate] = {}
    for name, entry in read.items():
        parts = entry.any_of if isinstance(entry, _AnyOf) else [name]
        unknown = [part for part in parts if part not in made]
        if unknown or not parts:
            raise ValueError(f"auth.{name}: {', '.join(unknown) or 'nothing'} is no kind of proof; there are {', '.join(made)}")
        required: list[Requirement] = [{part: kinds[part].scopes} for part in parts]
        strangers: list[Requirement] = [{}] if isinstance(entry, _AnyOf) and entry.strangers else []
        same = isinstance(entry, _AnyOf) and entry.same_people
        gates[name] = Checkpoint(*(made[part] for part in parts), require=[*required, *strangers], same_people=same)
    return gates


def _read(name: str, entry: object) -> _Jwt | _ApiKeys | _AnyOf:
    kind = entry.get("kind") if is_object(entry) else None
    model = _AnyOf if is_object(entry) and "any_of" in entry else _KINDS.get(kind)
    if model is None:
        raise ValueError(f"auth.{name}: kind {kind!r} is not known; there are {', '.join(map(str, _KINDS))}, and any_of = […]")
    try:
        return model.model_validate(entry)
    except ValidationError as error:
        raise ValueError("; ".join(f"auth.{name}: {place}: {text}" for place, text in places(error))) from None


def _contents(file: Path, name: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ValueError(f"auth.{name}: {file}: {error.strerror}") from None
