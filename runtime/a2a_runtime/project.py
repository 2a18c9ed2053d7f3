"""The agent that an ``a2a.toml`` describes, ready to be mounted, and the settings that the environment may override.

The file is found in a folder or above it. Handlers are imported from there: ``handler = "reports.skills:summarise"``. What other commands read of the
file (where generated code goes, what it is compared with) is left alone here.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from a2a_contract.places import places
from a2a_contract.v1_0 import AgentExtension, AgentProvider
from a2a_runtime.agent import DEFAULT_MODES, Agent, Capabilities, SkillView
from a2a_runtime.auth.configured import gates_of
from a2a_runtime.auth.gate import Gate, PresenceGate
from a2a_runtime.execution.skill import Answers
from a2a_runtime.heartbeat.membership import Membership
from a2a_runtime.mounting import dialects_of, function_of
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Limits, Surface

FILE = "a2a.toml"
_BEARER = "bearer"

Text: TypeAlias = Annotated[str, Field(min_length=1)]


class ProjectError(ValueError):
    """The project cannot be run as it is described; the text names each place, and what to do there."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Provider(_Table):
    organization: Text
    url: Text


class _Agent(_Table):
    name: Text
    description: Text
    version: Text
    url: str | None = None
    provider: _Provider | None = None
    documentation_url: str | None = None
    icon_url: str | None = None
    input_modes: list[str] = list(DEFAULT_MODES)
    output_modes: list[str] = list(DEFAULT_MODES)


class _Extension(_Table):
    uri: Text
    description: str | None = None
    required: bool = False
    params: dict[str, object] | None = None


class _Capabilities(_Table):
    streaming: bool = True
    push_notifications: bool = False
    extended_card: bool = False
    extensions: list[_Extension] = []


class _Surface(_Table):
    model_config = ConfigDict(extra="ignore", frozen=True)  # what only other dialects' surfaces have

    path: Text
    dialects: list[str] | None = None
    skills: list[str] | None = None
    skill_id: str | None = None
    name: str | None = None
    description: str | None = None
    tags: list[str] = []
    input_modes: list[str] = []
    output_modes: list[str] = []
    auth: str | None = None
    cancel_on_disconnect: bool = False
    deduplicate_messages: bool = False


class _Skill(_Table):
    model_config = ConfigDict(extra="ignore", frozen=True)  # the schemas of input and output are the generator's matter

    description: Text
    handler: str | None = None
    name: str | None = None
    tags: list[str] = []
    examples: list[str] = []
    input_modes: list[str] = []
    output_modes: list[str] = []
    answers: Answers = Answers.TASK
    timeout: float | None = None
    restartable: bool = True


class _Limits(_Table):
    model_config = ConfigDict(extra="ignore", frozen=True)

    body_bytes: int = Limits().body
    timeout: float = 300
    shutdown_grace: float | None = None


class _Outputs(_Table):
    model_config = ConfigDict(extra="ignore", frozen=True)

    package: Text
    folder: str = "."


class _Registry(_Table):
    url: Text
    agent_id: str = ""
    namespace: str = "default"
    host: str = ""
    port: int = 8080
    heartbeat: float = 5.0


class _File(_Table):
    model_config = ConfigDict(extra="ignore", frozen=True)

    agent: _Agent
    skills: dict[str, _Skill]
    service: str | None = None
    outputs: _Outputs | None = None
    dialects: list[str] = ["1.0", "0.3"]
    store: str | None = None
    capabilities: _Capabilities = _Capabilities()
    surfaces: list[_Surface] = [_Surface(path="/")]
    limits: _Limits = _Limits()
    registry: _Registry | None = None
    auth: dict[str, object] = {}


@dataclass(frozen=True, slots=True)
class Project:
    """What a project serves, and how."""

    surfaces: Sequence[Surface]
    settings: Settings
    membership: Membership


def load_project(folder: Path, environment: Mapping[str, str]) -> Project:
    """Read the project of a folder; ``ProjectError`` names everything in it that cannot be used."""
    path = next((each / FILE for each in (folder, *folder.parents) if (each / FILE).is_file()), None)
    if path is None:
        raise ProjectError(f"there is no {FILE} in {folder} or above it; write one, or make an app of your own with a2a_runtime.app.create_app")
    try:
        file = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        given = Settings.from_environment(environment)
        membership = Membership.from_environment(environment, _membership(file.registry))
    except ValidationError as error:
        raise ProjectError("\n".join(f"{path}: {place}: {text}" for place, text in places(error))) from error
    except ValueError as error:  # no TOML, or a setting that cannot be read
        raise ProjectError(f"{path}: {error}") from error
    agent = _agent(file, path) if file.service is None else _typed(file, file.service, path)
    try:
        gates = gates_of(file.auth, path.parent, environment)
        surfaces = tuple(_surface(each, agent, file, gates) for each in file.surfaces)
    except ValueError as error:
        raise ProjectError(f"{path}: {error}") from error
    return Project(surfaces, _settings(file, given), membership)


def _membership(said: _Registry | None) -> Membership:
    if said is None:
        return Membership()
    return Membership(said.url, said.agent_id, "", said.namespace, said.host, said.port, said.heartbeat)


def _settings(file: _File, given: Settings) -> Settings:
    """Let the environment go before the file, and the file before what is usual."""
    usual = Settings()
    store = file.store if file.store and given.store == usual.store else given.store
    grace = file.limits.shutdown_grace if file.limits.shutdown_grace and given.shutdown_grace == usual.shutdown_grace else given.shutdown_grace
    return replace(given, store=store, shutdown_grace=grace)


def _typed(file: _File, service: str, path: Path) -> Agent:
    """Make the agent of the generated package, with the skills done by the service class that the file names."""
    outputs = file.outputs or _Outputs(package="")
    _import_from(path.parent, path.parent / outputs.folder)
    try:
        made: object = import_module(f"{outputs.package}.agent").make_agent(function_of(service)())
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ProjectError(f"{path}: service = {service!r}: {error}; run a2a-gen build after every change of the schemas") from error
    if not isinstance(made, Agent):
        raise ProjectError(f"{path}: {outputs.package}.agent makes no agent; run: a2a-gen build --force")
    return made


def _import_from(*folders: Path) -> None:
    """Let modules be imported from some folders, as Python does for a script: handlers are named from there."""
    for folder in folders:
        if str(folder.resolve()) not in sys.path:
            sys.path.insert(0, str(folder.resolve()))


def _agent(file: _File, path: Path) -> Agent:
    said, able = file.agent, file.capabilities
    agent = Agent(
        said.name,
        description=said.description,
        version=said.version,
        url=said.url,
        provider=AgentProvider(organization=said.provider.organization, url=said.provider.url) if said.provider else None,
        default_input_modes=tuple(said.input_modes),
        default_output_modes=tuple(said.output_modes),
        capabilities=Capabilities(
            streaming=able.streaming,
            push_notifications=able.push_notifications,
            extended_agent_card=able.extended_card,
            extensions=tuple(AgentExtension.model_validate(each.model_dump(exclude_none=True)) for each in able.extensions),
        ),
        documentation_url=said.documentation_url,
        icon_url=said.icon_url,
    )
    _import_from(path.parent)
    wrong: list[str] = []
    for skill_id, skill in file.skills.items():
        try:
            _add(agent, skill_id, skill, file.limits.timeout)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            wrong.append(f"{path}: skills.{skill_id}: {error}")
    if wrong:
        raise ProjectError("\n".join(wrong))
    return agent


def _add(agent: Agent, skill_id: str, skill: _Skill, timeout: float) -> None:
    if skill.handler is None:
        raise ValueError('there is no function to run; name it: handler = "module:function"')
    agent.add(
        skill_id,
        function_of(skill.handler),
        name=skill.name or skill_id,
        description=skill.description,
        tags=skill.tags,
        examples=skill.examples,
        input_modes=skill.input_modes,
        output_modes=skill.output_modes,
        answers=skill.answers,
        timeout=skill.timeout or timeout,
        restartable=skill.restartable,
    )


def _surface(said: _Surface, agent: Agent, file: _File, made: Mapping[str, Gate]) -> Surface:
    only = said.skills if said.skill_id is None else [said.skill_id]
    gates: Mapping[str, Gate] = {_BEARER: PresenceGate(), **made}
    if said.auth is not None and said.auth not in gates:
        raise ValueError(f"surfaces: auth = {said.auth!r} is not known; there is {', '.join(gates)}, and none")
    return Surface(
        agent,
        said.path.rstrip("/"),
        dialects=dialects_of(*(said.dialects or file.dialects)),
        gate=gates[said.auth] if said.auth else None,
        limits=Limits(body=file.limits.body_bytes),
        only=None if only is None else frozenset(only),
        shown_as=_view(said),
        cancel_on_disconnect=said.cancel_on_disconnect,
        deduplicate_messages=said.deduplicate_messages,
    )


def _view(said: _Surface) -> SkillView | None:
    view = SkillView(said.name, said.description, tuple(said.tags), tuple(said.input_modes), tuple(said.output_modes))
    return None if view == SkillView() else view
