"""The steps of a build in their order. Loading and publishing touch the disk; everything between works on values.

load    documents, then the contract that they say
lint    every rule; errors end the build with all of them
emit    the files of the package, by path
stage   tidied by ruff and imported once, beside the output
publish what differs, and the lock
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

import a2a_gen
from a2a_gen.agent import build as agent
from a2a_gen.emit import bindings, models, package, tables, translations
from a2a_gen.emit import package as bundle
from a2a_gen.emit import package as controllers
from a2a_gen.emit import package as protocols
from a2a_gen.emit import package as support
from a2a_gen.ir.build import build_contract
from a2a_gen.ir.model import Contract
from a2a_gen.lint.rules import run_rules
from a2a_gen.output import lock
from a2a_gen.output import lock as fresh
from a2a_gen.output.lock import GeneratorInfo, Lock, hash_bytes
from a2a_gen.output.publish import Drift, PublishPlan, find_drift, find_unchanged_dialects, make_plan, publish, read_reusable_models, refuse_edited
from a2a_gen.output.staging import format_package, stage, start_import_check
from a2a_gen.problems import ContractError, GeneratorError, Level, Problem
from a2a_gen.source.documents import Document, load_documents
from a2a_gen.source.project import Project

Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class LoadedContract:
    """A contract beside the documents that say it, and the models that need not be made again."""

    documents: Mapping[str, Document]
    contract: Contract
    reused_models: Files = field(default_factory=dict[str, bytes])


@dataclass(frozen=True, slots=True)
class StagedBuild:
    """A build that only has to be published: its files (by path relative to the project), where they are staged, and what would change."""

    files: Files
    staged_paths: Mapping[str, Path]
    plan: PublishPlan
    locks: tuple[Lock | None, Lock]
    warnings: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build did to the disk, and what it did not like."""

    written_count: int
    removed_count: int
    unchanged_count: int
    warnings: tuple[Problem, ...]


def _emit_models(loaded: LoadedContract) -> Files:
    kept = {path.partition("/")[0] for path in loaded.reused_models}
    families = tuple(family for family in loaded.contract.families if family.dialect not in kept)
    return {**loaded.reused_models, **models.emit(replace(loaded.contract, families=families), loaded.documents)}


# Every kind of output, in the order in which a reader meets them.
EMITTERS: tuple[Callable[[LoadedContract], Files], ...] = (
    lambda loaded: package.emit_package(loaded.contract),
    lambda _: support.emit_support(),
    _emit_models,
    lambda loaded: tables.emit(loaded.contract),
    lambda loaded: protocols.emit_protocols(loaded.contract),
    lambda loaded: translations.emit(loaded.contract),
    lambda loaded: bindings.emit(loaded.contract),
    lambda loaded: controllers.emit_controllers(loaded.contract),
    lambda loaded: bundle.emit_schemas(loaded.contract, loaded.documents),
)


def load(project: Project) -> LoadedContract:
    """Read the contract of a project."""
    try:
        documents = load_documents(project.schema)
        return LoadedContract(documents, build_contract(documents))
    except ContractError as error:
        raise ContractError(_prefix_schema_folder(project, error.problems)) from error


def find_problems(project: Project) -> tuple[Problem, ...]:
    """Find everything that the rules object to in a project of any kind."""
    if project.kind == "agent":
        return tuple(sorted(agent.problems(project)))
    loaded = load(project)
    found = lint(project, loaded)
    if any(problem.level is Level.ERROR for problem in found):
        return found  # translations of what is wrong are wrong in ways that nobody can mend
    return (*found, *_prefix_schema_folder(project, translations.check(loaded.contract)))


def lint(project: Project, loaded: LoadedContract) -> tuple[Problem, ...]:
    """Find everything that the rules object to."""
    return tuple(_prefix_schema_folder(project, run_rules(loaded.contract, loaded.documents)))


def _prefix_schema_folder(project: Project, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Name files from the project's folder, where people and editors find them, instead of from the contract's."""
    folder = project.schema.relative_to(project.root)
    for problem in problems:
        yield replace(problem, place=replace(problem.place, file=(folder / problem.place.file).as_posix()))


def build(project: Project, *, force: bool = False) -> BuildResult:
    """Generate the package and write what differs; ``force`` also overwrites what was edited by hand."""
    with _stage_build(project, is_full_rebuild=force) as ready:
        if not force:
            refuse_edited(ready.plan, "a2a-gen build", "the schemas")
        publish(project.root, ready.staged_paths, ready.plan, (lock.LOCK_FILE, ready.locks[1].to_bytes()))
        return BuildResult(len(ready.plan.write), len(ready.plan.remove), ready.plan.unchanged_count, ready.warnings)


def compute_drift(project: Project) -> tuple[Drift, tuple[Problem, ...]]:
    """Generate the package and say how it differs from what is on disk, beside the warnings of the rules; writes nothing."""
    with _stage_build(project, is_full_rebuild=True) as ready:
        return find_drift(project.root, project.out, ready.files, ready.plan, ready.locks), ready.warnings


@contextmanager
def _stage_build(project: Project, *, is_full_rebuild: bool) -> Generator[StagedBuild]:
    """Take every step but the last; the stage is gone afterwards. ``anew`` takes nothing over from the last build."""
    old = lock.read_lock(project.root)
    with start_import_check() as waiting:
        files, new, warnings = (_generate_agent if project.kind == "agent" else _generate_contract)(project, old, is_full_rebuild=is_full_rebuild)
        with stage(project.out, files) as package_folder:
            format_package(package_folder)
            waiting.run(package_folder)
            base = project.out.relative_to(project.root)
            staged = {(base / file.relative_to(package_folder)).as_posix(): file for file in package_folder.rglob("*") if file.is_file()}
            files = {path: file.read_bytes() for path, file in sorted(staged.items())}
            new = replace(new, outputs={path: hash_bytes(content) for path, content in files.items()})
            yield StagedBuild(files, staged, make_plan(project.root, files, old.outputs if old else {}), (old, new), warnings)


def _generate_contract(project: Project, old: Lock | None, *, is_full_rebuild: bool) -> tuple[Files, Lock, tuple[Problem, ...]]:
    """Make the files of a contract, the lock without them, and what the rules warn of."""
    loaded = load(project)
    found = _raise_on_errors(lint(project, loaded))
    schema = project.schema.relative_to(project.root)
    new = _build_lock(project, {(schema / path).as_posix(): document.text.encode() for path, document in loaded.documents.items()})
    if old and not is_full_rebuild:
        loaded = replace(loaded, reused_models=_find_reusable_models(project, loaded.contract, old, new))
    return _run_emitters(loaded), new, found


def _generate_agent(project: Project, old: Lock | None, *, is_full_rebuild: bool) -> tuple[Files, Lock, tuple[Problem, ...]]:
    """Make the same of an agent, always anew: a build of one agent is short."""
    del old, is_full_rebuild
    found = agent.read_agent(project)
    return agent.emit(found.agent), _build_lock(project, found.inputs), _raise_on_errors(found.problems)


def _raise_on_errors(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    if any(problem.level is Level.ERROR for problem in problems):
        raise ContractError(problems)
    return problems


def _run_emitters(loaded: LoadedContract) -> Files:
    files: dict[str, bytes] = {}
    for emitter in EMITTERS:
        made = emitter(loaded)
        twice = files.keys() & made.keys()
        if twice:
            raise GeneratorError(f"two emitters write the same file, which is a mistake of the generator: {', '.join(sorted(twice))}")
        files |= made
    return files


def _find_reusable_models(project: Project, contract: Contract, old: Lock, new: Lock) -> Files:
    dialects = {family.dialect for family in contract.families}
    same = find_unchanged_dialects(old, new, dialects, project.options["schema"])
    return read_reusable_models(old, project.out, project.root, same)


def _build_lock(project: Project, inputs: Files) -> Lock:
    """Describe the build so far: its outputs are not there yet."""
    tools = {tool: version(tool) for tool in fresh.TOOLS}
    hashes = {path: hash_bytes(content) for path, content in inputs.items()}
    return Lock(GeneratorInfo(a2a_gen.__version__, fresh.hash_sources(), tools), project.options, hashes, {})
