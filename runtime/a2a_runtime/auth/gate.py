"""The gate of a surface: it lets a request in as somebody, or refuses it, before its body is read.

    credentials ── Gate.admit ──► Caller
                               └► UnauthenticatedError, with a challenge, or PermissionDeniedError

Every route of a surface passes it; what a gate need not wait for it answers at once, without an ``await``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from a2a_contract.errors import PermissionDeniedError, TokenEmptyError, UnauthenticatedError
from a2a_contract.v1_0 import HTTPAuthSecurityScheme, SecurityRequirement, SecurityScheme, StringList
from a2a_runtime.auth.authentication import Authenticator, Credentials, DescribesSchemes, Identity, InvalidCredentialsError, parse_authorization
from a2a_runtime.auth.rate_limit import TooManyFailedAttemptsError, TooManyRequestsError
from a2a_runtime.caller import Caller

ANONYMOUS = Caller()
"""All callers who have proved nothing: one owner."""

BEARER = "bearer"
_TOKEN_HOLDER = Caller(schemes={BEARER: frozenset()})


class ChallengeError(UnauthenticatedError):
    """Nobody has proved anything; ``challenge`` says how to (the value of ``WWW-Authenticate``)."""

    def __init__(self, challenge: str, message: str = "", *, details: Mapping[str, str] | None = None) -> None:
        super().__init__(message, details=details)
        self.challenge = challenge


class EmptyTokenError(ChallengeError, TokenEmptyError):
    """Somebody has sent an empty bearer token."""


class InsufficientScopeError(PermissionDeniedError):
    """The caller is known, and lacks something that they could ask to be given; ``challenge`` says what."""

    def __init__(self, missing: frozenset[str], scheme: str = "Bearer") -> None:
        scopes = " ".join(sorted(missing))
        super().__init__(f"This needs a scope or role that the caller does not have: {scopes}", details={"missing_scopes": scopes})
        self.challenge = f'{scheme} error="insufficient_scope", scope="{scopes}"'


class Gate(Protocol):
    """Decides who comes in."""

    def admit(self, credentials: Credentials) -> Caller | Awaitable[Caller]:
        """Say who is calling, or raise why they may not."""
        ...


@runtime_checkable
class DescribableGate(Gate, DescribesSchemes, Protocol):
    """A gate that cards can describe."""

    def security_requirements(self) -> Sequence[SecurityRequirement]:
        """Say which schemes a client has to satisfy: those of any one requirement, all at once."""
        ...


class OpenGate:
    """Lets everybody in, as one owner."""

    def admit(self, credentials: Credentials) -> Caller:  # noqa: ARG002 - nobody is asked for anything
        """Let everybody in."""
        return ANONYMOUS


class PresenceGate:
    """Lets in whoever brings a bearer token, whatever it is. Tokens are not told apart, so that all who bring one are one owner.

    It stands alone: beside somebody who looks at tokens, it would let in whom they refuse.
    """

    def admit(self, credentials: Credentials) -> Caller:
        """Look whether there is a token."""
        try:
            token = parse_authorization(credentials, BEARER)
        except InvalidCredentialsError as error:
            raise ChallengeError("Bearer", error.reason) from None
        if token is None:
            raise ChallengeError("Bearer", details={"header": "Authorization: Bearer <token>"})
        if not token:
            raise EmptyTokenError("Bearer")
        return _TOKEN_HOLDER

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Describe the token."""
        return {BEARER: SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))}

    def security_requirements(self) -> Sequence[SecurityRequirement]:
        """Say that the token is needed."""
        return [SecurityRequirement(schemes={BEARER: StringList()})]


# What ``WWW-Authenticate`` says to a caller who was refused: which schemes there are, and what was wrong with the proof.


def build_challenge(schemes: Sequence[SecurityScheme]) -> Callable[[InvalidCredentialsError | None], str]:
    """Make what writes the challenge; the list of schemes does not change, what is wrong with a proof does."""
    words = list(dict.fromkeys(_auth_scheme(scheme) for scheme in schemes)) or ["Bearer"]
    plain = ", ".join(words)

    def write(refused: InvalidCredentialsError | None) -> str:
        if refused is None or words[0] != "Bearer":
            return plain
        said = refused.reason.encode("ascii", "replace").decode().replace("\\", "").replace('"', "'")
        return ", ".join((f'Bearer error="invalid_token", error_description="{said}"', *words[1:]))

    return write


def _auth_scheme(scheme: SecurityScheme) -> str:
    """Name a scheme as HTTP does; proofs that HTTP has no name for are called by where they stand."""
    if scheme.http_auth_security_scheme is not None:
        name = scheme.http_auth_security_scheme.scheme.capitalize()
        return 'Basic realm="agent", charset="UTF-8"' if name == "Basic" else name
    if scheme.api_key_security_scheme is not None:
        key = scheme.api_key_security_scheme
        return f'ApiKey in="{key.location}", name="{key.name}"'
    return "Mutual" if scheme.mtls_security_scheme is not None else "Bearer"


# What callers have to prove: by whom it is asked for, and as cards say it.

SchemeRequirement: TypeAlias = Mapping[str, Sequence[str]]
"""Names of schemes, each with the scopes or roles that are needed; all of them at once."""


def to_security_requirement(requirement: SchemeRequirement) -> SecurityRequirement:
    """Say a requirement as the card has it."""
    return SecurityRequirement(schemes={name: StringList(list_=list(scopes) or None) for name, scopes in requirement.items()})


# A gate that lets in whoever proves who they are, in one of the ways that the card of the surface names.
#
#     Checkpoint(tokens, keys)                                            by a token or by a key
#     Checkpoint(tokens, require=[{"bearer": ["tasks"]}])                 by a token with a scope (or role) of that name
#     Checkpoint(tokens, certificates, require=[{"mtls": [], "bearer": []}])   by both at once; the first one says who it is
#     Checkpoint(tokens, require=[{"bearer": []}, {}])                    by a token, or as a stranger who brings nothing at all
#
# The requirements are tried in their order, and the first one that is satisfied lets in. One that asks for nothing is tried last, and only for those
# who bring no proof: whoever brings a wrong one is refused.
#
# Where different schemes prove who somebody is, one name may mean different people, or different teams. Subjects and teams are then told apart by the
# scheme (``bearer:ada``, ``apiKey:ada``), unless ``same_people`` says that a name means the same everywhere. A tenant keeps its name, since requests
# name it too; what belongs to it belongs to somebody all the same.
#

_Outcome: TypeAlias = Identity | InvalidCredentialsError | None
_OUTCOME_TYPES = (Identity, InvalidCredentialsError, NoneType)
_NO_SCOPES: frozenset[str] = frozenset()


class _RequiredScheme(NamedTuple):
    """One scheme of a requirement: who checks it, and what it must give."""

    position: int
    scheme: str
    scopes: frozenset[str]


class AuthGate:
    """Lets in whoever satisfies one of some requirements; without any, whoever has one proof of any kind."""

    def __init__(self, *authenticators: Authenticator, require: Sequence[SchemeRequirement] | None = None, shared_subjects: bool = False) -> None:
        self._authenticators = authenticators
        self._schemes: dict[str, SecurityScheme] = {}
        self._indexes: dict[str, int] = {}
        for place, each in enumerate(authenticators):
            self._register(place, each)
        if not authenticators:
            raise ValueError("there is nobody who would know any caller; name an authenticator, or use OpenGate() to let everybody in")
        anything: Sequence[SchemeRequirement] = [{name: ()} for name in self._indexes]
        self._requirements = anything if require is None else require
        needs = [self._to_required_schemes(each) for each in self._requirements]
        self._allows_anonymous = () in needs
        self._alternatives = [each for each in needs if each]
        self._should_qualify_subjects = not shared_subjects and len({each[0].position for each in self._alternatives}) > 1
        self._challenge = build_challenge(
            [self._schemes[need.scheme] for each in self._alternatives for need in each if need.scheme in self._schemes]
        )

    def admit(self, credentials: Credentials) -> Caller | Awaitable[Caller]:
        """Ask every authenticator, and decide at once unless one of them takes time."""
        found: list[_Outcome] = []
        for place, each in enumerate(self._authenticators):
            outcome = _authenticate(each, credentials)
            if not isinstance(outcome, _OUTCOME_TYPES):
                return self._decide_async(found, outcome, [_authenticate(other, credentials) for other in self._authenticators[place + 1 :]])
            found.append(outcome)
        return self._decide(found)

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Describe every kind of proof."""
        return self._schemes

    def security_requirements(self) -> Sequence[SecurityRequirement]:
        """Say what is required, as the card has it; a requirement with a proof that no card can describe is left out."""
        told = [each for each in self._requirements if self._schemes.keys() >= each.keys()]
        return list(map(to_security_requirement, told))

    def _register(self, index: int, authenticator: object) -> None:
        if not isinstance(authenticator, Authenticator):
            raise TypeError(f"{authenticator!r} is no authenticator: it has no method authenticate(headers)")
        described: Mapping[str, SecurityScheme] = authenticator.security_schemes() if isinstance(authenticator, DescribesSchemes) else {}
        for name in described or (type(authenticator).__name__,):
            if name in self._indexes:
                raise ValueError(f"two authenticators are called {name!r}; give one of them another name")
            self._indexes[name] = index
        self._schemes.update(described)

    def _to_required_schemes(self, requirement: SchemeRequirement) -> tuple[_RequiredScheme, ...]:
        unknown = requirement.keys() - self._indexes.keys()
        if unknown:
            raise ValueError(f"there is no scheme {', '.join(sorted(unknown))}; there are {', '.join(self._indexes)}")
        return tuple(_RequiredScheme(self._indexes[name], name, frozenset(scopes)) for name, scopes in requirement.items())

    async def _decide_async(
        self, outcomes: Sequence[_Outcome], pending: Awaitable[_Outcome], others: Sequence[_Outcome | Awaitable[_Outcome]]
    ) -> Caller:
        rest = [each if isinstance(each, _OUTCOME_TYPES) else await each for each in (pending, *others)]
        return self._decide([*outcomes, *rest])

    def _decide(self, outcomes: Sequence[_Outcome]) -> Caller:
        missing: frozenset[str] | None = None
        for needs in self._alternatives:
            proved = [(need, identity) for need in needs if isinstance(identity := outcomes[need.position], Identity)]
            if len(proved) < len(needs):
                continue
            lacking = _NO_SCOPES.union(*(need.scopes - identity.scopes - identity.roles for need, identity in proved))
            if not lacking:
                return self._build_caller(proved)
            missing = lacking if missing is None else missing
        if missing is not None:
            raise InsufficientScopeError(missing)
        if guessed := next((each for each in outcomes if isinstance(each, TooManyFailedAttemptsError)), None):
            raise TooManyRequestsError(guessed.retry_after_seconds)
        refused = next((each for each in outcomes if isinstance(each, InvalidCredentialsError)), None)
        if refused is None and self._allows_anonymous and not any(outcomes):
            return ANONYMOUS
        raise ChallengeError(self._challenge(refused), "" if refused is None else refused.reason)

    def _build_caller(self, proved: Sequence[tuple[_RequiredScheme, Identity]]) -> Caller:
        (first, who), *others = proved
        subject, team = who.subject, who.team
        if self._should_qualify_subjects:
            subject, team = f"{first.scheme}:{subject}", team and f"{first.scheme}:{team}"
        caller = Caller(subject, who.tenant, who.scopes, who.roles, who.claims, team, {first.scheme: who.scopes | who.roles}, who.expires_at)
        for need, also in others:
            if also.tenant and caller.tenant not in {"", also.tenant}:
                raise ChallengeError(self._challenge(None), "The proofs name different tenants")
            caller = replace(
                caller,
                tenant=caller.tenant or also.tenant,
                scopes=caller.scopes | also.scopes,
                roles=caller.roles | also.roles,
                claims={**also.claims, **caller.claims},
                schemes={**caller.schemes, need.scheme: also.scopes | also.roles},
                expires_at=min((each for each in (caller.expires_at, also.expires_at) if each is not None), default=None),
            )
        return caller


def _authenticate(authenticator: Authenticator, credentials: Credentials) -> _Outcome | Awaitable[_Outcome]:
    try:
        answer = authenticator.authenticate(credentials)
    except InvalidCredentialsError as refused:
        return refused
    return answer if isinstance(answer, _OUTCOME_TYPES) else _await_outcome(answer)


async def _await_outcome(pending: Awaitable[Identity | None]) -> _Outcome:
    try:
        return await pending
    except InvalidCredentialsError as refused:
        return refused
