"""Steps of a build, in order.

Loading and publishing touch the disk; the steps between work on values.

load    read the documents: of an agent, a contract or plain schemas (``source.kinds``)
lint    run every rule; errors end the build, all of them reported
emit    generate the files of the package, by path
stage   format with ruff and import once, beside the output
publish write changed files and the lock

The first three differ by the kind of project; the rest is here.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from a2a_gen.output.cache import BuildCache
from a2a_gen.output.lock import LOCK_FILE, Lock, hash_bytes, read_lock
from a2a_gen.output.new_lock import build_lock, describe_generator
from a2a_gen.output.publish import (
    Drift,
    PublishPlan,
    find_drift,
    make_plan,
    publish,
    refuse_edited,
)
from a2a_gen.output.staging import check_package, stage, start_import_check
from a2a_gen.problems import ContractError, Problem, has_errors
from a2a_gen.source.kinds import load_kind
from a2a_gen.source.project import OutputsError, Project, find_project

Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class StagedBuild:
    """A build that only has to be published: files by project-relative path, their staged copies,
    and the plan.
    """

    files: Files
    staged_paths: Mapping[str, Path]
    plan: PublishPlan
    locks: tuple[Lock | None, Lock]
    warnings: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class BuildResult:
    """File counts and warnings of a finished build."""

    written_count: int
    removed_count: int
    unchanged_count: int
    warnings: tuple[Problem, ...]


def open_project(start: Path) -> Project:
    """Find the project of a folder; a problem of its ``[outputs]`` is raised together with all
    others of its file and its schemas.
    """
    try:
        return find_project(start)
    except OutputsError as error:
        own = error.problem
        known = {own.place.pointer, "/outputs"}
        found = find_problems(error.project)
        others = [each for each in found if each.place.pointer not in known]
        if not has_errors(others):
            raise
        raise ContractError([own, *others]) from None


def find_problems(project: Project) -> tuple[Problem, ...]:
    """Run every rule on a project of any kind."""
    return load_kind(project).find_problems(project)


def build(project: Project, *, force: bool = False) -> BuildResult:
    """Generate the package and write changed files; ``force`` also overwrites files edited by
    hand.
    """
    with _stage_build(project, is_full_rebuild=force) as staged:
        if not force:
            refuse_edited(staged.plan, "a2a-gen build", "the schemas")
        publish(
            project.root, staged.staged_paths, staged.plan, (LOCK_FILE, staged.locks[1].to_bytes())
        )
        return BuildResult(
            len(staged.plan.write),
            len(staged.plan.remove),
            staged.plan.unchanged_count,
            staged.warnings,
        )


def compute_drift(project: Project) -> tuple[Drift, tuple[Problem, ...]]:
    """Generate the package and compare it with the files on disk; returns the warnings too.

    Writes nothing.
    """
    with _stage_build(project, is_full_rebuild=True) as staged:
        return find_drift(
            project.root, project.out, staged.files, staged.plan, staged.locks
        ), staged.warnings


@contextmanager
def _stage_build(project: Project, *, is_full_rebuild: bool) -> Generator[StagedBuild]:
    """Run every step but the last; the stage is removed afterwards.

    A full rebuild reuses nothing from the last build.
    """
    old = read_lock(project.root)
    kind = load_kind(project)
    # The check imports its libraries in a process of its own, while this one generates.
    with start_import_check(kind.libraries) as import_check:
        generator = None if is_full_rebuild else describe_generator()
        cache = BuildCache(project.root, project.out, generator)
        generated = kind.generate(project, None if is_full_rebuild else old, cache)
        changed = cache.select_changed(generated.files)
        with stage(project.out, changed, cache.unchanged) as folder:
            out = project.out.relative_to(project.root)
            checked = check_package(folder, import_check, changed, has_types=kind.has_types)
            staged_paths = {(out / path).as_posix(): file for path, file in checked.items()}
            files = {path: file.read_bytes() for path, file in staged_paths.items()}
            hashes = {path: hash_bytes(content) for path, content in files.items()}
            new = replace(build_lock(project, generated.inputs), outputs=hashes)
            plan = make_plan(project.root, files, old.outputs if old else {})
            yield StagedBuild(files, staged_paths, plan, (old, new), generated.problems)
            if not is_full_rebuild:
                cache.keep({path: files[(out / path).as_posix()] for path in checked})
