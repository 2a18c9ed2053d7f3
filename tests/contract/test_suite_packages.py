"""The JSON Schema Test Suite through built packages of models, read and written as JSON text, in
every draft that is supported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from contract.plain_packages import import_package, make_project
from contract.test_json_schema_suite import DRAFTS, REFUSED, Group, groups

from a2a_gen.plain import build as plain
from a2a_gen.problems import ContractError

ALL_DRAFTS = {**DRAFTS, "draft6": "http://json-schema.org/draft-06/schema#"}
SAMPLE = 24


def build_schema(group: Group, draft: str) -> object:
    """Name the draft in the schema of a group."""
    schema: object = group["schema"]
    return {"$schema": ALL_DRAFTS[draft], **schema} if isinstance(schema, dict) else schema


def compare(
    schema: Any,  # noqa: ANN401 - of a package that was just built
    group: Group,
    *,
    is_narrower: bool,
) -> Iterator[str]:
    """Compare a typed schema with the verdicts of a group; values that it refuses after a warning
    of the build are no difference.
    """
    for test in group["tests"]:
        name = f"{group['file']}: {group['description']}: {test['description']}"
        try:
            written = json.loads(schema.write(schema.read(json.dumps(test["data"]))))
        except ValueError as error:
            if test["valid"] and not is_narrower:
                yield f"{name}: wrongly refused: {error}"
        else:
            if not test["valid"]:
                yield f"{name}: wrongly accepted"
            elif written != test["data"]:
                yield f"{name}: written as {written}"


def compare_packages(folder: Path, draft: str, merged: Sequence[Group]) -> Iterator[str]:
    """Build one package of the schemas of some groups, and compare each."""
    files = {f"group{index}.json": build_schema(group, draft) for index, group in enumerate(merged)}
    try:
        package = plain.read_package(make_project(folder, "unused", files))
    except ContractError as error:
        if not all(any(reason in problem.text for reason in REFUSED) for problem in error.problems):
            yield f"{merged[0]['file']}: {merged[0]['description']}: refused: {error}"
        refused = {Path(problem.place.file).name for problem in error.problems}
        rest = [group for index, group in enumerate(merged) if f"group{index}.json" not in refused]
        if 0 < len(rest) < len(merged):
            yield from compare_packages(folder / "rest", draft, rest)
        return
    warned = {
        Path(problem.place.file).name for problem in package.problems if problem.rule == "A2A-K07"
    }
    with import_package(folder, files) as name:
        found = {
            key.lower(): each
            for key, each in vars(import_module(f"{name}.schemas")).items()
            if key.isupper()
        }
        for index, group in enumerate(merged):
            yield from compare(
                found[f"group{index}"], group, is_narrower=f"group{index}.json" in warned
            )


def has_names(group: Group) -> bool:
    """Check that a schema has a name or refers to one, which others in its package may have too."""
    text = json.dumps(group["schema"])
    return (
        any(f'"{keyword}"' in text for keyword in ("$id", "$anchor", "title"))
        or '"$ref": "http' in text
        or '"$ref": "urn' in text
    )


@pytest.mark.peer
@pytest.mark.parametrize("draft", ALL_DRAFTS)
def test_a_package_of_a_part_of_the_suite_differs_nowhere(draft: str, tmp_path: Path) -> None:
    """A sample of the groups of each draft, in one package."""
    usable = [group for group in groups(draft) if not has_names(group)]
    sample = usable[:: len(usable) // SAMPLE]
    assert [*compare_packages(tmp_path, draft, sample)] == []


@pytest.mark.peer
@pytest.mark.soak(share="contracts")
@pytest.mark.parametrize("draft", ALL_DRAFTS)
def test_packages_of_the_whole_suite_differ_nowhere(draft: str, tmp_path: Path) -> None:
    """Every group of each draft, in a package of its own."""
    listed = groups(draft)
    found = [
        each
        for index, group in enumerate(listed)
        for each in compare_packages(tmp_path / str(index), draft, [group])
    ]
    assert found == []
