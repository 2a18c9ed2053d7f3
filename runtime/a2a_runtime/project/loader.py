"""The agent that an ``a2a.toml`` describes, ready to be mounted, and the settings that the environment may override.

The file is found in a folder or above it. Handlers are imported from there: ``handler = "reports.skills:summarise"``. What other commands read of the
file (where generated code goes, what it is compared with) is left alone here.
"""

from __future__ import annotations

import json
import logging
import sys
import tomllib
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from a2a_contract.json_types import is_json_object
from a2a_contract.project_rules import check_handlers, check_project
from a2a_contract.v1_0 import AgentExtension, AgentProvider
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.heartbeat.registration import MeshConfig
from a2a_runtime.importing import ImportFromStringError, load_module
from a2a_runtime.project.auth import build_gates
from a2a_runtime.project.errors import ConfigError, ConfigProblem, format_problems, to_config_problems
from a2a_runtime.project.surfaces import PROJECT_FILE, import_callable, surfaces_from_tables
from a2a_runtime.project.tables import OutputsTable, ProjectFile, RegistryTable, SkillTable
from a2a_runtime.settings import Settings
from a2a_runtime.skills.handlers import HandlerMismatchError
from a2a_runtime.surface import Surface

# Whether what a package was generated from is still as it was: what ``a2a-gen build`` has written down of it, against the files.

LOCK_FILE = "a2a-gen.lock"


def find_changed_inputs(folder: Path) -> Iterator[str]:
    """Name the files of a project that have changed; where they, or the lock, are not deployed, there is nothing to compare."""
    try:
        lock: object = json.loads((folder / LOCK_FILE).read_bytes())
    except (OSError, ValueError):
        return
    inputs = lock.get("inputs") if is_json_object(lock) else None
    for path, digest in inputs.items() if is_json_object(inputs) else ():
        try:
            content = (folder / path).read_bytes()
        except OSError:
            continue
        if sha256(content).hexdigest() != digest:
            yield path


log = logging.getLogger(__name__)


class ProjectConfigError(ValueError):
    """The project cannot be run as it is described; the text names each place, and what to do there."""


@dataclass(frozen=True, slots=True)
class ProjectConfig:
    """What a project serves, and how."""

    surfaces: Sequence[Surface]
    settings: Settings
    mesh: MeshConfig


def load_project(folder: Path, environment: Mapping[str, str]) -> ProjectConfig:
    """Read the project of a folder; ``ProjectError`` names everything in it that cannot be used.

    What its own code raises when it is imported is raised as it is: whoever wrote it knows best where that comes from.
    """
    path = _find_file(folder)
    if path is None:
        raise ProjectConfigError(
            f"there is no {PROJECT_FILE} in {folder} or above it; write one, or make an app of your own with a2a_runtime.app.create_app"
        )
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        file = _parse_file(text)
        settings = _merge_settings(file, Settings.from_environment(environment))
        membership = MeshConfig.from_environment(environment, _build_mesh_config(file.registry))
        gates = build_gates(file.auth, path.parent, environment)
    except ConfigError as error:
        raise ProjectConfigError(format_problems(error.problems, path, text)) from error
    except ValueError as error:  # no TOML, or a setting of the environment that cannot be read
        raise ProjectConfigError(f"{path}: {error}") from error
    try:
        agent = _build_typed_agent(file, path.parent) if file.service or file.has_schemas else _build_agent(file, path.parent)
        return ProjectConfig(surfaces_from_tables(agent, file, gates), settings, membership)
    except ConfigError as error:
        raise ProjectConfigError(format_problems(error.problems, path, text)) from error


def read_store_setting(folder: Path) -> str | None:
    """Say where the project of a folder keeps its tasks; nothing else of it is looked at."""
    path = _find_file(folder)
    if path is None:
        return None
    try:
        store: object = tomllib.loads(path.read_text(encoding="utf-8")).get("store")
    except ValueError as error:
        raise ProjectConfigError(f"{path}: {error}") from error
    return store if isinstance(store, str) else None


def _find_file(folder: Path) -> Path | None:
    return next((each / PROJECT_FILE for each in (folder, *folder.parents) if (each / PROJECT_FILE).is_file()), None)


def _parse_file(text: str) -> ProjectFile:
    data = tomllib.loads(text)
    try:
        file = ProjectFile.model_validate(data)
    except ValidationError as error:
        raise ConfigError(to_config_problems(error, ProjectFile)) from error
    if wrong := [ConfigProblem(each.path, f"{each.text}; {each.cure}") for each in (*check_project(data), *check_handlers(data))]:
        raise ConfigError(wrong)
    return file


def _build_mesh_config(table: RegistryTable | None) -> MeshConfig:
    if table is None:
        return MeshConfig()
    return MeshConfig(table.url, table.agent_id, "", table.namespace, table.host, table.port, table.heartbeat)


def _merge_settings(file: ProjectFile, settings: Settings) -> Settings:
    """Let the environment go before the file, and the file before what is usual."""
    usual = Settings()
    store = file.store if file.store and settings.store == usual.store else settings.store
    grace = file.limits.shutdown_grace if file.limits.shutdown_grace and settings.shutdown_grace == usual.shutdown_grace else settings.shutdown_grace
    return replace(settings, store=store, shutdown_grace=grace)


def _build_typed_agent(file: ProjectFile, folder: Path) -> Agent:
    """Make the agent of the generated package: its skills are held to their schemas, whether a service class or functions do them."""
    outputs = file.outputs or OutputsTable(package="")
    _add_import_paths(folder, folder / outputs.folder)
    try:
        generated = load_module(f"{outputs.package}.agent")
    except ImportFromStringError as error:
        raise ConfigError([ConfigProblem(("outputs", "package"), f"{error}; run a2a-gen build")]) from error
    except ImportError as error:  # what was made for another version of this runtime may import what is there no more
        raise ConfigError([ConfigProblem(("outputs", "package"), f"it cannot be imported: {error}; run a2a-gen build --force")]) from error
    if stale := ", ".join(find_changed_inputs(folder)):
        log.warning("changed since %s was generated, and not what is served: %s; run a2a-gen build", outputs.package, stale)
    try:
        made: object = generated.make_agent(_import_service(file.service)()) if file.service else generated.make_agent()
    except HandlerMismatchError as error:
        raise ConfigError([ConfigProblem(("service",), str(error))]) from error
    except ImportFromStringError as error:
        raise ConfigError([ConfigProblem(("skills",), str(error))]) from error
    if not isinstance(made, Agent):
        raise ConfigError([ConfigProblem(("outputs", "package"), f"{outputs.package}.agent makes no agent; run a2a-gen build --force")])
    return made


def _import_service(service: str) -> Callable[..., object]:
    """Find the class that does the skills, and does all of them."""
    try:
        found = import_callable(service)
    except ImportFromStringError as error:
        raise ConfigError([ConfigProblem(("service",), str(error))]) from error
    if isinstance(found, ABCMeta) and found.__abstractmethods__:
        raise ConfigError([ConfigProblem(("service",), f"{service} has no method {', '.join(sorted(found.__abstractmethods__))}; write it")])
    return found


def _add_import_paths(*folders: Path) -> None:
    """Let modules be imported from some folders, as Python does for a script: handlers are named from there."""
    for folder in folders:
        if str(folder.resolve()) not in sys.path:
            sys.path.insert(0, str(folder.resolve()))


def _build_agent(file: ProjectFile, folder: Path) -> Agent:
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
    _add_import_paths(folder)
    wrong: list[ConfigProblem] = []
    for skill_id, skill in file.skills.items():
        try:
            _add_skill(agent, skill_id, skill, file.limits.timeout)
        except ImportFromStringError as error:
            wrong.append(ConfigProblem(("skills", skill_id, "handler"), str(error)))
    if wrong:
        raise ConfigError(wrong)
    return agent


def _add_skill(agent: Agent, skill_id: str, skill: SkillTable, timeout: float) -> None:
    agent.add(
        skill_id,
        import_callable(skill.handler or ""),
        name=skill.name or skill_id,
        description=skill.description,
        tags=skill.tags,
        examples=skill.examples,
        input_modes=skill.input_modes,
        output_modes=skill.output_modes,
        answers=skill.answers,
        timeout=skill.timeout or timeout,
        restartable=skill.restartable,
        require=skill.require,
        only_extended=skill.only_extended,
    )
