"""A gate that lets in whoever proves who they are, in one of the ways that the card of the surface names.

    Checkpoint(tokens, keys)                                            by a token or by a key
    Checkpoint(tokens, require=[{"bearer": ["tasks"]}])                 by a token with a scope (or role) of that name
    Checkpoint(tokens, certificates, require=[{"mtls": [], "bearer": []}])   by both at once; the first one says who it is
    Checkpoint(tokens, require=[{"bearer": []}, {}])                    by a token, or as a stranger who brings nothing at all

The requirements are tried in their order, and the first one that is satisfied lets in. One that asks for nothing is tried last, and only for those
who bring no proof: whoever brings a wrong one is refused.

Where different schemes prove who somebody is, one name may mean different people, or different teams. Subjects and teams are then told apart by the
scheme (``bearer:ada``, ``apiKey:ada``), unless ``same_people`` says that a name means the same everywhere. A tenant keeps its name, since requests
name it too; what belongs to it belongs to somebody all the same.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import NamedTuple, TypeAlias

from a2a_contract.v1_0 import SecurityRequirement, SecurityScheme
from a2a_runtime.auth.challenges import challenge_of
from a2a_runtime.auth.credentials import Credentials
from a2a_runtime.auth.gate import ANYONE, ChallengeError, ScopeError
from a2a_runtime.auth.guesses import GuessedTooOftenError
from a2a_runtime.auth.identity import Authenticator, Describing, Identity, RefusedError
from a2a_runtime.auth.rates import TooOftenError
from a2a_runtime.auth.requirement import Requirement, described
from a2a_runtime.caller import Caller

_Outcome: TypeAlias = Identity | RefusedError | None
_DECIDED = (Identity, RefusedError, NoneType)
_NOTHING: frozenset[str] = frozenset()


class _Need(NamedTuple):
    """One scheme of a requirement: who checks it, and what it must give."""

    place: int
    scheme: str
    scopes: frozenset[str]


class Checkpoint:
    """Lets in whoever satisfies one of some requirements; without any, whoever has one proof of any kind."""

    def __init__(self, *authenticators: Authenticator, require: Sequence[Requirement] | None = None, same_people: bool = False) -> None:
        self._authenticators = authenticators
        self._schemes: dict[str, SecurityScheme] = {}
        self._places: dict[str, int] = {}
        for place, each in enumerate(authenticators):
            self._add(place, each)
        if not authenticators:
            raise ValueError("there is nobody who would know any caller; name an authenticator, or use OpenGate() to let everybody in")
        anything: Sequence[Requirement] = [{name: ()} for name in self._places]
        self._required = anything if require is None else require
        needs = [self._needs(each) for each in self._required]
        self._strangers = () in needs
        self._needs_of = [each for each in needs if each]
        self._apart = not same_people and len({each[0].place for each in self._needs_of}) > 1
        self._challenge = challenge_of([self._schemes[need.scheme] for each in self._needs_of for need in each if need.scheme in self._schemes])

    def admit(self, credentials: Credentials) -> Caller | Awaitable[Caller]:
        """Ask every authenticator, and decide at once unless one of them takes time."""
        found: list[_Outcome] = []
        for place, each in enumerate(self._authenticators):
            outcome = _ask(each, credentials)
            if not isinstance(outcome, _DECIDED):
                return self._decide_later(found, outcome, [_ask(other, credentials) for other in self._authenticators[place + 1 :]])
            found.append(outcome)
        return self._decide(found)

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Describe every kind of proof."""
        return self._schemes

    def security_requirements(self) -> Sequence[SecurityRequirement]:
        """Say what is required, as the card has it; a requirement with a proof that no card can describe is left out."""
        told = [each for each in self._required if self._schemes.keys() >= each.keys()]
        return list(map(described, told))

    def _add(self, place: int, authenticator: object) -> None:
        if not isinstance(authenticator, Authenticator):
            raise TypeError(f"{authenticator!r} is no authenticator: it has no method authenticate(headers)")
        described: Mapping[str, SecurityScheme] = authenticator.security_schemes() if isinstance(authenticator, Describing) else {}
        for name in described or (type(authenticator).__name__,):
            if name in self._places:
                raise ValueError(f"two authenticators are called {name!r}; give one of them another name")
            self._places[name] = place
        self._schemes.update(described)

    def _needs(self, requirement: Requirement) -> tuple[_Need, ...]:
        unknown = requirement.keys() - self._places.keys()
        if unknown:
            raise ValueError(f"there is no scheme {', '.join(sorted(unknown))}; there are {', '.join(self._places)}")
        return tuple(_Need(self._places[name], name, frozenset(scopes)) for name, scopes in requirement.items())

    async def _decide_later(
        self, found: Sequence[_Outcome], awaited: Awaitable[_Outcome], others: Sequence[_Outcome | Awaitable[_Outcome]]
    ) -> Caller:
        rest = [each if isinstance(each, _DECIDED) else await each for each in (awaited, *others)]
        return self._decide([*found, *rest])

    def _decide(self, found: Sequence[_Outcome]) -> Caller:
        missing: frozenset[str] | None = None
        for needs in self._needs_of:
            proved = [(need, identity) for need in needs if isinstance(identity := found[need.place], Identity)]
            if len(proved) < len(needs):
                continue
            lacking = _NOTHING.union(*(need.scopes - identity.scopes - identity.roles for need, identity in proved))
            if not lacking:
                return self._caller(proved)
            missing = lacking if missing is None else missing
        if missing is not None:
            raise ScopeError(missing)
        if guessed := next((each for each in found if isinstance(each, GuessedTooOftenError)), None):
            raise TooOftenError(guessed.after)
        refused = next((each for each in found if isinstance(each, RefusedError)), None)
        if refused is None and self._strangers and not any(found):
            return ANYONE
        raise ChallengeError(self._challenge(refused), "" if refused is None else refused.reason)

    def _caller(self, proved: Sequence[tuple[_Need, Identity]]) -> Caller:
        (first, who), *others = proved
        subject, team = who.subject, who.team
        if self._apart:
            subject, team = f"{first.scheme}:{subject}", team and f"{first.scheme}:{team}"
        caller = Caller(subject, who.tenant, who.scopes, who.roles, who.claims, team, {first.scheme: who.scopes | who.roles}, who.expires)
        for need, also in others:
            if also.tenant and caller.tenant not in {"", also.tenant}:
                raise ChallengeError(self._challenge(None), "The proofs name different tenants")
            caller = replace(
                caller,
                tenant=caller.tenant or also.tenant,
                scopes=caller.scopes | also.scopes,
                roles=caller.roles | also.roles,
                claims={**also.claims, **caller.claims},
                proofs={**caller.proofs, need.scheme: also.scopes | also.roles},
                expires=min((each for each in (caller.expires, also.expires) if each is not None), default=None),
            )
        return caller


def _ask(authenticator: Authenticator, credentials: Credentials) -> _Outcome | Awaitable[_Outcome]:
    try:
        answer = authenticator.authenticate(credentials)
    except RefusedError as refused:
        return refused
    return answer if isinstance(answer, _DECIDED) else _awaited(answer)


async def _awaited(answer: Awaitable[Identity | None]) -> _Outcome:
    try:
        return await answer
    except RefusedError as refused:
        return refused
