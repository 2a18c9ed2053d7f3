"""The tables of an ``a2a.toml`` that running an agent needs; ``[auth.*]`` is in ``project.auth``.

Tables of other commands are accepted unread. An unknown setting is an error: a misspelt one could leave an agent open.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from a2a_runtime.agent import DEFAULT_MODES
from a2a_runtime.execution.skill import ReplyKind
from a2a_runtime.surface import Limits

NonEmptyText: TypeAlias = Annotated[str, Field(min_length=1)]
PositiveInteger: TypeAlias = Annotated[int, Field(ge=1)]
PositiveSeconds: TypeAlias = Annotated[float, Field(gt=0)]


class ConfigTable(BaseModel):
    """Base of all tables."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ProviderTable(ConfigTable):
    """``[agent.provider]``: the organization that runs the agent."""

    organization: NonEmptyText
    url: NonEmptyText


class AgentTable(ConfigTable):
    """``[agent]``: what its cards say."""

    name: NonEmptyText
    description: NonEmptyText
    version: NonEmptyText
    url: str | None = None
    provider: ProviderTable | None = None
    documentation_url: str | None = None
    icon_url: str | None = None
    input_modes: tuple[str, ...] = DEFAULT_MODES
    output_modes: tuple[str, ...] = DEFAULT_MODES


class ExtensionTable(ConfigTable):
    """``[[capabilities.extensions]]``: an extension of the protocol."""

    uri: NonEmptyText
    description: str | None = None
    required: bool = False
    params: dict[str, object] | None = None


class CapabilitiesTable(ConfigTable):
    """``[capabilities]``: optional parts of the protocol."""

    streaming: bool = True
    push_notifications: bool = False
    extended_card: bool = False
    extensions: tuple[ExtensionTable, ...] = ()


class SurfaceTable(ConfigTable):
    """``[[surfaces]]``: a path of the agent."""

    path: NonEmptyText
    dialects: list[str] | None = None
    skills: list[str] | None = None
    skill_id: str | None = None
    name: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    input_modes: tuple[str, ...] = ()
    output_modes: tuple[str, ...] = ()
    auth: str | None = None
    cancel_on_disconnect: bool = False
    deduplicate_messages: bool = False


class SkillTable(ConfigTable):
    """``[skills.*]``: a skill."""

    description: NonEmptyText
    handler: str | None = None
    name: str | None = None
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    input_modes: tuple[str, ...] = ()
    output_modes: tuple[str, ...] = ()
    answers: ReplyKind = ReplyKind.TASK
    timeout: float | None = None
    restartable: bool = True
    require: list[dict[str, list[str]]] = []
    only_extended: bool = False
    input: object = None
    """Like the next three, read by the generator."""
    output: object = None
    streaming: object = None
    asks: object = None


_DEFAULT_LIMITS = Limits()


class LimitsTable(ConfigTable):
    """``[limits]``: sizes, concurrency and timeouts."""

    body_bytes: PositiveInteger = _DEFAULT_LIMITS.body_bytes
    body_seconds: PositiveSeconds | None = _DEFAULT_LIMITS.body_seconds
    parts: PositiveInteger = _DEFAULT_LIMITS.parts
    part_bytes: PositiveInteger | None = None
    depth: PositiveInteger | None = None
    history: Annotated[int, Field(ge=0)] | None = None
    webhooks: PositiveInteger = _DEFAULT_LIMITS.webhooks
    concurrency: PositiveInteger | None = None
    streams: PositiveInteger = _DEFAULT_LIMITS.streams
    open_tasks: PositiveInteger | None = None
    timeout: float = 300
    shutdown_grace: float | None = None


class RateTable(ConfigTable):
    """A rate limit per caller."""

    requests: PositiveInteger
    seconds: PositiveSeconds


class RatesTable(ConfigTable):
    """``[rates]``: rate limits by operation."""

    shared: bool = False
    operations: dict[str, RateTable] = {}


class OutputsTable(ConfigTable):
    """``[outputs]``: the generated package."""

    package: NonEmptyText
    folder: str = "."


class RegistryTable(ConfigTable):
    """``[registry]``: the registry of a mesh."""

    url: NonEmptyText
    agent_id: str = ""
    namespace: str = "default"
    host: str = ""
    port: int = 8080
    heartbeat: float = 5.0


class SurfacesTable(ConfigTable):
    """The tables that a generated package holds, so that it can be mounted without the file."""

    dialects: list[str] = ["1.0", "0.3"]
    surfaces: list[SurfaceTable] = [SurfaceTable(path="/")]
    limits: LimitsTable = LimitsTable()
    rates: RatesTable = RatesTable()


class ProjectFile(SurfacesTable):
    """The file."""

    agent: AgentTable
    skills: dict[str, SkillTable]
    service: str | None = None
    outputs: OutputsTable | None = None
    store: str | None = None
    capabilities: CapabilitiesTable = CapabilitiesTable()
    registry: RegistryTable | None = None
    auth: dict[str, object] = {}
    compat: object = None
    """Read by the compatibility check."""

    @property
    def has_schemas(self) -> bool:
        """True if any skill has a schema, and so needs the generated package."""
        return any(each.input or each.output or each.asks for each in self.skills.values())
