"""An agent: its description, its skills and their handlers.

Data and one decorator; nothing here knows HTTP.

    agent = Agent("hello", description="Greets people.")

    @agent.skill("greet", tags=("greeting",))
    async def greet(ctx):
        return f"Hello, {ctx.text}!"

A ``Surface`` mounts an agent at a path, with a gate and dialects.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar, Unpack, overload

from a2a_contract.base import JsonObject
from a2a_contract.errors import A2AError
from a2a_contract.v1_0 import (
    AgentExtension,
    AgentProvider,
    Message,
    SecurityRequirement,
    SecurityScheme,
)
from a2a_runtime.auth.gate import to_security_requirement
from a2a_runtime.base.caller import Caller
from a2a_runtime.engine.handlers.injection import ProcessDependencies
from a2a_runtime.engine.handlers.providers import CONTEXT, Provider
from a2a_runtime.engine.handlers.skill import HandlerKind, ReplyKind, Skill
from a2a_runtime.skills.contract import AnyContract
from a2a_runtime.skills.options import (
    MessageCheck,
    SkillOptions,
    build_worker_options,
    check_options,
)

if TYPE_CHECKING:
    from a2a_runtime.ports.skill_source import SkillSource

AnyHandler = TypeVar("AnyHandler", bound=Callable[..., object])

SkillRouter: TypeAlias = Callable[[Message, Caller], object]
"""Selects the skill of a message that names none: an async or plain function that returns its id,
or ``None`` for the default skill.
"""

AnyRouter = TypeVar("AnyRouter", bound=Callable[..., object])

DEFAULT_MODES = ("text/plain", "application/json")

_ID = re.compile(r"[^\s/\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Optional parts of the protocol that an agent supports, named as on the canonical card."""

    streaming: bool | None = True
    """``None``: the card tells whether one of the skills streams; any of them may be called with a
    stream in either case.
    """
    push_notifications: bool = False
    extended_agent_card: bool = False
    usage: bool = False
    """True if handlers report tokens and cost with ``ctx.usage``; the card then says where they
    are.
    """
    extensions: Sequence[AgentExtension] = ()


@dataclass(frozen=True, slots=True)
class SkillDefinition:
    """A skill as on the card, with the runnable skill.

    With ``only_extended``, only authenticated callers see it.
    """

    skill: Skill
    name: str
    description: str
    tags: Sequence[str]
    examples: Sequence[str]
    input_modes: Sequence[str]
    output_modes: Sequence[str]
    security_requirements: Sequence[SecurityRequirement] = ()
    only_extended: bool = False
    input_schema: JsonObject | None = None
    """JSON Schema of the input, if it is known."""
    asks: bool | None = None
    """Return whether the handler may ask its caller a question; ``None``: derived from its code."""
    contract: AnyContract | None = None
    """Typed schemas of the skill, if it has some; messages that do not match are refused."""
    is_default: bool = False
    """True for the skill of messages that name none."""
    can_merge: bool = False
    """True for a skill that streams and can return all at once; its handler reads
    ``ctx.request.is_streaming``.
    """
    check: MessageCheck | None = None
    """Further check of a message for a new task."""
    card_members: JsonObject | None = None
    """Members of the skill on unsigned cards of 0.3, whose schema is open."""

    @property
    def id(self) -> str:
        """Id of the skill in requests."""
        return self.skill.id

    @property
    def streams(self) -> bool:
        """True if the values that the handler yields are chunks of the result."""
        if self.contract is None:
            return self.skill.handler_kind is HandlerKind.STREAM
        return self.contract.streams

    def is_visible_to(self, caller: Caller) -> bool:
        """Return whether a caller may see the skill: one on the extended card only, if
        authenticated and permitted to use it.
        """
        return not self.only_extended or (caller.is_authenticated and self.is_usable_by(caller))

    def is_usable_by(self, caller: Caller) -> bool:
        """Return whether a caller satisfies one of the skill's security requirements, or there is
        none.
        """
        for each in self.security_requirements:
            needed = {name: scopes.list_ or () for name, scopes in (each.schemes or {}).items()}
            if caller.satisfies(needed):
                return True
        return not self.security_requirements

    def is_readable_by(self, caller: Caller) -> bool:
        """Return whether a caller may read what the skill has written: one that sees it and may use
        it.
        """
        return self.is_visible_to(caller) and self.is_usable_by(caller)


@dataclass(frozen=True, slots=True)
class SkillOverride:
    """Replacements for what the card says of a skill; ``None`` or empty keeps the declared
    value.
    """

    name: str | None = None
    description: str | None = None
    tags: Sequence[str] = ()
    input_modes: Sequence[str] = ()
    output_modes: Sequence[str] = ()

    def apply(self, skill: SkillDefinition) -> SkillDefinition:
        """Replace fields of a skill."""
        return replace(
            skill,
            name=self.name or skill.name,
            description=self.description or skill.description,
            tags=self.tags or skill.tags,
            input_modes=self.input_modes or skill.input_modes,
            output_modes=self.output_modes or skill.output_modes,
        )


@dataclass(frozen=True, eq=False, slots=True)
class Agent:
    """An agent. Add its skills and dependencies before it is mounted."""

    name: str
    description: str = ""
    version: str = "1.0.0"
    url: str | None = None
    """Public URL without the paths of surfaces; ``None``: derived from the request."""
    provider: AgentProvider | None = None
    default_input_modes: Sequence[str] = DEFAULT_MODES
    default_output_modes: Sequence[str] = DEFAULT_MODES
    capabilities: Capabilities = Capabilities()
    security_schemes: Mapping[str, SecurityScheme] = field(
        default_factory=dict[str, SecurityScheme]
    )
    security_requirements: Sequence[SecurityRequirement] = ()
    documentation_url: str | None = None
    icon_url: str | None = None
    sources: Sequence[SkillSource] = ()
    """Sources of further skills; they are opened in the lifespan of the app, and until then the
    agent is unavailable.
    """
    allow_cycles: bool = False
    """Take messages of agents that this agent has called itself, directly or through others;
    ``A2A_MAX_CHAIN_DEPTH`` ends the cycle.
    """
    selection_error: Callable[[str | None], A2AError] | None = None
    """Builds the error of a message that names an unknown skill, or none (``None``): even an only
    skill has to be named then.
    """
    _skills: dict[str, SkillDefinition] = field(
        default_factory=dict[str, SkillDefinition], init=False, repr=False
    )
    _routers: list[SkillRouter] = field(default_factory=list[SkillRouter], init=False, repr=False)
    _providers: dict[str, Provider] = field(
        default_factory=dict[str, Provider], init=False, repr=False
    )
    _members: dict[str, Sequence[str]] = field(
        default_factory=dict[str, Sequence[str]], init=False, repr=False
    )
    """Parameters that are members of the input, by skill."""

    def __post_init__(self) -> None:
        texts: dict[str, object] = {
            "name": self.name,
            "description": self.description,
            "version": self.version,
        }
        for member, value in texts.items():
            if not isinstance(value, str):
                raise TypeError(
                    f'Agent: {member} is {value!r}, not a text; write Agent("hello", '
                    'description="Greets people.")'
                )
        if not self.name.strip() or not self.version.strip():
            raise ValueError(
                f"agent {self.name!r}, version {self.version!r}: name and version must not "
                "be blank; cards show both"
            )

    @property
    def skills(self) -> Mapping[str, SkillDefinition]:
        """Skills by id, in the order in which they were added."""
        return self._skills

    @overload
    def skill(self, skill_id: AnyHandler, /) -> AnyHandler: ...
    @overload
    def skill(
        self, skill_id: str | None = None, **options: Unpack[SkillOptions]
    ) -> Callable[[AnyHandler], AnyHandler]: ...
    def skill(
        self,
        skill_id: str | AnyHandler | None = None,
        *unnamed: object,
        **options: Unpack[SkillOptions],
    ) -> AnyHandler | Callable[[AnyHandler], AnyHandler]:
        """Decorate a function as the handler of a skill; the function is returned unchanged.

        Without an id the skill has the name of the function.
        """
        if unnamed:
            raise TypeError(
                f"agent {self.name!r}: skill {skill_id!r}: options have names; write "
                f"@agent.skill({skill_id!r}, description={unnamed[0]!r})"
            )
        if skill_id is not None and not isinstance(skill_id, str) and not callable(skill_id):
            raise TypeError(
                f"agent {self.name!r}: {skill_id!r} is not a skill id; write "
                '@agent.skill("id"), or @agent.skill for the name of the function'
            )
        if skill_id is not None and not isinstance(skill_id, str):
            self.add(skill_id.__name__, skill_id)
            return skill_id

        def add(handler: AnyHandler) -> AnyHandler:
            name = handler.__name__ if skill_id is None else skill_id
            self.add(name, handler, **options)
            return handler

        return add

    def add(
        self, skill_id: str, handler: Callable[..., object], **options: Unpack[SkillOptions]
    ) -> SkillDefinition:
        """Add a skill."""
        if skill_id in self._skills:
            raise ValueError(
                f"agent {self.name!r}: two skills are {skill_id!r}; give one of them another id"
            )
        declared = self.define(skill_id, handler, **options)
        if declared.is_default and (
            other := next((each.id for each in self._skills.values() if each.is_default), None)
        ):
            raise ValueError(
                f"agent {self.name!r}: skills {other!r} and {skill_id!r} are both the "
                "default; keep default=True on one of them"
            )
        self._skills[skill_id] = declared
        return declared

    def router(self, function: AnyRouter) -> AnyRouter:
        """Decorate the function that selects the skill of a message that names none, see
        ``SkillRouter``.
        """
        if self._routers:
            raise ValueError(f"agent {self.name!r}: a second router; join both in one function")
        self._routers.append(function)
        return function

    def find_router(self) -> SkillRouter | None:
        """Return the router; ``None`` without one."""
        if self._routers:
            return self._routers[0]
        return None

    def define(
        self, skill_id: str, handler: Callable[..., object], **options: Unpack[SkillOptions]
    ) -> SkillDefinition:
        """Define a skill without adding it."""
        if not _ID.fullmatch(skill_id):
            raise ValueError(
                f"agent {self.name!r}: {skill_id!r} is not a skill id; ids are parts of "
                "URLs, without blanks and slashes"
            )
        check_options(f"agent {self.name!r}: skill {skill_id!r}", options)
        description = inspect.getdoc(handler) or ""
        asks = options.get("asks")
        handler, contract, is_asking = self._read_types(skill_id, handler, options)
        run = Skill(
            skill_id,
            handler,
            options.get("answers", ReplyKind.TASK),
            options.get("timeout", 300.0),
            options.get("restartable", True),
            accepts_messages=options.get("accepts_messages", False),
            runs_on=options.get("runs_on"),
            worker=build_worker_options(skill_id, options),
        )
        if not isinstance(asks, bool):
            asks = is_asking
        own_schema = None if contract is None else contract.input_schema
        return SkillDefinition(
            run,
            name=options.get("name", skill_id),
            description=options.get("description", description),
            tags=tuple(options.get("tags", ())),
            examples=tuple(options.get("examples", ())),
            input_modes=tuple(options.get("input_modes", ())),
            output_modes=tuple(options.get("output_modes", ())),
            security_requirements=tuple(map(to_security_requirement, options.get("require", ()))),
            only_extended=options.get("only_extended", False),
            input_schema=options.get("input_schema", own_schema),
            asks=asks,
            contract=contract,
            is_default=options.get("default", False),
            can_merge=options.get("can_merge", False),
            check=options.get("check"),
            card_members=options.get("card_members"),
        )

    def _read_types(
        self, skill_id: str, handler: Callable[..., object], options: SkillOptions
    ) -> tuple[Callable[..., object], AnyContract | None, bool | None]:
        """Return the handler with its contract, given or read from its annotations, and whether it
        asks; ``None``: its code tells.
        """
        # not loaded before: clients of a surface declare no skills
        from a2a_runtime.skills.annotations import build_typed_function, find_input  # noqa: PLC0415

        contract = options.get("contract")
        asks = options.get("asks")
        types = () if asks is None or isinstance(asks, bool) else tuple(asks)
        if contract is None and find_input(skill_id, handler) is not None:
            typed = build_typed_function(
                skill_id, handler, f"urn:a2a-gen:{self.name}", types, self._providers
            )
            self._members[skill_id] = typed.members
            asks = bool(types) if typed.takes_typed_context else None
            return typed.handler, typed.contract, asks
        if types:
            raise TypeError(
                f"agent {self.name!r}: skill {skill_id!r}: asks: types of answers need a "
                "typed input; annotate it, or use asks=True"
            )
        asks = None if contract is None else bool(contract.replies)
        return handler, contract, asks

    def provide(self, **functions: Callable[..., object]) -> None:
        """Declare dependencies that live as long as the process; handlers take them by parameter
        name, see ``engine.handlers.providers``.
        """
        self._declare(functions, per_run=False)

    def provide_per_run(self, **functions: Callable[..., object]) -> None:
        """Declare dependencies that are opened for each run of a handler that takes them, and
        closed at its end.
        """
        self._declare(functions, per_run=True)

    @contextmanager
    def override(self, **functions: Callable[..., object]) -> Generator[None]:
        """Replace dependencies, for tests: apps that start inside of this context use the given
        functions.
        """
        before = dict(self._providers)
        if unknown := functions.keys() - before.keys():
            raise ValueError(
                f"agent {self.name!r}: override: no dependency {', '.join(sorted(unknown))}; "
                f"known: {', '.join(before) or 'none'}"
            )
        self._providers.update(
            {name: replace(before[name], function=function) for name, function in functions.items()}
        )
        try:
            yield
        finally:
            self._providers.update(before)

    def build_dependencies(self) -> ProcessDependencies:
        """Build the dependencies of a process, or raise ``ValueError`` if they do not fit each
        other.
        """
        # not loaded before: clients of a surface declare no skills
        from a2a_runtime.skills.parameters import check_members  # noqa: PLC0415

        for skill_id, members in self._members.items():
            check_members(f"skill {skill_id!r}", members, self._providers)
        return ProcessDependencies(dict(self._providers))

    def _declare(self, functions: Mapping[str, Callable[..., object]], *, per_run: bool) -> None:
        for name, function in functions.items():
            if name in self._providers or name == CONTEXT:
                raise ValueError(
                    f"agent {self.name!r}: dependency {name!r}: the name is taken; use "
                    f"another, or agent.override({name}=…) in tests"
                )
            if not callable(function):
                raise TypeError(
                    f"agent {self.name!r}: dependency {name!r}: {function!r} is not a "
                    "function; pass the function itself, or a lambda"
                )
            self._providers[name] = Provider(name, function, per_run)

    def resolve_input_modes(self, skill: SkillDefinition) -> Sequence[str]:
        """Return the input media types of a skill, or those of the agent."""
        return skill.input_modes or self.default_input_modes

    def resolve_output_modes(self, skill: SkillDefinition) -> Sequence[str]:
        """Return the output media types of a skill, or those of the agent."""
        return skill.output_modes or self.default_output_modes
