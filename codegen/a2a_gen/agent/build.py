"""The files of an agent's package, and what they were made from: the steps of this folder in their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from a2a_gen.agent import models, modules
from a2a_gen.agent.contract import AgentIR, make_contract
from a2a_gen.agent.library import Library
from a2a_gen.agent.lint import check
from a2a_gen.agent.settings import read_settings
from a2a_gen.problems import Problem
from a2a_gen.source.project import Project


@dataclass(frozen=True, slots=True)
class Read:
    """An agent as its project says it, beside the texts of every file that has a say in it, and what the rules object to."""

    agent: AgentIR
    inputs: Mapping[str, bytes]
    problems: tuple[Problem, ...]


def read(project: Project) -> Read:
    """Read the agent of a project, or raise ``ContractError`` with everything that is wrong."""
    settings = read_settings(project.config)
    library = Library(project.root)
    agent = make_contract(settings, library)
    inputs = {project.config.name: project.config.read_bytes(), **{path: document.text.encode() for path, document in library.files.items()}}
    return Read(agent, inputs, tuple(check(library)))


def emit(agent: AgentIR) -> dict[str, bytes]:
    """Write the files of the package."""
    return {**models.emit(agent.definitions, agent.modules), **modules.emit(agent)}
