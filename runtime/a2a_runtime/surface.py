"""A surface: an agent at a path, with its dialects, gate, policy and limits.

One agent may have several surfaces: an open one with some of its skills, a protected one with all
of them, one in another dialect. A task belongs to the surface on which it was created and does not
exist on any other.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from a2a_contract.dialects import DIALECTS, V0_3, V0_3_PROTO, V1_0
from a2a_contract.errors import UnavailableError
from a2a_contract.extensions import PushSignatures
from a2a_contract.v1_0 import (
    AgentCardSignature,
    AgentInterface,
    SecurityRequirement,
    SecurityScheme,
    Task,
)
from a2a_runtime.agent import Agent, SkillDefinition, SkillOverride
from a2a_runtime.auth.gate import AuthGate, DescribableGate, Gate, OpenGate
from a2a_runtime.auth.host import HostAuthenticator, HostCaller, check_caller_options
from a2a_runtime.auth.rate_limit import RateLimiter
from a2a_runtime.base.caller import Caller, SurfaceKey
from a2a_runtime.engine.handlers.skill import HandlerKind
from a2a_runtime.ports.registry import find_support, load_variants
from a2a_runtime.ports.server_port import ServerPort
from a2a_runtime.ports.wire_variant import VariantKey, WireVariant

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

COMBINED = "combined"
"""The card that clients of several dialects can read."""

T = TypeVar("T")

_POSITIVE = "positive"
_PATH = re.compile(r"(/[^/\s{}?#%\\]+)*")
_SPELLINGS = {
    dialect.spelling: dialect.name for dialect in DIALECTS.values() if dialect.form_of is None
}
"""Names of dialects by the spelling of settings."""


AuthorizationPolicy: TypeAlias = Callable[[Caller, str, Task | None], bool | Awaitable[bool]]
"""Decides whether a caller may run an operation (its name) on one of their tasks, or on none."""


class SignsCards(Protocol):
    """Signer of cards, as ``crypto.card_signatures.CardSigner``."""

    def sign(self, card: Mapping[str, object], dialect: str) -> list[AgentCardSignature]:
        """Sign a card in a dialect."""
        ...


def find_dialect(spelling: str) -> str:
    """Find the name of a dialect by its version, as settings spell it, or by the name itself; raise
    ``ValueError`` for an unknown one.
    """
    name = _SPELLINGS.get(spelling, spelling)
    if name not in _SPELLINGS.values():
        raise ValueError(
            f"dialects: unknown dialect {spelling!r}; use one of {', '.join(_SPELLINGS)}"
        )
    return name


def positive(default: T) -> T:
    """Declare a field whose number is above 0."""
    return field(default=default, metadata={_POSITIVE: True})


def invalid_numbers(values: DataclassInstance) -> Iterator[tuple[str, str]]:
    """List the numbers of a dataclass that are negative or not finite, or 0 in a ``positive``
    field, each with its problem.
    """
    for each in fields(values):
        number = getattr(values, each.name)
        is_positive = each.metadata.get(_POSITIVE, False)
        if isinstance(number, bool) or not isinstance(number, int | float):
            continue
        if not isfinite(number) or number < 0 or (number == 0 and is_positive):
            yield (
                each.name,
                f"{number} is not a finite number {'above 0' if is_positive else 'of at least 0'}",
            )


def find_lowest_limit(limit: int | None, setting: int) -> int | None:
    """Return the lower one of the limit of a surface and a setting of the operator, which is none
    when it is 0.
    """
    if setting:
        return min(limit or setting, setting)
    return limit


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a surface: sizes, counts and times."""

    body_bytes: int = positive(10 * 1024 * 1024)
    """Size of a request body."""
    body_seconds: float | None = positive(30.0)
    """Time for a request body to arrive, exceeded by at most a quarter; ``None``: unlimited."""
    parts: int = positive(1000)
    """Parts of a message."""
    part_bytes: int | None = positive(None)
    """Size of one part as JSON; ``None``: limited by ``body_bytes`` only."""
    depth: int | None = positive(None)
    """Levels of nesting in data and metadata; ``None``: as many as a store can keep."""
    history: int | None = None
    """Messages of a task's history in one response; ``None``: all."""
    webhooks: int = positive(20)
    """Webhooks of a task: each of its events is sent to all of them."""
    concurrency: int | None = None
    """Concurrent requests, streams included; ``None``: unlimited."""
    streams: int = positive(1000)
    """Open streams of one caller in one process; anonymous callers count by their address."""
    open_tasks: int | None = positive(None)
    """Tasks of one caller that have not ended, counted in the store for each new task; ``None``:
    unlimited.
    """
    keep_alive_interval: float = positive(15.0)
    """Seconds between the comments that keep an idle stream open."""
    card_max_age: int = 300
    """Seconds for which clients may cache a card."""

    def __post_init__(self) -> None:
        if problems := [f"Limits.{name}: {problem}" for name, problem in invalid_numbers(self)]:
            raise ValueError("; ".join(problems))


@dataclass(frozen=True, slots=True)
class RouteOptions:
    """Options of Litestar for all routes of a surface; guards and middleware of the app run for
    them in any case.
    """

    guards: Sequence[Callable[..., object]] = ()
    """Guards of the surface, sync or async."""
    middleware: Sequence[Callable[..., object]] = ()
    opt: Mapping[str, object] = field(default_factory=dict[str, object])
    """Options that guards and middleware read, e.g. ``{"exclude_from_csrf": True}``."""
    tags: Sequence[str] = ()
    """Tags in the OpenAPI document; empty: the name of the agent."""
    include_in_schema: bool | None = (
        None  # in the OpenAPI document; by default, if the card is public
    )
    tenants_in_schema: bool = False
    """List the paths with a tenant in the OpenAPI document too; they work in any case."""
    exclude_from_auth: bool = False
    """Keep the authentication middleware of the app away: callers are those of the gate."""


@dataclass(frozen=True, eq=False)  # without slots, which leave no place for cached properties
class Surface:
    """An agent at a path."""

    agent: Agent
    path: str = ""
    """Begins with a slash and does not end with one; empty for the root."""
    dialects: frozenset[str] = frozenset((V1_0.name, V0_3.name))
    """Dialects of this surface (``1.0``, ``0.3``, ``mesh``), or their names in the contract; each
    brings its other forms along.
    """
    gate: Gate | None = None
    """Authenticates callers.

    ``OpenGate()`` or ``None``: every caller is anonymous; only an app of ``create_app`` accepts
    ``None``.
    """
    caller: HostCaller | None = None
    """Instead of a gate: identifies callers that the application around the agent has
    authenticated, see ``auth.host_user``.
    """
    policy: AuthorizationPolicy | None = None
    """Authorizes operations, see ``service.authorization``; ``None``: callers may do everything
    with their own tasks.
    """
    limits: Limits = Limits()
    rate_limiter: RateLimiter | None = None
    """Limits the requests of each caller; ``None``: unlimited."""
    only: frozenset[str] | None = None
    """Ids of the skills of this surface; ``None``: all skills of the agent."""
    override: SkillOverride | None = None
    """Replaces what the card says of the only skill of the surface."""
    cancel_on_disconnect: bool = False
    """Cancel the task of a blocking request whose client disconnects."""
    deduplicate_messages: bool = False
    """Treat a message id like an ``Idempotency-Key``: a repeated id is the same message."""
    answer_within: float = 2.0
    """Seconds after which ``tasks/send`` of the mesh dialect returns a working task instead of
    waiting for its handler; 0: at once.
    """
    shared_card: str = COMBINED
    """Card at the path that dialects share, for clients that name no version: that of a dialect, or
    the combined one.
    """
    default_v0_3_form: str = V0_3_PROTO.name
    """Form of 0.3 for HTTP+JSON requests without a body to tell it by: that of the official SDK, or
    the documented one.
    """
    variants: Sequence[WireVariant | VariantKey] = ()
    """Further forms on the wire, which no request shows: by their keys (``double_base64``,
    ``srs_forms``, and ``1.0.1`` for the statuses and media type of that patch), or as objects.
    """
    signer: SignsCards | None = None
    """Signs the cards; ``None``: cards are not signed."""
    push_signatures: PushSignatures | None = None
    """Signatures of notifications, as the card declares them; set by an app with signing keys."""
    public_url: str | None = None
    """URL of this surface, with its path; ``None``: derived from the agent's URL or from the
    request.
    """
    public_card: bool | None = None
    """Readers of the card and its schemas.

    ``False``: admitted callers; ``True``: every client, also past the authentication middleware of
    the app; ``None``: every client that this middleware lets through.
    """
    routes: RouteOptions = RouteOptions()
    """Options of Litestar for the routes."""
    grpc: ServerPort | None = None
    """The port of this surface for gRPC, beside HTTP: ``GrpcOptions(…)``; needs the extra ``grpc``.
    """
    other_interfaces: Sequence[AgentInterface] = ()
    """Further interfaces on the card, which this surface does not serve: bindings of others, or a
    gateway.
    """

    wire: tuple[WireVariant, ...] = field(init=False, default=())
    """The variants as objects."""

    def __post_init__(self) -> None:
        if not _PATH.fullmatch(self.path):
            raise ValueError(
                f"{self}: the path begins with a slash, does not end with one (root: ''), "
                "has no blanks, no parameters, none of ?#%\\"
            )
        self._resolve_dialects()
        check_caller_options(self, self.gate, self.caller)
        if self.caller is not None and self.routes.exclude_from_auth:
            raise ValueError(
                f"{self}: exclude_from_auth keeps out the users whom caller= reads; set "
                "gate= instead of caller=, or remove it"
            )
        self._check_answer_within()
        if self.grpc is not None:
            self.grpc.check(self)
        if self.shared_card not in {COMBINED, *self.dialects}:
            raise ValueError(
                f"{self}: shared_card: got {self.shared_card!r}; choose {COMBINED!r} or one "
                "of the surface's dialects"
            )
        if (
            self.signer is not None
            and not all(find_support(each).write_card for each in self.dialects)
            and self.configured_url is None
        ):
            raise ValueError(
                f"{self}: its cards are signed but it has no URL, so that a signature would "
                "vouch for the Host header of a request; "
                "set Agent(url=…), url under [agent] in a2a.toml, or Surface(public_url=…)"
            )
        if not self.agent.sources:
            self.check_skills()
        elif self.override is not None:
            raise ValueError(
                f"{self}: override= is for one skill, and the agent has sources of skills; "
                "use a surface without it"
            )
        for dialect in self.dialects:
            if check := find_support(dialect).check:
                check(self)

    def _resolve_dialects(self) -> None:
        """Replace the spellings of dialects by their names, and refuse unknown ones."""
        try:
            # The dataclass is frozen, also for its own methods.
            object.__setattr__(self, "dialects", frozenset(map(find_dialect, self.dialects)))
            if self.shared_card != COMBINED:
                object.__setattr__(self, "shared_card", find_dialect(self.shared_card))
        except ValueError as error:
            raise ValueError(f"{self}: {error}") from None
        if not self.dialects:
            raise ValueError(f"{self}: dialects: got none; choose from {', '.join(_SPELLINGS)}")
        for dialect in map(DIALECTS.__getitem__, sorted(self.dialects)):
            if dialect.extends is not None and dialect.home not in self.dialects:
                raise ValueError(
                    f"{self}: dialects: {dialect.spelling} needs the version that it "
                    f"extends; add {DIALECTS[dialect.home].spelling!r}"
                )
        self._load_variants()

    def _load_variants(self) -> None:
        if not self.variants:
            return
        try:
            object.__setattr__(self, "wire", tuple(load_variants(self.variants)))
            for variant in self.wire:
                variant.check(self)
        except ValueError as error:
            raise ValueError(f"{self}: {error}") from None

    def check_skills(self) -> None:
        """Refuse a surface without skills, or with an option that does not fit them."""
        if unknown := ", ".join(sorted((self.only or frozenset()) - self.skills.keys())):
            raise ValueError(
                f"{self}: the agent has no skill {unknown}; add skills before mounting the agent"
            )
        if not self.skills:
            raise ValueError(f"{self}: no skill; add skills before mounting the agent")
        if self.override is not None and len(self.skills) != 1:
            raise ValueError(
                f"{self}: override: is for one skill, but the surface has "
                f"{len(self.skills)}; choose one with only="
            )
        self._check_dependencies()

    def _check_answer_within(self) -> None:
        for name, problem in invalid_numbers(self):
            raise ValueError(f"{self}: {name}: {problem}")
        if self.answer_within != Surface.answer_within and not any(
            find_support(each).build_service for each in self.dialects
        ):
            raise ValueError(
                f"{self}: answer_within: is for the mesh dialect, which this surface does "
                "not have; remove it, or add 'mesh'"
            )

    def __str__(self) -> str:
        return f"surface {self.path or '/'!r} of agent {self.agent.name!r}"

    @cached_property
    def skills(self) -> Mapping[str, SkillDefinition]:
        """Skills of this surface."""
        if self.agent.sources:
            raise UnavailableError(f"{self}: its sources of skills are not open")
        offered = self._select_skills(self.agent.skills)
        if self.override is None:
            return offered
        return {key: self.override.apply(skill) for key, skill in offered.items()}

    def replace_skills(self, skills: Mapping[str, SkillDefinition] | None) -> None:
        """Replace the skills at once by those that sources offer now; ``None``: the sources are
        closed. Readers tell the change by the identity.
        """
        if skills is None:
            vars(self).pop("skills", None)
        else:
            vars(self)["skills"] = self._select_skills(skills)
        vars(self).pop("restricted_skills", None)

    def _select_skills(
        self, skills: Mapping[str, SkillDefinition]
    ) -> Mapping[str, SkillDefinition]:
        return {
            key: skill for key, skill in skills.items() if self.only is None or key in self.only
        }

    @cached_property
    def restricted_skills(self) -> Mapping[str, SkillDefinition]:
        """Skills of this surface that not every caller may use."""
        return {
            key: skill
            for key, skill in self.skills.items()
            if skill.only_extended or skill.security_requirements
        }

    @cached_property
    def effective_gate(self) -> Gate | None:
        """Gate that admits the callers; ``None`` if every caller is anonymous."""
        if self.caller is not None:
            return AuthGate(HostAuthenticator(self.caller, self.agent.security_schemes))
        if isinstance(self.gate, OpenGate):
            return None
        return self.gate

    @cached_property
    def storage_key(self) -> str:
        """Key of the surface in stored tasks."""
        return SurfaceKey(self.path or "/", self.agent.name).to_text()

    @cached_property
    def chain_name(self) -> str:
        """Name of the agent in a chain of calls, with its URL if one is configured: agents of
        others may have the same name.
        """
        if self.configured_url:
            return f"{self.agent.name} ({self.configured_url})"
        return self.agent.name

    @cached_property
    def required_extensions(self) -> frozenset[str]:
        """Extensions that a client has to activate when it sends a message."""
        return frozenset(
            each.uri for each in self.agent.capabilities.extensions if each.uri and each.required
        )

    @property
    def is_streaming(self) -> bool:
        """True if the card says that the agent streams."""
        declared = self.agent.capabilities.streaming
        if declared is None:
            return any(
                each.skill.handler_kind is HandlerKind.STREAM for each in self.skills.values()
            )
        return declared

    @property
    def configured_url(self) -> str | None:
        """URL of the surface, if the operator has configured one; any other URL comes from the
        headers of a request.
        """
        if self.public_url:
            return self.public_url.rstrip("/")
        if self.agent.url:
            return self.agent.url.rstrip("/") + self.path
        return None

    @property
    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Security schemes of the gate, or those that the agent declares for a gate that cannot
        describe itself.
        """
        if isinstance(self.gate, DescribableGate):
            return self.gate.security_schemes()
        return self.agent.security_schemes

    @property
    def security_requirements(self) -> Sequence[SecurityRequirement]:
        """Alternatives of what a caller has to present."""
        if isinstance(self.gate, DescribableGate):
            return self.gate.security_requirements()
        return self.agent.security_requirements

    @property
    def authorization_servers(self) -> Sequence[str]:
        """Issuers of the tokens that callers may present."""
        if isinstance(self.gate, AuthGate):
            return self.gate.authorization_servers
        return ()

    def _check_dependencies(self) -> None:
        try:
            dependencies = self.agent.build_dependencies()
            for skill in self.skills.values():
                dependencies.bind(skill.skill)
        except ValueError as error:
            raise ValueError(f"{self}: {error}") from error

    def activate_extensions(self, extensions: Sequence[str]) -> tuple[str, ...]:
        """Select the requested extensions that the agent has; the response names them."""
        if not extensions:
            return ()
        declared = {extension.uri for extension in self.agent.capabilities.extensions}
        return tuple(dict.fromkeys(uri for uri in extensions if uri in declared))
