"""Loading of a project: its ``a2a.toml``, overridden by the environment, becomes surfaces and
settings.

The file is searched in a folder and above it. Handlers are imported from its folder: ``handler =
"reports.skills:summarise"``.
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
from typing import Any

from a2a_contract.json_types import is_json_object
from a2a_contract.project_file import (
    AgentTable,
    CapabilitiesTable,
    LimitsTable,
    ProjectFile,
    RegistryTable,
)
from a2a_contract.v1_0 import AgentExtension, AgentProvider
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.base.importing import ImportFromStringError, load_module
from a2a_runtime.features.heartbeat.registration import MeshConfig
from a2a_runtime.features.project.auth import build_gates
from a2a_runtime.features.project.errors import (
    ConfigError,
    ConfigProblem,
    ProjectConfigError,
    locate_problems,
    report_at,
)
from a2a_runtime.features.project.file import parse_project_file
from a2a_runtime.features.project.surfaces import (
    PROJECT_FILE,
    attach_grpc,
    find_project_file,
    import_callable,
    surfaces_from_tables,
)
from a2a_runtime.settings import Settings, find_given
from a2a_runtime.skills.handlers import HandlerMismatchError
from a2a_runtime.surface import Surface

__all__ = [
    "LOCK_FILE",
    "ProjectConfig",
    "ProjectConfigError",
    "find_changed_inputs",
    "load_project",
    "read_store_setting",
]

LOCK_FILE = "a2a-gen.lock"
_MESH_FIELDS = {
    "url": "registry_url",
    "agent_id": "agent_id",
    "namespace": "namespace",
    "host": "http_host",
    "port": "http_port",
    "heartbeat": "health_interval",
}
"""Fields of ``MeshConfig`` by the settings of ``[registry]``."""

_RETENTION_SETTINGS = {
    "tasks": "task_retention",
    "mesh_tasks": "mesh_task_retention",
    "conversations": "conversation_retention",
    "messages": "max_conversation_messages",
    "memory_tasks": "memory_max_tasks",
    "memory_bytes": "memory_max_bytes",
    "memory_caller_share": "memory_caller_share",
}
"""Settings by the keys of ``[retention]``."""

stale_log = logging.getLogger(f"{__name__}.stale")
"""Log of packages that are older than their schemas; silent where a build follows anyway."""


@dataclass(frozen=True, slots=True)
class ProjectConfig:
    """The surfaces of a project, and its settings."""

    surfaces: Sequence[Surface]
    settings: Settings
    mesh: MeshConfig


def load_project(folder: Path, environment: Mapping[str, str]) -> ProjectConfig:
    """Load the project of a folder, or raise ``ProjectConfigError`` with all problems of its file.

    Exceptions that the project's own code raises on import pass unchanged, with their traceback.
    """
    path = find_project_file(folder)
    if path is None:
        raise ProjectConfigError(
            f"{PROJECT_FILE}: not found in {folder} or above; write one, or name an app of "
            "create_app, e.g. hello:app"
        )
    with locate_problems(path):
        file = _read_file(path)
        try:
            settings = _merge_settings(file, Settings.from_environment(environment), environment)
            mesh = MeshConfig.from_environment(environment, _build_mesh_config(file.registry))
        except ValueError as error:
            raise ProjectConfigError(f"environment: {error}") from error
        gates = build_gates(file.auth or {}, path.parent, environment)
        if file.service or _has_schemas(file):
            agent = _build_typed_agent(file, path.parent)
        else:
            agent = _build_agent(file, path.parent)
        surfaces = surfaces_from_tables(agent, file, gates)
        if file.grpc is not None:
            surfaces = attach_grpc(surfaces, file.grpc, path.parent)
        return ProjectConfig(surfaces, settings, mesh)


def read_store_setting(folder: Path) -> str | None:
    """Read the ``store`` of a project, without validating the rest of its file."""
    path = find_project_file(folder)
    if path is None:
        return None
    try:
        store: object = tomllib.loads(path.read_text(encoding="utf-8")).get("store")
    except ValueError as error:
        raise ProjectConfigError(f"{path}: {error}") from error
    if isinstance(store, str):
        return store
    return None


def find_changed_inputs(folder: Path) -> Iterator[str]:
    """List the files that changed since ``a2a-gen build`` wrote the lock; none if files or lock are
    not deployed.
    """
    try:
        lock: object = json.loads((folder / LOCK_FILE).read_bytes())
    except (OSError, ValueError):
        return
    inputs = lock.get("inputs") if is_json_object(lock) else None
    if not is_json_object(inputs):
        return
    for path, digest in inputs.items():
        try:
            content = (folder / path).read_bytes()
        except OSError:
            continue
        if sha256(content).hexdigest() != digest:
            yield path


def _has_schemas(file: ProjectFile) -> bool:
    """Tell whether any skill has a schema, and so needs the generated package."""
    return any(each.input or each.output or each.asks for each in file.skills.values())


def _build_mesh_config(table: RegistryTable | None) -> MeshConfig:
    if table is None:
        return MeshConfig()
    settings = {_MESH_FIELDS[name]: value for name, value in table if value is not None}
    return MeshConfig(**settings)


def find_file_settings(folder: Path) -> Mapping[str, Any]:
    """Find the settings in the project file of a folder or above; empty without a file."""
    path = find_project_file(folder)
    if path is None:
        return {}
    with locate_problems(path):
        return _collect_settings(_read_file(path))


def _read_file(path: Path) -> ProjectFile:
    try:
        return parse_project_file(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ProjectConfigError(f"{path}: {error}") from error


def _collect_settings(file: ProjectFile) -> dict[str, Any]:
    given: dict[str, Any] = {
        name: getattr(file, name) for name in ("store", "sqlite_synchronous", "explorer")
    }
    given["shutdown_grace"] = file.limits and file.limits.shutdown_grace
    return given | {_RETENTION_SETTINGS[name]: value for name, value in file.retention or ()}


def _merge_settings(
    file: ProjectFile, settings: Settings, environment: Mapping[str, str]
) -> Settings:
    """Apply the settings of the file that the environment does not give."""
    given = _collect_settings(file)
    chosen: dict[str, Any] = {
        name: value
        for name, value in given.items()
        if value is not None and find_given(environment, name) is None
    }
    return replace(settings, **chosen)


def _build_typed_agent(file: ProjectFile, folder: Path) -> Agent:
    """Build the agent of the generated package, whose skills are validated by their schemas."""
    package, parent = (file.outputs.package, file.outputs.folder) if file.outputs else ("", ".")
    at_package = ("outputs", "package")
    _add_import_paths(folder, folder / parent)
    try:
        generated = load_module(f"{package}.agent")
    except ImportFromStringError as error:
        raise ConfigError([ConfigProblem(at_package, f"{error}; run a2a-gen build")]) from error
    except ImportError as error:
        # a package built for another version may import names that are gone
        raise ConfigError(
            [ConfigProblem(at_package, f"cannot be imported: {error}; run a2a-gen build --force")]
        ) from error
    if stale := ", ".join(find_changed_inputs(folder)):
        stale_log.warning(
            "%s is stale: changed since it was built: %s; run a2a-gen build", package, stale
        )
    with (
        report_at(("service",), HandlerMismatchError),
        report_at(("skills",), ImportFromStringError),
    ):
        if file.service:
            agent: object = generated.make_agent(_import_service(file.service)())
        else:
            agent = generated.make_agent()
    if not isinstance(agent, Agent):
        raise ConfigError(
            [
                ConfigProblem(
                    at_package, f"{package}.agent builds no agent; run a2a-gen build --force"
                )
            ]
        )
    return agent


def _import_service(service: str) -> Callable[..., object]:
    with report_at(("service",), ImportFromStringError):
        found = import_callable(service)
    if isinstance(found, ABCMeta) and found.__abstractmethods__:
        raise ConfigError(
            [
                ConfigProblem(
                    ("service",),
                    (
                        f"{service} has no method "
                        f"{', '.join(sorted(found.__abstractmethods__))}; add it"
                    ),
                )
            ]
        )
    return found


def _add_import_paths(*folders: Path) -> None:
    """Make folders importable, as Python does for the folder of a script."""
    for folder in folders:
        if str(folder.resolve()) not in sys.path:
            sys.path.insert(0, str(folder.resolve()))


def _build_agent(file: ProjectFile, folder: Path) -> Agent:
    """Build the agent of the file, whose handlers are functions of the project."""
    _add_import_paths(folder)
    agent = _describe_agent(file.agent, file.capabilities or CapabilitiesTable())
    problems = list[ConfigProblem]()
    for skill_id, skill in file.skills.items():
        try:
            handler = import_callable(skill.handler or "")
        except ImportFromStringError as error:
            problems.append(ConfigProblem(("skills", skill_id, "handler"), str(error)))
        else:
            options: dict[str, Any] = skill.model_dump(
                exclude={"handler", "streaming"}, exclude_none=True
            )
            options["timeout"] = skill.timeout or (file.limits or LimitsTable()).timeout
            agent.add(skill_id, handler, **options)
    if file.agent.router:
        try:
            agent.router(import_callable(file.agent.router))
        except ImportFromStringError as error:
            problems.append(ConfigProblem(("agent", "router"), str(error)))
    if problems:
        raise ConfigError(problems)
    return agent


def _describe_agent(table: AgentTable, capabilities: CapabilitiesTable) -> Agent:
    same = table.model_dump(
        include={
            "name",
            "description",
            "version",
            "url",
            "documentation_url",
            "icon_url",
            "allow_cycles",
        }
    )
    modes = {
        f"default_{name}": value
        for name, value in table
        if name in {"input_modes", "output_modes"} and value
    }
    provider = None
    if table.provider:
        provider = AgentProvider.model_validate(table.provider.model_dump())
    return Agent(
        **same,
        **modes,
        provider=provider,
        capabilities=Capabilities(
            streaming=capabilities.streaming,
            push_notifications=capabilities.push_notifications,
            extended_agent_card=capabilities.extended_agent_card,
            usage=capabilities.usage,
            extensions=tuple(
                AgentExtension.model_validate(each.model_dump(exclude_none=True))
                for each in capabilities.extensions or ()
            ),
        ),
    )
