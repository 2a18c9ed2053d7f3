"""Gates: the check of a caller's credentials, before the body of a request is read.

    Credentials ── Gate.admit ──► Caller
                               ├► ChallengeError (401, with WWW-Authenticate)
                               └► InsufficientScopeError (403), TooManyRequestsError (429)

Every route of a surface passes its gate. A gate answers without ``await`` unless an authenticator
has to wait.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from a2a_contract.errors import PermissionDeniedError, TokenEmptyError, UnauthenticatedError
from a2a_contract.v1_0 import (
    APIKeySecurityScheme,
    HTTPAuthSecurityScheme,
    MutualTlsSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a_runtime.auth.authentication import (
    Authenticator,
    Credentials,
    DescribesSchemes,
    HasAuthorizationServer,
    Identity,
    InvalidCredentialsError,
    parse_authorization,
)
from a2a_runtime.auth.rate_limit import TooManyFailedAttemptsError, TooManyRequestsError
from a2a_runtime.base.caller import Caller

ANONYMOUS = Caller()
"""The caller of every request without credentials: all of them are one owner."""

BEARER = "bearer"
_TOKEN_HOLDER = Caller(schemes={BEARER: frozenset()})


class ChallengeError(UnauthenticatedError):
    """No valid credentials; ``challenge`` is the value of ``WWW-Authenticate``."""

    def __init__(
        self, challenge: str, message: str = "", *, details: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, details=details)
        self.challenge = challenge


class EmptyTokenError(ChallengeError, TokenEmptyError):
    """The bearer token is empty."""


class InsufficientScopeError(PermissionDeniedError):
    """The caller is authenticated but lacks scopes or roles; ``challenge`` names them, so that a
    client can request them.
    """

    def __init__(self, missing: frozenset[str]) -> None:
        scopes = " ".join(sorted(missing))
        super().__init__(
            f"The caller lacks a required scope or role: {scopes}",
            details={"missing_scopes": scopes},
        )
        self.challenge = f'Bearer error="insufficient_scope", scope="{scopes}"'


class Gate(Protocol):
    """Admits or rejects the requests of a surface."""

    def admit(self, credentials: Credentials) -> Caller | Awaitable[Caller]:
        """Return the caller, or raise ``ChallengeError`` or ``PermissionDeniedError``."""
        ...


@runtime_checkable
class DescribableGate(Gate, DescribesSchemes, Protocol):
    """A gate that cards and the OpenAPI document can describe."""

    def security_requirements(self) -> Sequence[SecurityRequirement]:
        """Return the alternatives; a client has to satisfy all schemes of one of them."""
        ...


class OpenGate:
    """Admits every request as the anonymous caller."""

    def admit(self, credentials: Credentials) -> Caller:  # noqa: ARG002 - nothing is checked
        """Return the anonymous caller."""
        return ANONYMOUS


class PlatformGate:
    """Admits every request, because a platform in front has authenticated it already.

        PlatformGate("Cloud Run")        calls without a permission of IAM do not arrive

    The agent verifies nothing: the platform must be the only way to its port. All callers are one
    owner. Where the platform passes the name of the caller on, use ``Surface(caller=…)`` instead,
    so that each caller has tasks of their own.
    """

    def __init__(self, name: str) -> None:
        if not name.strip():
            raise ValueError('PlatformGate: no name; say what authenticates, e.g. "Cloud Run"')
        self.name = name

    def admit(self, credentials: Credentials) -> Caller:  # noqa: ARG002 - the platform has checked
        """Return the anonymous caller."""
        return ANONYMOUS


class PresenceGate:
    """Admits every request with a bearer token, without checking the token.

    All callers are one owner.

    It cannot be combined with an authenticator: it would admit the tokens that the authenticator
    rejects.
    """

    def admit(self, credentials: Credentials) -> Caller:
        """Require a token that is not empty."""
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
        """Return the bearer scheme."""
        return {
            BEARER: SecurityScheme(
                http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer")
            )
        }

    def security_requirements(self) -> Sequence[SecurityRequirement]:
        """Require the bearer scheme."""
        return [SecurityRequirement(schemes={BEARER: StringList()})]


SchemeRequirement: TypeAlias = Mapping[str, Sequence[str]]
"""Names of schemes that are required together, each with its required scopes or roles."""


def to_security_requirement(requirement: SchemeRequirement) -> SecurityRequirement:
    """Convert a requirement to the model of the card."""
    return SecurityRequirement(
        schemes={
            name: StringList(list_=list(scopes) or None) for name, scopes in requirement.items()
        }
    )


_Outcome: TypeAlias = Identity | InvalidCredentialsError | None
_OUTCOME_TYPES = (Identity, InvalidCredentialsError, NoneType)
_NO_SCOPES: frozenset[str] = frozenset()


class _RequiredScheme(NamedTuple):
    position: int
    """The position of the authenticator."""
    name: str
    scopes: frozenset[str]


class AuthGate:
    """Admits callers whose credentials satisfy one of several requirements; by default, any one
    scheme.

        AuthGate(tokens, keys)
            a token or a key
        AuthGate(tokens, require=[{"bearer": ["tasks"]}])
            a token with the scope (or role) tasks
        AuthGate(tokens, certificates, require=[{"mtls": [], "bearer": []}])
            both; the first one names the caller
        AuthGate(tokens, require=[{"bearer": []}, {}])
            a token, or anonymous

    The first satisfied requirement counts. The empty one is tried last, and only without any
    credentials: invalid ones are always rejected.

    With several schemes one name may belong to different people or teams. Subjects and teams then
    get the scheme as a prefix (``bearer:ada``, ``apiKey:ada``), unless ``shared_subjects`` says
    that a name means the same everywhere. Tenants get no prefix: requests name them too.

    The tenant of a request is the client's word where the credentials have none. With
    ``strict_tenants`` such a request is refused, so that the tenant of a task is always one that
    credentials have named.
    """

    def __init__(
        self,
        *authenticators: Authenticator,
        require: Sequence[SchemeRequirement] | None = None,
        shared_subjects: bool = False,
        strict_tenants: bool = False,
    ) -> None:
        if not authenticators:
            raise ValueError(
                "AuthGate: no authenticator given; pass at least one, or use OpenGate() to "
                "admit every request"
            )
        self._authenticators = authenticators
        self.strict_tenants = strict_tenants
        """True if a request may name a tenant only if its credentials name it too."""
        self._schemes: dict[str, SecurityScheme] = {}
        self._indexes: dict[str, int] = {}
        for index, each in enumerate(authenticators):
            self._register(index, each)
        self._requirements: Sequence[SchemeRequirement] = (
            [{name: ()} for name in self._indexes] if require is None else require
        )
        alternatives = [self._resolve(each) for each in self._requirements]
        self.can_be_anonymous = () in alternatives
        """True if a request without credentials is admitted too."""
        self._alternatives = [each for each in alternatives if each]
        self._should_qualify_subjects = (
            not shared_subjects and len({each[0].position for each in self._alternatives}) > 1
        )
        described: list[SecurityScheme] = []
        for required in self._alternatives:
            described += [
                self._schemes[each.name] for each in required if each.name in self._schemes
            ]
        self._challenges = list_challenges(described)
        servers = [
            each.authorization_server
            for each in authenticators
            if isinstance(each, HasAuthorizationServer)
        ]
        self.authorization_servers = tuple(dict.fromkeys(filter(None, servers)))
        """Issuers of the tokens that callers may present."""

    def admit(self, credentials: Credentials) -> Caller | Awaitable[Caller]:
        """Run every authenticator; the result is immediate unless one of them has to wait."""
        outcomes = [_authenticate(each, credentials) for each in self._authenticators]
        # without a coroutine where nothing waits: every request passes here
        finished = [each for each in outcomes if isinstance(each, _OUTCOME_TYPES)]
        if len(finished) == len(outcomes):
            return self._decide(finished)
        return self._decide_async(outcomes)

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the schemes of all authenticators."""
        return self._schemes

    def security_requirements(self) -> Sequence[SecurityRequirement]:
        """Return the requirements as the card lists them, without those that name a scheme that no
        card can describe.
        """
        describable = [each for each in self._requirements if self._schemes.keys() >= each.keys()]
        return list(map(to_security_requirement, describable))

    def _register(self, index: int, authenticator: object) -> None:
        if not isinstance(authenticator, Authenticator):
            raise TypeError(
                f"AuthGate: {authenticator!r} is not an authenticator; it has no method "
                "authenticate(headers)"
            )
        schemes: Mapping[str, SecurityScheme] = (
            authenticator.security_schemes() if isinstance(authenticator, DescribesSchemes) else {}
        )
        for name in schemes or (type(authenticator).__name__,):
            if name in self._indexes:
                raise ValueError(
                    f"AuthGate: two authenticators have the scheme {name!r}; give one of "
                    "them another name"
                )
            self._indexes[name] = index
        self._schemes.update(schemes)

    def _resolve(self, requirement: SchemeRequirement) -> tuple[_RequiredScheme, ...]:
        if unknown := requirement.keys() - self._indexes.keys():
            raise ValueError(
                f"AuthGate: no scheme {', '.join(sorted(unknown))}; the schemes are "
                f"{', '.join(self._indexes)}"
            )
        return tuple(
            _RequiredScheme(self._indexes[name], name, frozenset(scopes))
            for name, scopes in requirement.items()
        )

    async def _decide_async(self, outcomes: Sequence[_Outcome | Awaitable[_Outcome]]) -> Caller:
        known: list[_Outcome] = []
        for each in outcomes:
            if isinstance(each, _OUTCOME_TYPES):
                known.append(each)
            else:
                known.append(await each)
        return self._decide(known)

    def _decide(self, outcomes: Sequence[_Outcome]) -> Caller:
        missing: frozenset[str] | None = None
        for alternative in self._alternatives:
            satisfied: list[tuple[_RequiredScheme, Identity]] = []
            for required in alternative:
                identity = outcomes[required.position]
                if isinstance(identity, Identity):
                    satisfied.append((required, identity))
            if len(satisfied) < len(alternative):
                continue
            lacking = _NO_SCOPES.union(
                *(
                    required.scopes - identity.scopes - identity.roles
                    for required, identity in satisfied
                )
            )
            if not lacking:
                return self._build_caller(satisfied)
            missing = lacking if missing is None else missing
        if missing is not None:
            raise InsufficientScopeError(missing)
        # before the challenge, which would invite another attempt
        if blocked := next(
            (each for each in outcomes if isinstance(each, TooManyFailedAttemptsError)), None
        ):
            raise TooManyRequestsError(blocked.retry_after_seconds)
        if invalid := next(
            (each for each in outcomes if isinstance(each, InvalidCredentialsError)), None
        ):
            raise ChallengeError(self._challenge(invalid.reason), invalid.reason)
        # credentials that do not suffice make no caller anonymous
        if self.can_be_anonymous and not any(outcomes):
            return ANONYMOUS
        raise ChallengeError(self._challenge())

    def _challenge(self, reason: str | None = None) -> str:
        """Build the value of ``WWW-Authenticate``; a reason needs the bearer scheme, which alone
        has a parameter for it (RFC 6750).
        """
        first, *others = self._challenges
        if reason is not None and first == "Bearer":
            description = (
                reason.encode("ascii", "replace").decode().replace("\\", "").replace('"', "'")
            )
            first = f'Bearer error="invalid_token", error_description="{description}"'
        return ", ".join((first, *others))

    def _build_caller(self, satisfied: Sequence[tuple[_RequiredScheme, Identity]]) -> Caller:
        (first, identity), *others = satisfied
        subject = identity.subject
        team = identity.team
        if self._should_qualify_subjects:
            subject = f"{first.name}:{subject}"
            team = team and f"{first.name}:{team}"
        granted = {first.name: identity.scopes | identity.roles}
        known = identity.tenant, identity.scopes, identity.roles, identity.claims
        caller = Caller(subject, *known, team, granted, identity.expires_at, identity.token)
        for required, other in others:
            if other.tenant and caller.tenant not in {"", other.tenant}:
                raise ChallengeError(self._challenge(), "The credentials name different tenants")
            caller = replace(
                caller,
                tenant=caller.tenant or other.tenant,
                scopes=caller.scopes | other.scopes,
                roles=caller.roles | other.roles,
                claims={**other.claims, **caller.claims},
                schemes={**caller.schemes, required.name: other.scopes | other.roles},
                expires_at=min(
                    (each for each in (caller.expires_at, other.expires_at) if each is not None),
                    default=None,
                ),
            )
        return caller


def _authenticate(
    authenticator: Authenticator, credentials: Credentials
) -> _Outcome | Awaitable[_Outcome]:
    try:
        outcome = authenticator.authenticate(credentials)
    except InvalidCredentialsError as error:
        return error
    if isinstance(outcome, _OUTCOME_TYPES):
        return outcome
    return _await_outcome(outcome)


async def _await_outcome(pending: Awaitable[Identity | None]) -> _Outcome:
    try:
        return await pending
    except InvalidCredentialsError as error:
        return error


def list_challenges(schemes: Iterable[SecurityScheme]) -> list[str]:
    """List the challenges of some schemes, at least one: a 401 has to have one."""
    return list(dict.fromkeys(map(_build_challenge, schemes))) or ["Bearer"]


def _build_challenge(scheme: SecurityScheme) -> str:
    """Name a scheme as ``WWW-Authenticate`` does; API keys have no registered name."""
    match scheme:
        case SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme=name)):
            if name.lower() == "basic":
                return 'Basic realm="agent", charset="UTF-8"'
            return name.capitalize()
        case SecurityScheme(
            api_key_security_scheme=APIKeySecurityScheme(location=location, name=name)
        ):
            return f'ApiKey in="{location}", name="{name}"'
        case SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme()):
            return "Mutual"
        case _:
            return "Bearer"
