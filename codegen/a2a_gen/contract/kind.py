"""The kind of project that is a contract."""

from __future__ import annotations

from dataclasses import replace

from a2a_gen.contract.build import LoadedContract, emit, lint, problems, read_contract
from a2a_gen.output.cache import BuildCache
from a2a_gen.output.lock import Lock
from a2a_gen.output.new_lock import build_lock
from a2a_gen.output.publish import find_unchanged_dialects, read_reusable_models
from a2a_gen.output.staging import SERVER_LIBRARIES
from a2a_gen.problems import raise_on_errors
from a2a_gen.source.kinds import Generated, ProjectKind
from a2a_gen.source.project import Project


def _generate(project: Project, reusable: Lock | None, _: BuildCache) -> Generated:
    loaded = read_contract(project)
    found = raise_on_errors(lint(project, loaded))
    schema = project.schema.relative_to(project.root)
    inputs = {
        (schema / path).as_posix(): document.text.encode()
        for path, document in loaded.documents.items()
    }
    if reusable:
        loaded = _reuse_models(loaded, project, reusable, build_lock(project, inputs))
    return Generated(emit(loaded), inputs, found)


def _reuse_models(
    loaded: LoadedContract, project: Project, reusable: Lock, new: Lock
) -> LoadedContract:
    """Take the models of unchanged dialects from the last build: to make them takes longest."""
    dialects = {family.dialect for family in loaded.contract.families}
    unchanged = find_unchanged_dialects(reusable, new, dialects, project.options["schema"])
    # The models of an extending dialect are written from those that it extends.
    unchanged -= {
        each.name
        for each in loaded.contract.dialects
        if each.extends is not None and each.extends not in unchanged
    }
    models = read_reusable_models(reusable, project.out, project.root, unchanged)
    return replace(loaded, reused_models=models)


KIND = ProjectKind(
    has_types=False,
    libraries=SERVER_LIBRARIES,
    find_problems=problems,
    generate=_generate,
)
