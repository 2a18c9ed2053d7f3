"""Steps of a build, in order.

Loading and publishing touch the disk; the steps between work on values.

load    read the documents and build the contract
lint    run every rule; errors end the build, all of them reported
emit    generate the files of the package, by path
stage   format with ruff and import once, beside the output
publish write changed files and the lock
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache as cached
from importlib.metadata import version
from pathlib import Path

import a2a_gen
from a2a_gen.agent import build as agent
from a2a_gen.agent.project_file import emit_project_file
from a2a_gen.emit import (
    bindings,
    models,
    openapi,
    operator_settings,
    package,
    srs_forms,
    tables,
    translations,
)
from a2a_gen.emit.protobuf import codec
from a2a_gen.ir.build import build_contract
from a2a_gen.ir.model import Contract
from a2a_gen.lint.rules import run_rules
from a2a_gen.output.cache import BuildCache
from a2a_gen.output.lock import (
    LOCK_FILE,
    TOOLS,
    GeneratorInfo,
    Lock,
    hash_bytes,
    hash_sources,
    read_lock,
)
from a2a_gen.output.publish import (
    Drift,
    PublishPlan,
    find_drift,
    find_unchanged_dialects,
    make_plan,
    publish,
    read_reusable_models,
    refuse_edited,
)
from a2a_gen.output.staging import (
    MODEL_LIBRARIES,
    SERVER_LIBRARIES,
    check_package,
    stage,
    start_import_check,
)
from a2a_gen.plain import build as plain
from a2a_gen.problems import ContractError, GeneratorError, Problem, has_errors
from a2a_gen.source.documents import Document, load_documents
from a2a_gen.source.project import OutputsError, Project, find_project

Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class LoadedContract:
    """A contract, its documents, and the generated models that can be reused."""

    documents: Mapping[str, Document]
    contract: Contract
    reused_models: Files = field(default_factory=dict[str, bytes])


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


def _emit_models(loaded: LoadedContract) -> Files:
    reused = {path.partition("/")[0] for path in loaded.reused_models}
    families = tuple(family for family in loaded.contract.families if family.dialect not in reused)
    return {
        **loaded.reused_models,
        **models.emit(replace(loaded.contract, families=families), loaded.documents),
    }


# Every kind of output, in reading order.
EMITTERS: tuple[Callable[[LoadedContract], Files], ...] = (
    lambda loaded: package.emit_package(loaded.contract),
    lambda _: package.emit_support(),
    _emit_models,
    lambda loaded: tables.emit(loaded.contract),
    lambda loaded: package.emit_protocols(loaded.contract),
    lambda loaded: translations.emit(loaded.contract),
    lambda loaded: bindings.emit(loaded.contract),
    lambda loaded: codec.emit(loaded.contract),
    lambda loaded: package.emit_controllers(loaded.contract),
    lambda loaded: package.emit_schemas(loaded.contract, loaded.documents),
    lambda loaded: emit_project_file(loaded.documents),
    lambda loaded: operator_settings.emit(loaded.documents),
    lambda loaded: srs_forms.emit(loaded.documents),
    lambda loaded: openapi.emit(loaded.contract, loaded.documents),
)


def open_project(start: Path) -> Project:
    """Find the project of a folder; a problem of its ``[outputs]`` is raised together with all
    others of its file and its schemas.
    """
    try:
        return find_project(start)
    except OutputsError as error:
        own = error.problem
        known = {own.place.pointer, "/outputs"}
        others = [each for each in agent.problems(error.project) if each.place.pointer not in known]
        if not has_errors(others):
            raise
        raise ContractError([own, *others]) from None


def load(project: Project) -> LoadedContract:
    """Read the contract of a project."""
    try:
        documents = load_documents(project.schema)
        return LoadedContract(documents, build_contract(documents))
    except ContractError as error:
        raise ContractError(_prefix_schema_folder(project, error.problems)) from error


def find_problems(project: Project) -> tuple[Problem, ...]:
    """Run every rule on a project of any kind."""
    if project.kind == "agent":
        return tuple(sorted(agent.problems(project)))
    if project.kind == "models":
        return tuple(sorted(plain.problems(project)))
    loaded = load(project)
    problems = lint(project, loaded)
    if has_errors(problems):
        # translations of an invalid contract report problems that cannot be fixed there
        return problems
    return (*problems, *_prefix_schema_folder(project, translations.check(loaded.contract)))


def lint(project: Project, loaded: LoadedContract) -> tuple[Problem, ...]:
    """Run the lint rules on a contract."""
    return tuple(_prefix_schema_folder(project, run_rules(loaded.contract, loaded.documents)))


def _prefix_schema_folder(project: Project, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Make file paths relative to the project instead of to the schema folder, so editors can open
    them.
    """
    folder = project.schema.relative_to(project.root)
    for problem in problems:
        yield replace(
            problem, place=replace(problem.place, file=(folder / problem.place.file).as_posix())
        )


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
    with start_import_check(
        MODEL_LIBRARIES if project.kind == "models" else SERVER_LIBRARIES
    ) as import_check:
        cache = BuildCache(
            project.root, project.out, None if is_full_rebuild else _describe_generator()
        )
        files, new, warnings = _generate(project, None if is_full_rebuild else old, cache)
        changed = cache.select_changed(files)
        with stage(project.out, changed, cache.unchanged) as folder:
            out = project.out.relative_to(project.root)
            staged_paths = {
                (out / path).as_posix(): file
                for path, file in check_package(
                    folder, import_check, changed, has_types=project.kind != "contract"
                ).items()
            }
            files = {path: file.read_bytes() for path, file in staged_paths.items()}
            new = replace(
                new, outputs={path: hash_bytes(content) for path, content in files.items()}
            )
            plan = make_plan(project.root, files, old.outputs if old else {})
            yield StagedBuild(files, staged_paths, plan, (old, new), warnings)
            if not is_full_rebuild:
                cache.keep(
                    {
                        Path(path).relative_to(out).as_posix(): content
                        for path, content in files.items()
                    }
                )


def _generate(
    project: Project, reusable: Lock | None, cache: BuildCache
) -> tuple[Files, Lock, tuple[Problem, ...]]:
    """Generate the files of a project, its lock without outputs, and the warnings."""
    match project.kind:
        case "agent":
            loaded = agent.read_agent(project)
            return (
                agent.emit(loaded.agent, cache),
                _build_lock(project, loaded.inputs),
                _raise_on_errors(loaded.problems),
            )
        case "models":
            package = plain.read_package(project)
            return (
                plain.emit(package, cache),
                _build_lock(project, package.inputs),
                package.problems,
            )
        case "contract":
            return _generate_contract(project, reusable)


def _generate_contract(
    project: Project, reusable: Lock | None
) -> tuple[Files, Lock, tuple[Problem, ...]]:
    """Generate the same for a contract, with the models of unchanged dialects from the last
    build.
    """
    loaded = load(project)
    problems = _raise_on_errors(lint(project, loaded))
    schema = project.schema.relative_to(project.root)
    new = _build_lock(
        project,
        {
            (schema / path).as_posix(): document.text.encode()
            for path, document in loaded.documents.items()
        },
    )
    if reusable:
        dialects = {family.dialect for family in loaded.contract.families}
        unchanged = find_unchanged_dialects(reusable, new, dialects, project.options["schema"])
        unchanged -= {
            each.name
            for each in loaded.contract.dialects
            if each.extends is not None and each.extends not in unchanged
        }
        loaded = replace(
            loaded,
            reused_models=read_reusable_models(reusable, project.out, project.root, unchanged),
        )
    return _run_emitters(loaded), new, problems


def _raise_on_errors(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    if has_errors(problems):
        raise ContractError(problems)
    return problems


def _run_emitters(loaded: LoadedContract) -> Files:
    files: dict[str, bytes] = {}
    for emitter in EMITTERS:
        emitted = emitter(loaded)
        duplicates = files.keys() & emitted.keys()
        if duplicates:
            raise GeneratorError(
                f"emit: two emitters write {', '.join(sorted(duplicates))}, which is a bug "
                "of a2a-gen"
            )
        files |= emitted
    return files


def _build_lock(project: Project, inputs: Files) -> Lock:
    """Build the lock without its outputs, which are not known yet."""
    return Lock(
        _describe_generator(),
        project.options,
        {path: hash_bytes(content) for path, content in inputs.items()},
        {},
    )


@cached
def _describe_generator() -> GeneratorInfo:
    return GeneratorInfo(
        a2a_gen.__version__, hash_sources(), {tool: version(tool) for tool in TOOLS}
    )
