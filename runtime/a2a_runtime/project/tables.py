"""What an ``a2a.toml`` may say, as far as running an agent is concerned.

What other commands read of it is left alone. What nobody reads is a mistake, and may be one that leaves an agent open.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from a2a_runtime.agent import DEFAULT_MODES
from a2a_runtime.execution.skill import ReplyKind
from a2a_runtime.surface import Limits

NonEmptyText: TypeAlias = Annotated[str, Field(min_length=1)]
PositiveInteger: TypeAlias = Annotated[int, Field(ge=1)]


class ConfigTable(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ProviderTable(ConfigTable):
    """Who runs the agent."""

    organization: NonEmptyText
    url: NonEmptyText


class AgentTable(ConfigTable):
    """Who the agent is."""

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
    """An extension of the protocol."""

    uri: NonEmptyText
    description: str | None = None
    required: bool = False
    params: dict[str, object] | None = None


class CapabilitiesTable(ConfigTable):
    """What of the protocol the agent offers."""

    streaming: bool = True
    push_notifications: bool = False
    extended_card: bool = False
    extensions: tuple[ExtensionTable, ...] = ()


class SurfaceTable(ConfigTable):
    """Where the agent answers, and how."""

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
    """What the agent can do."""

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
    """As what follows, the generator's matter."""
    output: object = None
    streaming: object = None
    asks: object = None


class LimitsTable(ConfigTable):
    """What the agent takes on at most."""

    body_bytes: PositiveInteger = Limits().body_bytes
    body_seconds: Annotated[float, Field(gt=0)] | None = Limits().body_seconds
    parts: PositiveInteger = Limits().parts
    part_bytes: PositiveInteger | None = None
    depth: PositiveInteger | None = None
    history: Annotated[int, Field(ge=0)] | None = None
    webhooks: PositiveInteger = Limits().webhooks
    concurrency: PositiveInteger | None = None
    timeout: float = 300
    shutdown_grace: float | None = None


class RateTable(ConfigTable):
    """How often a caller may ask."""

    requests: PositiveInteger
    seconds: Annotated[float, Field(gt=0)]


class RatesTable(ConfigTable):
    """The rates of operations, by their names."""

    shared: bool = False
    operations: dict[str, RateTable] = {}


class OutputsTable(ConfigTable):
    """Where generated code goes."""

    package: NonEmptyText
    folder: str = "."


class RegistryTable(ConfigTable):
    """The registry of a mesh."""

    url: NonEmptyText
    agent_id: str = ""
    namespace: str = "default"
    host: str = ""
    port: int = 8080
    heartbeat: float = 5.0


class SurfacesTable(ConfigTable):
    """Where the agent answers, whom, how, and how much it takes on."""

    dialects: list[str] = ["1.0", "0.3"]
    surfaces: list[SurfaceTable] = [SurfaceTable(path="/")]
    limits: LimitsTable = LimitsTable()
    rates: RatesTable = RatesTable()


class ProjectFile(SurfacesTable):
    """The whole file."""

    agent: AgentTable
    skills: dict[str, SkillTable]
    service: str | None = None
    outputs: OutputsTable | None = None
    store: str | None = None
    capabilities: CapabilitiesTable = CapabilitiesTable()
    registry: RegistryTable | None = None
    auth: dict[str, object] = {}
    compat: object = None
    """The gate's matter."""

    @property
    def has_schemas(self) -> bool:
        """Whether any skill is held to a schema, and so to the package that was generated from it."""
        return any(each.input or each.output or each.asks for each in self.skills.values())
