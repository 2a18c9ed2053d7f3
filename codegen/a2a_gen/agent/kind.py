"""The kind of project that is an agent."""

from __future__ import annotations

from a2a_gen.agent.build import emit, problems, read_agent
from a2a_gen.output.cache import BuildCache
from a2a_gen.output.lock import Lock
from a2a_gen.output.staging import SERVER_LIBRARIES
from a2a_gen.problems import Problem, raise_on_errors
from a2a_gen.source.kinds import Generated, ProjectKind
from a2a_gen.source.project import Project


def _find_problems(project: Project) -> tuple[Problem, ...]:
    return tuple(sorted(problems(project)))


def _generate(project: Project, _: Lock | None, cache: BuildCache) -> Generated:
    loaded = read_agent(project)
    files = emit(loaded.agent, cache)
    return Generated(files, loaded.inputs, raise_on_errors(loaded.problems))


KIND = ProjectKind(
    has_types=True,
    libraries=SERVER_LIBRARIES,
    find_problems=_find_problems,
    generate=_generate,
)
