"""Where an agent is mounted, for whom, and how it speaks there.

One agent may have several surfaces: one for everybody with some of its skills, one for known callers with all of them, one that speaks another
dialect. A task belongs to the surface on which it was created and does not exist on any other.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Protocol, TypeAlias

from a2a_contract.dialects import DIALECTS, MESH, V0_3, V0_3_PROTO, V1_0
from a2a_contract.v1_0 import AgentCardSignature, SecurityRequirement, SecurityScheme, Task
from a2a_runtime.agent import Agent, SkillDefinition, SkillOverride
from a2a_runtime.auth.gate import DescribableGate, Gate
from a2a_runtime.auth.rate_limit import RateLimiter
from a2a_runtime.caller import Caller
from a2a_runtime.execution.runner import Skills
from a2a_runtime.execution.skill import Skill
from a2a_runtime.settings import invalid_numbers

COMBINED = "combined"
"""The card that clients of several dialects can read."""

_UNSAID = (
    "its cards are signed, and nobody has said where it is, so that a signature would prove the address that whoever asks has written as Host; "
    "say it with Agent(url=…), with url under [agent] in a2a.toml, or with Surface(public_url=…)"
)
_POSITIVE = frozenset(("body", "body_seconds", "parts", "part_bytes", "depth", "webhooks", "keep_alive"))
_PATH = re.compile(r"(/[^/\s{}?#%\\]+)*")
_OWN = frozenset(dialect.name for dialect in DIALECTS.values() if dialect.form_of is None)


AuthorizationPolicy: TypeAlias = Callable[[Caller, str, Task | None], bool | Awaitable[bool]]
"""Whether a caller may do something (the name of an operation) with a task of theirs, or with none."""


class SignsCards(Protocol):
    """Makes signatures of cards, as ``signing.cards.CardSigner`` does."""

    def sign(self, card: Mapping[str, object], dialect: str) -> list[AgentCardSignature]:
        """Sign a card as it is in a dialect."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What a surface takes, and how long it keeps silent."""

    body_bytes: int = 10 * 1024 * 1024
    """Bytes of a request."""
    body_seconds: float | None = 30.0
    """Seconds that a request has to arrive in, or a quarter more; ``None`` for as long as it takes."""
    parts: int = 1000
    """Parts of a message."""
    part_bytes: int | None = None
    """Bytes of one part as JSON; ``None`` for as many as a request has."""
    depth: int | None = None
    """Levels of nesting in data and metadata; ``None`` for as many as can be kept at all."""
    history: int | None = None
    """The most messages of a task's history in one answer; ``None`` for all."""
    webhooks: int = 20
    """Webhooks of a task: each of its events is sent to all of them."""
    concurrency: int | None = None
    """Requests that are served at the same time, streams included; ``None`` for any number."""
    keep_alive_interval: float = 15.0
    """Seconds between the comments that keep a silent stream open."""
    card_max_age: int = 300
    """Seconds for which a card may be kept by whoever has read it."""

    def __post_init__(self) -> None:
        if wrong := [*invalid_numbers(asdict(self), _POSITIVE, "Limits: ")]:
            raise ValueError("; ".join(wrong))


@dataclass(frozen=True, eq=False, slots=True)
class Surface:
    """An agent at a path."""

    agent: Agent
    path: str = ""
    """Begins with a slash and does not end with one; empty for the root."""
    dialects: frozenset[str] = frozenset((V1_0.name, V0_3.name))
    """The dialects that are spoken here, each with the dialects that are only a form of it."""
    gate: Gate | None = None
    """Who may come in; ``None`` for everybody."""
    policy: AuthorizationPolicy | None = None
    """What else each caller may do, asked as ``service.policed`` says; ``None`` for everything with what is theirs."""
    limits: Limits = Limits()
    rate_limiter: RateLimiter | None = None
    """How often each caller may ask; ``None`` for as often as they like."""
    only: frozenset[str] | None = None
    """The ids of the skills that are offered here; ``None`` for all."""
    override: SkillOverride | None = None
    """How the only skill of the surface is shown here."""
    cancel_on_disconnect: bool = False
    """Whether the task is canceled of a caller that goes away while it waits for it."""
    deduplicate_messages: bool = False
    """Whether a message whose id was seen before is the same message again, as if its id were an ``Idempotency-Key``."""
    shared_card: str = COMBINED
    """What the shared path of cards gives to whoever names no version: a dialect's card, or the combined one."""
    default_v0_3_form: str = V0_3_PROTO.name
    """Which form of 0.3 a request over HTTP+JSON means that has no body to show one: the one that the official SDK reads, or the documented."""
    signer: SignsCards | None = None
    """Signs the cards; ``None`` when they are not signed."""
    public_url: str | None = None
    """Where clients reach this surface, with its path; ``None`` when it follows from the agent's URL or from the request."""
    storage_key: str = field(init=False)
    """Names the surface in the store: agents that share one do not share their tasks, also where they are at the same path."""
    skills: Mapping[str, SkillDefinition] = field(init=False)
    """The skills that are offered here. The first one is meant by a request that names none."""
    required_extensions: frozenset[str] = field(init=False)
    """The extensions that a client must ask for when it sends a message."""

    def __post_init__(self) -> None:
        name = f"the surface of agent {self.agent.name!r} at {self.path or '/'!r}"
        if not _PATH.fullmatch(self.path):
            raise ValueError(f"{name}: a path begins with a slash, does not end with one, and has no blanks, no parameters and none of ?#%\\")
        if not self.dialects or not self.dialects <= _OWN:
            raise ValueError(f"{name}: the dialects are some of {', '.join(sorted(_OWN))}, not {', '.join(sorted(self.dialects)) or 'none'}")
        if self.shared_card not in {COMBINED, *self.dialects}:
            raise ValueError(f"{name}: the card is {COMBINED!r} or one of the dialects spoken there, not {self.shared_card!r}")
        if self.signer is not None and self.dialects != frozenset((MESH.name,)) and self.configured_url is None:
            raise ValueError(f"{name}: {_UNSAID}")
        unknown = (self.only or frozenset()) - self.agent.skills.keys()
        if unknown:
            raise ValueError(f"{name}: the agent has no skill {', '.join(sorted(unknown))}; add its skills before mounting it")
        offered = {key: skill for key, skill in self.agent.skills.items() if self.only is None or key in self.only}
        if not offered:
            raise ValueError(f"{name}: there is no skill; add its skills before mounting it")
        if self.override is not None:
            if len(offered) != 1:
                raise ValueError(f"{name}: shown_as is for a surface with one skill, and this has {len(offered)}; choose one with only=")
            offered = {key: self.override.apply(skill) for key, skill in offered.items()}
        required = frozenset(each.uri for each in self.agent.capabilities.extensions if each.uri and each.required)
        object.__setattr__(self, "skills", offered)  # frozen for everyone else
        object.__setattr__(self, "storage_key", f"{self.path or '/'} {self.agent.name}")
        object.__setattr__(self, "required_extensions", required)

    @property
    def configured_url(self) -> str | None:
        """Where clients reach the surface, if that was said; whatever else there is to go by was written by who sends a request."""
        if self.public_url:
            return self.public_url.rstrip("/")
        return self.agent.url.rstrip("/") + self.path if self.agent.url else None

    @property
    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """The ways to prove who one is: the gate's, or what the agent says of a gate that cannot say it."""
        return self.gate.security_schemes() if isinstance(self.gate, DescribableGate) else self.agent.security_schemes

    @property
    def security_requirements(self) -> Sequence[SecurityRequirement]:
        """What is required to come in, any one of which is enough."""
        return self.gate.security_requirements() if isinstance(self.gate, DescribableGate) else self.agent.security_requirements

    def check_protection(self) -> None:
        """Refuse to be served with a card that promises what nobody keeps."""
        name = f"the surface of agent {self.agent.name!r} at {self.path or '/'!r}"
        if self.gate is None and self.security_requirements:
            raise ValueError(f"{name}: the card says that callers prove who they are, and nobody looks; give the surface a gate")
        if isinstance(self.gate, DescribableGate) and self.agent.security_requirements:
            raise ValueError(f"{name}: the gate says what callers prove, and so does the agent; take security_requirements away from the agent")
        known = self.security_schemes.keys()
        for skill in self.skills.values():
            unknown = {scheme for each in skill.security_requirements for scheme in each.schemes or ()} - known
            if unknown:
                raise ValueError(f"{name}: skill {skill.id!r} needs {', '.join(sorted(unknown))}; there is {', '.join(known) or 'no scheme'}")

    def activate_extensions(self, extensions: Sequence[str]) -> tuple[str, ...]:
        """Choose, of the extensions that a client asks for, those that the agent has; the answer names them to the client."""
        if not extensions:
            return ()
        declared = {extension.uri for extension in self.agent.capabilities.extensions}
        return tuple(dict.fromkeys(uri for uri in extensions if uri in declared))


def collect_skills(surfaces: Iterable[Surface]) -> Skills:
    """Collect what an engine needs to run the skills of some surfaces."""
    skills = Skills()
    for surface in surfaces:
        skills.add(surface.storage_key, *(_run_of(surface, skill.skill) for skill in surface.skills.values()))
    return skills


def _run_of(surface: Surface, skill: Skill) -> Skill:
    """Have consumers of mesh read what went wrong, and a text of whatever was returned; where they are alone, nobody can answer a question."""
    if MESH.name not in surface.dialects:
        return skill
    return replace(skill, expose_errors=True, can_ask=len(surface.dialects) > 1)
