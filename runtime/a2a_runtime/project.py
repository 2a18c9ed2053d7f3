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

from pydantic import ValidationError

from a2a_contract.v1_0 import AgentExtension, AgentProvider
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.auth.configured import gates_of
from a2a_runtime.complaints import Complaint, ComplaintsError, complaints_of, told
from a2a_runtime.heartbeat.membership import Membership
from a2a_runtime.mounting import FILE, function_of, surfaces_of
from a2a_runtime.project_file import File, OutputsTable, RegistryTable, SkillTable
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface

_KNOWN = "what schemas/project.json of a2a_contract describes"


class ProjectError(ValueError):
    """The project cannot be run as it is described; the text names each place, and what to do there."""


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
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        return _project(File.model_validate(tomllib.loads(text)), path, environment)
    except ValidationError as error:
        raise ProjectError(told(complaints_of(error, _KNOWN), path, text)) from error
    except ComplaintsError as error:
        raise ProjectError(told(error.complaints, path, text)) from error
    except ProjectError:
        raise
    except ValueError as error:  # no TOML, or a setting of the environment that cannot be read
        raise ProjectError(f"{path}: {error}") from error


def _project(file: File, path: Path, environment: Mapping[str, str]) -> Project:
    given = Settings.from_environment(environment)
    membership = Membership.from_environment(environment, _membership(file.registry))
    gates = gates_of(file.auth, path.parent, environment)
    agent = _agent(file, path) if file.service is None else _typed(file, file.service, path)
    return Project(surfaces_of(agent, file, gates), _settings(file, given), membership)


def _membership(said: RegistryTable | None) -> Membership:
    if said is None:
        return Membership()
    return Membership(said.url, said.agent_id, "", said.namespace, said.host, said.port, said.heartbeat)


def _settings(file: File, given: Settings) -> Settings:
    """Let the environment go before the file, and the file before what is usual."""
    usual = Settings()
    store = file.store if file.store and given.store == usual.store else given.store
    grace = file.limits.shutdown_grace if file.limits.shutdown_grace and given.shutdown_grace == usual.shutdown_grace else given.shutdown_grace
    return replace(given, store=store, shutdown_grace=grace)


def _typed(file: File, service: str, path: Path) -> Agent:
    """Make the agent of the generated package, with the skills done by the service class that the file names."""
    outputs = file.outputs or OutputsTable(package="")
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


def _agent(file: File, path: Path) -> Agent:
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
    wrong: list[Complaint] = []
    for skill_id, skill in file.skills.items():
        try:
            _add(agent, skill_id, skill, file.limits.timeout)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            wrong.append(Complaint(("skills", skill_id), str(error)))
    if wrong:
        raise ComplaintsError(wrong)
    return agent


def _add(agent: Agent, skill_id: str, skill: SkillTable, timeout: float) -> None:
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
