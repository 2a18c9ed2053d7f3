"""Detection of the project that a command works on."""

from pathlib import Path

import pytest

from a2a_gen.problems import ProjectError
from a2a_gen.source.project import find_project

GOOD = '[tool.a2a-gen]\nschema = "schema"\npackage = "my_contract"\nout = "generated/my_contract"\n'


def test_found_from_below(tmp_path: Path) -> None:
    """A project is found from any folder inside it, past other projects without our table."""
    (tmp_path / "pyproject.toml").write_text(GOOD)
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "operations.json").write_text("{}")
    project = find_project(inner)
    assert (project.root, project.kind, project.package) == (tmp_path, "contract", "my_contract")
    assert (project.schema, project.out) == (
        tmp_path / "schema",
        tmp_path / "generated" / "my_contract",
    )
    assert project.options == {
        "kind": "contract",
        "out": "generated/my_contract",
        "package": "my_contract",
        "schema": "schema",
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("[project]", "no project in this folder or above it", id="no table"),
        pytest.param("tool.a2a-gen = 1", "is not a table", id="no table but a number"),
        pytest.param("[tool.a2a-gen", "invalid TOML", id="broken"),
        pytest.param(GOOD.replace("package", "pakage"), "unknown key pakage", id="unknown key"),
        pytest.param(
            GOOD.replace('schema = "schema"\n', ""), "schema is missing", id="missing key"
        ),
        pytest.param(GOOD.replace('"schema"', "1"), "schema: 1 is not a string", id="wrong type"),
        pytest.param(
            GOOD.replace('"my_contract"', '"my-contract"', 1),
            "'my-contract' is not a Python identifier",
            id="no package name",
        ),
        pytest.param(
            GOOD.replace('"my_contract"', '"a2a_gen.x"', 1),
            "'a2a_gen' is a package that agents import",
            id="package name of our own",
        ),
        pytest.param(
            GOOD.replace('"schema"', '"generated/my_contract/schema"', 1),
            "inside of the package",
            id="schema in the output",
        ),
        pytest.param(GOOD + "outt = 1", "unknown key outt", id="misspelt key"),
        pytest.param(
            GOOD + "compat = 1", "compat is not a table", id="baselines that are no table"
        ),
        pytest.param(
            GOOD + "compat.baseline = []",
            "compat: unknown key baseline",
            id="misspelt key of the baselines",
        ),
        pytest.param(
            GOOD.replace('"my_contract"', '"class"', 1),
            "'class' is a Python keyword",
            id="package name that is a keyword",
        ),
        pytest.param(
            GOOD.replace('"schema"', '"../schema"'), "leads out of the project", id="schema outside"
        ),
        pytest.param(
            GOOD.replace('"generated', '"/generated'),
            "leads out of the project",
            id="output outside",
        ),
    ],
)
def test_refused(tmp_path: Path, text: str, words: str) -> None:
    """An invalid configuration is refused with a cure."""
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ProjectError, match=words) as raised:
        find_project(tmp_path)
    assert raised.value.cure


@pytest.mark.parametrize(
    ("name", "table"), [("pyproject.toml", "[tool.a2a-gen.compat]"), ("a2a-gen.toml", "[compat]")]
)
def test_a_key_of_another_table(tmp_path: Path, name: str, table: str) -> None:
    """The cure names the table that has the key."""
    text = GOOD if name == "pyproject.toml" else GOOD.partition("\n")[2]
    (tmp_path / name).write_text(f'{text}profile = "FULL"\n')
    with pytest.raises(ProjectError, match="unknown key profile") as raised:
        find_project(tmp_path)
    assert raised.value.cure == f"move it below {table}"


def test_not_utf8(tmp_path: Path) -> None:
    """A configuration that is not UTF-8 is refused."""
    (tmp_path / "pyproject.toml").write_bytes(b"\xff")
    with pytest.raises(ProjectError, match="not UTF-8"):
        find_project(tmp_path)


def test_agent(tmp_path: Path) -> None:
    """The project of an agent is recognized, with the location of its package."""
    (tmp_path / "a2a.toml").write_text('[outputs]\npackage = "reports.contract"\nfolder = "src"\n')
    project = find_project(tmp_path)
    assert (project.kind, project.package, project.out) == (
        "agent",
        "reports.contract",
        tmp_path / "src" / "reports" / "contract",
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "the table \\[outputs\\] is missing", id="nothing"),
        pytest.param(
            '[output]\npackage = "a.b"',
            "a2a.toml:1: .* is missing\n    fix: rename output to outputs",
            id="another table",
        ),
        pytest.param(
            "[outputs]\nfolder = 'src'", "a2a.toml:1: outputs.package: missing", id="no package"
        ),
        pytest.param(
            '[outputs]\npakage = "a.b"',
            "a2a.toml:2: outputs: unknown key pakage\n    fix: did you mean package",
            id="misspelt package",
        ),
        pytest.param(
            "[outputs]\npackage = 1",
            "a2a.toml:2: outputs.package: 1 is not a string",
            id="a number",
        ),
        pytest.param(
            '[outputs]\npackage = "hello-x.contract"',
            "a2a.toml:2: outputs.package: 'hello-x' is not a Python identifier",
            id="no name",
        ),
        pytest.param(
            '[outputs]\npackage = "class.contract"', "'class' is a Python keyword", id="keyword"
        ),
        pytest.param(
            '[outputs]\npackage = "json.contract"',
            "'json' is a module of the standard library",
            id="standard library",
        ),
        pytest.param(
            '[outputs]\npackage = "a2a_runtime.contract"',
            "'a2a_runtime' is a package that agents import",
            id="ours",
        ),
        pytest.param(
            '[outputs]\npackage = "a.b"\nfolder = 1',
            "a2a.toml:3: outputs.folder: 1 is not a string",
            id="no folder",
        ),
        pytest.param(
            '[outputs]\npackage = "a.b"\nfolder = "../x"',
            "leads out of the project",
            id="folder outside",
        ),
    ],
)
def test_agent_refused(tmp_path: Path, text: str, words: str) -> None:
    """A package that cannot be written or imported is refused with a specific message and a
    cure.
    """
    (tmp_path / "a2a.toml").write_text(text)
    with pytest.raises(ProjectError, match=words) as raised:
        find_project(tmp_path)
    assert raised.value.cure


def test_plain_schemas_need_no_tables(tmp_path: Path) -> None:
    """A folder without tables of a protocol has plain schemas; its package may have dots, and
    stands in the folder of its name.
    """
    (tmp_path / "a2a-gen.toml").write_text('schema = "schemas"\npackage = "shop.models"\n')
    project = find_project(tmp_path)
    assert (project.kind, project.out) == ("models", tmp_path / "shop" / "models")
    assert project.options == {
        "kind": "models",
        "out": "shop/models",
        "package": "shop.models",
        "schema": "schemas",
    }
