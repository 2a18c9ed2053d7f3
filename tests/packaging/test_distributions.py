"""The wheel and the source distribution: what is in them, and that the wheel works on its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from a2a_gen import __version__

ROOT = Path(__file__).parents[2]
PACKAGES = ("a2a_contract", "a2a_gen", "a2a_runtime")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Both distributions, built without network."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def site(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the content of the wheel and nothing else of ours."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        wheel.extractall(folder)  # noqa: S202 - our own wheel
    return folder


def run(site: Path, program: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program that finds our packages in the wheel's folder only."""
    ours = (
        f"import sys; sys.path[:] = [{str(site)!r}, *(entry for entry in sys.path if not "
        f"entry.startswith({str(ROOT)!r}) or '.venv' in entry)]\n"
    )
    return subprocess.run(
        [sys.executable, "-I", "-c", ours + program],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_wheel_holds_three_typed_packages(site: Path) -> None:
    """At the top there are the three packages and the metadata; each package is marked as typed."""
    assert sorted(path.name for path in site.iterdir()) == sorted(
        [*PACKAGES, f"a2a_gen-{__version__}.dist-info"]
    )
    assert [name for name in PACKAGES if not (site / name / "py.typed").exists()] == []


def test_the_wheel_holds_what_the_generator_reads(site: Path) -> None:
    """The wheel contains the templates and settings of the generator."""
    gone = {
        path.name
        for path in (ROOT / "codegen/a2a_gen").rglob("*")
        if path.suffix in {".jinja", ".jinja2", ".toml"}
    }
    assert gone - {path.name for path in (site / "a2a_gen").rglob("*")} == set()


def test_the_wheel_holds_no_tests_and_no_bytecode(site: Path) -> None:
    """Nothing travels along that only this repository needs; the projects that `init` starts have
    tests of their own.
    """
    ours = (path for path in site.rglob("*") if "starters" not in path.parts)
    assert [path for path in ours if path.name in {"__pycache__", "tests", "conftest.py"}] == []


def test_the_source_distribution_can_be_built_from(dist: Path) -> None:
    """Contract, packages, lock and licence are in it."""
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "LICENSE",
        "README.md",
        "a2a-gen.lock",
        "codegen/a2a_gen/entry.py",
        "pyproject.toml",
        "schema/operations.json",
    } <= names


def test_the_wheel_builds_a_contract(site: Path, tmp_path: Path) -> None:
    """From the wheel alone the command makes the smallest contract."""
    shutil.copytree(ROOT / "tests/cases/smallest/input", tmp_path / "project")
    done = run(
        site,
        "import a2a_gen.entry as e; print(e.__file__); sys.exit(e.main(['build']))",
        tmp_path / "project",
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (0, 1), done.stderr
    assert "tiny_contract: " in done.stderr
    assert done.stdout.startswith(str(site))
    assert (tmp_path / "project/generated/tiny_contract/__init__.py").exists()


def test_the_contract_imports_no_litestar(site: Path, tmp_path: Path) -> None:
    """A program that needs only the types does not load the server."""
    done = run(
        site,
        "import a2a_contract.v1_0; print(a2a_contract.__file__, 'litestar' in sys.modules)",
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [str(site / "a2a_contract/__init__.py"), "False"]


def test_the_error_for_a_missing_extra_has_the_install_command(tmp_path: Path, site: Path) -> None:
    """Without the tools of the extra the command names them with the install command and changes
    nothing; its help works.
    """
    shutil.copytree(ROOT / "tests/cases/smallest/input", tmp_path / "project")
    hidden = "sys.modules.update(dict.fromkeys(('datamodel_code_generator', 'jinja2', 'ruff')))\n"
    done = run(
        site,
        hidden + "import a2a_gen.entry as e; sys.exit(e.main(['build']))",
        tmp_path / "project",
    )
    assert done.returncode == 2
    assert "pip install 'a2a-gen[build]'" in done.stderr
    assert not (tmp_path / "project/generated").exists()
    helped = run(
        site,
        hidden + "import a2a_gen.entry as e; sys.exit(e.main(['build', '--help']))",
        tmp_path / "project",
    )
    assert helped.returncode == 0
    assert "Generate the package from the schemas." in helped.stdout
    assert "pip install 'a2a-gen[build]'" in " ".join(helped.stdout.split())
