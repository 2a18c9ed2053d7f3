"""Kinds of project: an agent, a contract, and plain schemas.

A build with nothing to do lists its inputs and returns before any heavy import. So the list is made
here, and everything else about a kind is loaded by name, once there is work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from a2a_gen.problems import Problem
from a2a_gen.source.documents import find_contract_files
from a2a_gen.source.project import KindName, Project, find_schema_files

if TYPE_CHECKING:
    from a2a_gen.output.cache import BuildCache
    from a2a_gen.output.lock import Lock


@dataclass(frozen=True, slots=True)
class Generated:
    """The result of a build: files by path relative to the package, the texts of the files that
    it read, and warnings.
    """

    files: Mapping[str, bytes]
    inputs: Mapping[str, bytes]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class ProjectKind:
    """The steps of a build that differ by the kind of its project."""

    has_types: bool
    """True for a package that has types of schemas: only changed modules have to be imported."""
    libraries: Sequence[str]
    """What the import check of the package loads before the package is there."""
    find_problems: Callable[[Project], tuple[Problem, ...]]
    generate: Callable[[Project, Lock | None, BuildCache], Generated]
    """Generate a project, with what a reusable lock lets it take from the last build."""


_KINDS: Mapping[KindName, str] = MappingProxyType(
    {
        "agent": "a2a_gen.agent.kind",
        "contract": "a2a_gen.contract.kind",
        "models": "a2a_gen.plain.kind",
    }
)


def load_kind(project: Project) -> ProjectKind:
    """Load the kind of a project."""
    kind: ProjectKind = import_module(_KINDS[project.kind]).KIND
    return kind


# --- the inputs of a build ---


def list_inputs(project: Project, last_inputs: Iterable[str]) -> Iterable[Path]:
    """List the files that a build would read, from those that the last one has read."""
    return _INPUTS[project.kind](project, last_inputs)


def _list_agent_inputs(project: Project, last_inputs: Iterable[str]) -> Iterable[Path]:
    # A new file of an agent can only be reached through a changed one.
    return [project.root / path for path in last_inputs]


def _list_models_inputs(project: Project, last_inputs: Iterable[str]) -> Iterable[Path]:
    # Schemas refer to files of other folders too, which only the last build knows.
    found = find_schema_files(project.schema, project.out)
    return {*found, *(project.root / path for path in last_inputs)}


def _list_contract_inputs(project: Project, _: Iterable[str]) -> Iterable[Path]:
    return find_contract_files(project.schema)


_INPUTS: Mapping[KindName, Callable[[Project, Iterable[str]], Iterable[Path]]] = MappingProxyType(
    {
        "agent": _list_agent_inputs,
        "contract": _list_contract_inputs,
        "models": _list_models_inputs,
    }
)
