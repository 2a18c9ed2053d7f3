"""What an ``a2a.toml`` may say, as far as running an agent is concerned.

What other commands read of it is left alone. What nobody reads is a mistake, and may be one that leaves an agent open.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from a2a_runtime.agent import DEFAULT_MODES
from a2a_runtime.execution.skill import Answers
from a2a_runtime.surface import Limits

Text: TypeAlias = Annotated[str, Field(min_length=1)]
Count: TypeAlias = Annotated[int, Field(ge=1)]


class Table(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ProviderTable(Table):
    """Who runs the agent."""

    organization: Text
    url: Text


class AgentTable(Table):
    """Who the agent is."""

    name: Text
    description: Text
    version: Text
    url: str | None = None
    provider: ProviderTable | None = None
    documentation_url: str | None = None
    icon_url: str | None = None
    input_modes: tuple[str, ...] = DEFAULT_MODES
    output_modes: tuple[str, ...] = DEFAULT_MODES


class ExtensionTable(Table):
    """An extension of the protocol."""

    uri: Text
    description: str | None = None
    required: bool = False
    params: dict[str, object] | None = None


class CapabilitiesTable(Table):
    """What of the protocol the agent offers."""

    streaming: bool = True
    push_notifications: bool = False
    extended_card: bool = False
    extensions: tuple[ExtensionTable, ...] = ()


class SurfaceTable(Table):
    """Where the agent answers, and how."""

    path: Text
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


class SkillTable(Table):
    """What the agent can do."""

    description: Text
    handler: str | None = None
    name: str | None = None
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    input_modes: tuple[str, ...] = ()
    output_modes: tuple[str, ...] = ()
    answers: Answers = Answers.TASK
    timeout: float | None = None
    restartable: bool = True
    require: list[dict[str, list[str]]] = []
    only_extended: bool = False
    input: object = None
    """As what follows, the generator's matter."""
    output: object = None
    streaming: object = None
    asks: object = None


class LimitsTable(Table):
    """What the agent takes on at most."""

    body_bytes: Count = Limits().body
    body_seconds: Annotated[float, Field(gt=0)] | None = Limits().body_seconds
    parts: Count = Limits().parts
    part_bytes: Count | None = None
    depth: Count | None = None
    history: Annotated[int, Field(ge=0)] | None = None
    webhooks: Count = Limits().webhooks
    concurrency: Count | None = None
    timeout: float = 300
    shutdown_grace: float | None = None


class RateTable(Table):
    """How often a caller may ask."""

    requests: Count
    seconds: Annotated[float, Field(gt=0)]


class RatesTable(Table):
    """The rates of operations, by their names."""

    shared: bool = False
    operations: dict[str, RateTable] = {}


class OutputsTable(Table):
    """Where generated code goes."""

    package: Text
    folder: str = "."


class RegistryTable(Table):
    """The registry of a mesh."""

    url: Text
    agent_id: str = ""
    namespace: str = "default"
    host: str = ""
    port: int = 8080
    heartbeat: float = 5.0


class MountingTable(Table):
    """Where the agent answers, whom, how, and how much it takes on."""

    dialects: list[str] = ["1.0", "0.3"]
    surfaces: list[SurfaceTable] = [SurfaceTable(path="/")]
    limits: LimitsTable = LimitsTable()
    rates: RatesTable = RatesTable()


class File(MountingTable):
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
