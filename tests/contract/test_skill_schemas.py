"""Thirty schemas of well-known projects: what a typed skill takes is what a JSON Schema validator
takes, no more and no less.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.skill_cases import Case, cases, neighbours, same
from imported_modules import forget_packages

from a2a_gen.entry import main
from a2a_runtime.skills.contract import AnyContract, SkillContract
from a2a_runtime.skills.schema import SchemaMismatchError, TypedSchema

CASES = cases()
NAMES = [case.name for case in CASES]
_HEAD = (
    '[agent]\nname = "schemas"\ndescription = "Takes what others have thought up."\nversion = '
    '"1.0.0"\n\n[outputs]\npackage = "thirty_schemas"\n'
)


@pytest.fixture(scope="module")
def skills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, AnyContract]]:
    """All schemas as the skills of one agent."""
    root = tmp_path_factory.mktemp("project")
    tables = [
        (
            f'\n[skills.{case.name}]\ndescription = "Takes it."\ninput = '
            f'"schema/{case.name}/schema.json"\n'
        )
        for case in CASES
    ]
    (root / "a2a.toml").write_text(_HEAD + "".join(tables))
    for case in CASES:
        case.write(root / "schema" / case.name)
    patch = pytest.MonkeyPatch()
    patch.chdir(root)
    patch.syspath_prepend(str(root))
    assert main(["build"]) == 0
    module = importlib.import_module("thirty_schemas.skills")
    yield {
        contract.id: contract
        for contract in vars(module).values()
        if isinstance(contract, SkillContract)
    }
    patch.undo()
    forget_packages("thirty_schemas")


def takes(form: TypedSchema[object], document: object) -> bool:
    """Return whether a skill accepts a document; a refusal has a problem text."""
    try:
        form.parse(document)
    except SchemaMismatchError as error:
        return not error.fields
    return True


def test_there_are_enough() -> None:
    """There are thirty schemas, each with a source and with five documents of either kind."""
    assert len(CASES) >= 30
    assert [
        case.name
        for case in CASES
        if len(case.accepted) < 5 or len(case.refused) < 5 or not case.source
    ] == []


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_listed_documents_are_judged_as_listed(case: Case, skills: dict[str, AnyContract]) -> None:
    """A document that fits is taken, one that does not is refused; the validator of the schema says
    the same.
    """
    judge = case.judge()
    form = skills[case.name].input
    for document in case.accepted:
        assert (judge.is_valid(document), takes(form, document)) == (True, True), document
    for document in case.refused:
        assert (judge.is_valid(document), takes(form, document)) == (False, False), document


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_documents_beside_them_too(case: Case, skills: dict[str, AnyContract]) -> None:
    """Whatever is changed in a document, the skill and the validator agree on what comes of it."""
    judge = case.judge()
    form = skills[case.name].input
    differ = [
        each
        for document in (*case.accepted, *case.refused)
        for each in neighbours(document)
        if judge.is_valid(each) != takes(form, each)
    ]
    assert differ == []


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_nothing_is_lost_on_the_way(case: Case, skills: dict[str, AnyContract]) -> None:
    """Whatever fits is read and written again as the same document, also members that the schema
    does not speak of.
    """
    judge = case.judge()
    form = skills[case.name].input
    fitting = [
        each
        for document in case.accepted
        for each in (document, *neighbours(document))
        if judge.is_valid(each)
    ]
    differ = [
        (each, written)
        for each in fitting
        if not same(each, written := json.loads(json.dumps(form.serialize(form.parse(each)))))
    ]
    assert differ == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "checker",
    [("mypy", "--strict"), ("basedpyright", "--pythonpath", sys.executable)],
    ids=["mypy", "pyright"],
)
def test_every_type_is_one_for_type_checkers(
    skills: dict[str, AnyContract], checker: tuple[str, ...]
) -> None:
    """Strict checkers know every type of the package, also those that lead back to themselves."""
    assert skills
    Path("pyproject.toml").write_text(
        "[tool.basedpyright]\ntypeCheckingMode = 'strict'\npythonVersion = '3.11'\n"
    )
    command = [str(Path(sys.executable).with_name(checker[0])), *checker[1:], "thirty_schemas"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_nothing_is_lost_in_schemas(skills: dict[str, AnyContract]) -> None:
    """The schema that is served stands alone: it refers to nothing outside itself."""
    for contract in skills.values():
        assert (
            '"$ref": "#/' in contract.input.document.decode()
            or '"$ref"' not in contract.input.document.decode()
        )


def test_the_package_is_in_order(
    skills: dict[str, AnyContract], capsys: pytest.CaptureFixture[str]
) -> None:
    """The package is what the schemas say, by a check that makes it anew."""
    assert len(skills) == len(CASES)
    assert Path("a2a-gen.lock").is_file()
    assert main(["check"]) == 0, capsys.readouterr().err
