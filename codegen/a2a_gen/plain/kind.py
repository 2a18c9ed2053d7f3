"""The kind of project that has plain schemas."""

from __future__ import annotations

from a2a_gen.output.cache import BuildCache
from a2a_gen.output.lock import Lock
from a2a_gen.output.staging import MODEL_LIBRARIES
from a2a_gen.plain.build import emit, problems, read_package
from a2a_gen.problems import Problem
from a2a_gen.source.kinds import Generated, ProjectKind
from a2a_gen.source.project import Project


def _find_problems(project: Project) -> tuple[Problem, ...]:
    return tuple(sorted(problems(project)))


def _generate(project: Project, _: Lock | None, cache: BuildCache) -> Generated:
    package = read_package(project)
    return Generated(emit(package, cache), package.inputs, package.problems)


KIND = ProjectKind(
    has_types=True,
    libraries=MODEL_LIBRARIES,
    find_problems=_find_problems,
    generate=_generate,
)
