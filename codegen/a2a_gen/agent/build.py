"""The build of an agent's package: read the project, check its schemas, emit the files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from a2a_gen.agent import models, modules
from a2a_gen.agent.ir import AgentIR, ReachableSchemas, build_agent_ir, collect_schemas
from a2a_gen.agent.schemas.checks import check
from a2a_gen.agent.schemas.files import Library
from a2a_gen.agent.settings import read_settings
from a2a_gen.agent.types.builder import TypeBuilder
from a2a_gen.output.cache import BuildCache
from a2a_gen.problems import ContractError, Problem, has_errors
from a2a_gen.source.project import Project


@dataclass(frozen=True, slots=True)
class AgentBuild:
    """The agent of a project, the texts of the files it was read from, and the problems that were
    found.
    """

    agent: AgentIR
    inputs: Mapping[str, bytes]
    problems: tuple[Problem, ...]


def read_agent(project: Project) -> AgentBuild:
    """Read the agent of a project, or raise ``ContractError`` with every problem of its file and
    its schemas.
    """
    found, reached, library = _find_problems(project)
    if has_errors(found):
        raise ContractError(found)
    inputs = {
        project.config.name: project.config.read_bytes(),
        **{path: document.text.encode() for path, document in library.files.items()},
    }
    types = TypeBuilder(reached.catalogue)
    return AgentBuild(build_agent_ir(reached, types.definitions), inputs, (*found, *types.warnings))


def problems(project: Project) -> tuple[Problem, ...]:
    """Find every problem of an agent: errors and warnings."""
    found, reached, _ = _find_problems(project)
    if has_errors(found):
        return found
    try:
        return (*found, *TypeBuilder(reached.catalogue).warnings)
    except ContractError as error:
        return (*found, *error.problems)


def _find_problems(project: Project) -> tuple[tuple[Problem, ...], ReachableSchemas, Library]:
    settings = read_settings(project.config)
    library = Library(project.root, settings.document)
    reached = collect_schemas(settings, library)
    return (
        tuple(dict.fromkeys((*settings.problems, *library.problems, *check(library)))),
        reached,
        library,
    )


def emit(agent: AgentIR, cache: BuildCache | None = None) -> dict[str, bytes]:
    """Emit the files of the package."""
    return {
        **models.emit(agent.definitions, agent.modules, models.EmitOptions(cache=cache)),
        **modules.emit(agent),
    }
