"""The build of a contract's package: read the documents, run every rule, emit the files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

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
from a2a_gen.problems import ContractError, GeneratorError, Problem, has_errors
from a2a_gen.source.documents import Document, load_documents
from a2a_gen.source.project import Project

Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class LoadedContract:
    """A contract, its documents, and the generated models that can be reused."""

    documents: Mapping[str, Document]
    contract: Contract
    reused_models: Files = field(default_factory=dict[str, bytes])


def read_contract(project: Project) -> LoadedContract:
    """Read the contract of a project."""
    try:
        documents = load_documents(project.schema)
        return LoadedContract(documents, build_contract(documents))
    except ContractError as error:
        raise ContractError(_prefix_schema_folder(project, error.problems)) from error


def problems(project: Project) -> tuple[Problem, ...]:
    """Find every problem of a contract: errors and warnings."""
    loaded = read_contract(project)
    found = lint(project, loaded)
    # Translations of an invalid contract would report problems that cannot be fixed there.
    if has_errors(found):
        return found
    return (*found, *_prefix_schema_folder(project, translations.check(loaded.contract)))


def lint(project: Project, loaded: LoadedContract) -> tuple[Problem, ...]:
    """Run the lint rules on a contract."""
    return tuple(_prefix_schema_folder(project, run_rules(loaded.contract, loaded.documents)))


def _prefix_schema_folder(project: Project, found: Iterable[Problem]) -> Iterator[Problem]:
    """Make file paths relative to the project instead of to the schema folder, so editors can open
    them.
    """
    folder = project.schema.relative_to(project.root)
    for problem in found:
        file = (folder / problem.place.file).as_posix()
        yield replace(problem, place=replace(problem.place, file=file))


# --- the package ---


def _emit_models(loaded: LoadedContract) -> Files:
    reused = {path.partition("/")[0] for path in loaded.reused_models}
    families = tuple(family for family in loaded.contract.families if family.dialect not in reused)
    made = models.emit(replace(loaded.contract, families=families), loaded.documents)
    return {**loaded.reused_models, **made}


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


def emit(loaded: LoadedContract) -> Files:
    """Emit the files of the package."""
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
