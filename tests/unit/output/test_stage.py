"""Staging, formatting and the import check."""

from __future__ import annotations

from pathlib import Path

import pytest

from a2a_gen.output.staging import format_package, stage, start_import_check
from a2a_gen.problems import GeneratorError, ProjectError


def test_the_stage_is_beside_the_output_and_is_removed(tmp_path: Path) -> None:
    """Files are staged on the file system of the output, in a temporary folder."""
    with stage(tmp_path / "deep" / "made", {"v1/a.py": b"A = 1\n"}) as package:
        assert package.name == "made"
        assert package.parent.parent == tmp_path
        assert (package / "v1/a.py").read_bytes() == b"A = 1\n"
    assert list(tmp_path.iterdir()) == []


def test_an_output_below_a_file_cannot_be_staged(tmp_path: Path) -> None:
    """A file in place of a folder is an error."""
    (tmp_path / "made").write_text("a file")
    with (
        pytest.raises(ProjectError, match="cannot be written"),
        stage(tmp_path / "made" / "package", {}),
    ):
        pytest.fail("there is a stage")


def test_formatting_sorts_and_formats(tmp_path: Path) -> None:
    """Unused imports are removed, the rest is sorted and formatted."""
    with stage(tmp_path / "made", {"a.py": b"import sys, os\nx = { 'a':os.sep }\n"}) as package:
        format_package(package, ["a.py"])
        assert (package / "a.py").read_bytes() == b'import os\n\nx = {"a": os.sep}\n'


@pytest.mark.parametrize(
    "code", [b"def broken(:\n", b"print(unknown)\n"], ids=["no-python", "unknown-name"]
)
def test_invalid_code_ends_the_build(tmp_path: Path, code: bytes) -> None:
    """Code that ruff cannot fix is reported with its file, as a bug of the generator."""
    with (
        stage(tmp_path / "made", {"a.py": code}) as package,
        pytest.raises(GeneratorError, match=r"(?s)bug of a2a-gen.*made/a\.py"),
    ):
        format_package(package, ["a.py"])


def test_a_valid_package_passes_the_import_check(tmp_path: Path) -> None:
    """Staged modules may import each other by the name of the package."""
    with (
        start_import_check() as waiting,
        stage(
            tmp_path / "made", {"__init__.py": b"", "a.py": b"from made import b\n", "b.py": b""}
        ) as package,
    ):
        waiting.run(package, ["__init__.py", "a.py"])


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (b"raise RuntimeError('told you')", "told you"),
        (b"import warnings; warnings.warn('old')", "UserWarning: old"),
        (b"raise SystemExit", "SystemExit"),
    ],
    ids=["raises", "warns", "exits"],
)
def test_a_module_that_fails_to_import_ends_the_build(
    tmp_path: Path, code: bytes, expected: str
) -> None:
    """The error has the module and the reason, without the folder of the stage."""
    with (
        start_import_check() as waiting,
        stage(tmp_path / "made", {"__init__.py": b"", "a.py": code}) as package,
    ):
        with pytest.raises(GeneratorError, match=r"made\.a: ") as caught:
            waiting.run(package, ["a.py"])
        assert expected in str(caught.value)
        assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize(
    "path", ["/etc/x", "../x", "a/../../x", "..\\x", "C:\\x", "C:x", "a\0b", "a\nb"]
)
def test_nothing_is_staged_outside_of_the_package(tmp_path: Path, path: str) -> None:
    """A path stays in the package on every system, or the build ends."""
    with (
        pytest.raises(ProjectError, match="not a path inside"),
        stage(tmp_path / "made", {"a.py": b"", path: b"x"}),
    ):
        pytest.fail("there is a stage")
    assert list(tmp_path.iterdir()) == []
