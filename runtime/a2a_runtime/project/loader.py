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

from a2a_contract.json_types import is_object
from a2a_contract.project_rules import misfits, undone
from a2a_contract.v1_0 import AgentExtension, AgentProvider
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.heartbeat.registration import Membership
from a2a_runtime.importing import UnknownNameError, module_named
from a2a_runtime.project.auth import gates_of
from a2a_runtime.project.errors import Complaint, ComplaintsError, complaints_of, told
from a2a_runtime.project.surfaces import FILE, function_of, surfaces_of
from a2a_runtime.project.tables import File, OutputsTable, RegistryTable, SkillTable
from a2a_runtime.settings import Settings
from a2a_runtime.skills.handlers import WrongMethodError
from a2a_runtime.surface import Surface

# Whether what a package was generated from is still as it was: what ``a2a-gen build`` has written down of it, against the files.

LOCK = "a2a-gen.lock"


def changed_since_build(folder: Path) -> Iterator[str]:
    """Name the files of a project that have changed; where they, or the lock, are not deployed, there is nothing to compare."""
    try:
        lock: object = json.loads((folder / LOCK).read_bytes())
    except (OSError, ValueError):
        return
    inputs = lock.get("inputs") if is_object(lock) else None
    for path, digest in inputs.items() if is_object(inputs) else ():
        try:
            content = (folder / path).read_bytes()
        except OSError:
            continue
        if sha256(content).hexdigest() != digest:
            yield path


log = logging.getLogger(__name__)


class ProjectError(ValueError):
    """The project cannot be run as it is described; the text names each place, and what to do there."""


@dataclass(frozen=True, slots=True)
class Project:
    """What a project serves, and how."""

    surfaces: Sequence[Surface]
    settings: Settings
    membership: Membership


def load_project(folder: Path, environment: Mapping[str, str]) -> Project:
    """Read the project of a folder; ``ProjectError`` names everything in it that cannot be used.

    What its own code raises when it is imported is raised as it is: whoever wrote it knows best where that comes from.
    """
    path = _above(folder)
    if path is None:
        raise ProjectError(f"there is no {FILE} in {folder} or above it; write one, or make an app of your own with a2a_runtime.app.create_app")
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        file = _file(text)
        settings = _settings(file, Settings.from_environment(environment))
        membership = Membership.from_environment(environment, _membership(file.registry))
        gates = gates_of(file.auth, path.parent, environment)
    except ComplaintsError as error:
        raise ProjectError(told(error.complaints, path, text)) from error
    except ValueError as error:  # no TOML, or a setting of the environment that cannot be read
        raise ProjectError(f"{path}: {error}") from error
    try:
        agent = _typed(file, path.parent) if file.service or file.has_schemas else _agent(file, path.parent)
        return Project(surfaces_of(agent, file, gates), settings, membership)
    except ComplaintsError as error:
        raise ProjectError(told(error.complaints, path, text)) from error


def store_of(folder: Path) -> str | None:
    """Say where the project of a folder keeps its tasks; nothing else of it is looked at."""
    path = _above(folder)
    if path is None:
        return None
    try:
        store: object = tomllib.loads(path.read_text(encoding="utf-8")).get("store")
    except ValueError as error:
        raise ProjectError(f"{path}: {error}") from error
    return store if isinstance(store, str) else None


def _above(folder: Path) -> Path | None:
    return next((each / FILE for each in (folder, *folder.parents) if (each / FILE).is_file()), None)


def _file(text: str) -> File:
    data = tomllib.loads(text)
    try:
        file = File.model_validate(data)
    except ValidationError as error:
        raise ComplaintsError(complaints_of(error, File)) from error
    if wrong := [Complaint(each.path, f"{each.text}; {each.cure}") for each in (*misfits(data), *undone(data))]:
        raise ComplaintsError(wrong)
    return file


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


def _typed(file: File, folder: Path) -> Agent:
    """Make the agent of the generated package: its skills are held to their schemas, whether a service class or functions do them."""
    outputs = file.outputs or OutputsTable(package="")
    _import_from(folder, folder / outputs.folder)
    try:
        generated = module_named(f"{outputs.package}.agent")
    except UnknownNameError as error:
        raise ComplaintsError([Complaint(("outputs", "package"), f"{error}; run a2a-gen build")]) from error
    except ImportError as error:  # what was made for another version of this runtime may import what is there no more
        raise ComplaintsError([Complaint(("outputs", "package"), f"it cannot be imported: {error}; run a2a-gen build --force")]) from error
    if stale := ", ".join(changed_since_build(folder)):
        log.warning("changed since %s was generated, and not what is served: %s; run a2a-gen build", outputs.package, stale)
    try:
        made: object = generated.make_agent(_done_by(file.service)()) if file.service else generated.make_agent()
    except WrongMethodError as error:
        raise ComplaintsError([Complaint(("service",), str(error))]) from error
    except UnknownNameError as error:
        raise ComplaintsError([Complaint(("skills",), str(error))]) from error
    if not isinstance(made, Agent):
        raise ComplaintsError([Complaint(("outputs", "package"), f"{outputs.package}.agent makes no agent; run a2a-gen build --force")])
    return made


def _done_by(service: str) -> Callable[..., object]:
    """Find the class that does the skills, and does all of them."""
    try:
        found = function_of(service)
    except UnknownNameError as error:
        raise ComplaintsError([Complaint(("service",), str(error))]) from error
    if isinstance(found, ABCMeta) and found.__abstractmethods__:
        raise ComplaintsError([Complaint(("service",), f"{service} has no method {', '.join(sorted(found.__abstractmethods__))}; write it")])
    return found


def _import_from(*folders: Path) -> None:
    """Let modules be imported from some folders, as Python does for a script: handlers are named from there."""
    for folder in folders:
        if str(folder.resolve()) not in sys.path:
            sys.path.insert(0, str(folder.resolve()))


def _agent(file: File, folder: Path) -> Agent:
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
    _import_from(folder)
    wrong: list[Complaint] = []
    for skill_id, skill in file.skills.items():
        try:
            _add(agent, skill_id, skill, file.limits.timeout)
        except UnknownNameError as error:
            wrong.append(Complaint(("skills", skill_id, "handler"), str(error)))
    if wrong:
        raise ComplaintsError(wrong)
    return agent


def _add(agent: Agent, skill_id: str, skill: SkillTable, timeout: float) -> None:
    agent.add(
        skill_id,
        function_of(skill.handler or ""),
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
