"""The files of an agent's package, and what they were made from: the steps of this folder in their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from a2a_gen.agent import models, modules
from a2a_gen.agent.contract import AgentIR, Reached, make_contract, reach
from a2a_gen.agent.library import Library
from a2a_gen.agent.lint import check
from a2a_gen.agent.settings import read_settings
from a2a_gen.problems import ContractError, Level, Problem
from a2a_gen.source.project import Project


@dataclass(frozen=True, slots=True)
class Read:
    """An agent as its project says it, beside the texts of every file that has a say in it, and what the rules object to."""

    agent: AgentIR
    inputs: Mapping[str, bytes]
    problems: tuple[Problem, ...]


def read(project: Project) -> Read:
    """Read the agent of a project, or raise ``ContractError`` with everything that is wrong with its file and its schemas."""
    found, reached, library = _found(project)
    if any(problem.level is Level.ERROR for problem in found):
        raise ContractError(found)
    inputs = {project.config.name: project.config.read_bytes(), **{path: document.text.encode() for path, document in library.files.items()}}
    return Read(make_contract(reached), inputs, found)


def problems(project: Project) -> tuple[Problem, ...]:
    """Find everything that is wrong with an agent, or works otherwise than it looks."""
    return _found(project)[0]


def _found(project: Project) -> tuple[tuple[Problem, ...], Reached, Library]:
    settings = read_settings(project.config)
    library = Library(project.root, settings.document)
    reached = reach(settings, library)
    return tuple(dict.fromkeys((*settings.problems, *library.problems, *check(library)))), reached, library


def emit(agent: AgentIR) -> dict[str, bytes]:
    """Write the files of the package."""
    return {**models.emit(agent.definitions, agent.modules), **modules.emit(agent)}
