"""Staging: a folder beside the output in which files are written, formatted and imported before
they are published.

The stage is on the file system of the output, so publishing a file is one rename; it is always
removed afterwards. Ruff removes unused imports and formats; an error that it cannot fix is a bug of
the generator. Its settings are in ``ruff.toml`` beside this file: naming the file keeps ruff from
reading settings of the user. The import check starts its interpreter before files are written, so
it loads the libraries of the package in parallel.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath

from a2a_gen.problems import GeneratorError, ProjectError

PREFIX = ".a2a-gen-"
RUFF_CONFIG = Path(__file__).with_name("ruff.toml")


@contextmanager
def stage(out: Path, files: Mapping[str, bytes], unchanged: Iterable[str] = ()) -> Generator[Path]:
    """Write the files of a package below a new folder, and yield the package folder in it;
    ``unchanged`` files are linked from the output.
    """
    beside = next(parent for parent in out.parents if parent.exists())
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=beside))
    except OSError as error:
        raise build_write_error(out, error) from error
    try:
        package = folder / out.name
        try:
            for path, content in files.items():
                target = package / check_inside(path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            for path in unchanged:
                _link(out / path, package / path)
        except OSError as error:
            raise build_write_error(out, error) from error
        yield package
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _link(source: Path, target: Path) -> None:
    """Link a file, or copy it where the file system has no links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def is_inside(path: str) -> bool:
    """Return true if a path stays in the folder that it is relative to, on every system."""
    # Windows has drives and both slashes; its rules cover those of all other systems.
    steps = PureWindowsPath(path)
    return (
        not PurePosixPath(path).is_absolute()
        and not steps.anchor
        and ".." not in steps.parts
        and path.isprintable()
    )


def check_inside(path: str) -> str:
    """Return a path that stays in its folder; raise for any other."""
    if not is_inside(path):
        raise ProjectError(
            f"{path!r}: not a path inside the package",
            "rename the file or type that it is named after",
        )
    return path


def build_write_error(path: Path, error: OSError) -> ProjectError:
    """Build the error of a failed write: the reason of the system, without names of temporary
    files.
    """
    reason = (error.strerror or type(error).__name__).lower()
    short_path = "/".join(path.parts[-2:])
    return ProjectError(
        f"{short_path}: cannot be written: {reason}",
        "move what is in the way, or make the folder writable; nothing was changed",
    )


def check_package(
    package: Path,
    import_check: ImportCheck,
    changed: Collection[str] | None = None,
    *,
    has_types: bool = False,
) -> dict[str, Path]:
    """Format the changed files of a staged package, all of them by default, and return every file
    by path, sorted.

    Every module is imported; in a package that ``has_types`` of schemas only the changed ones and
    those that depend on them.
    """
    files = {
        file.relative_to(package).as_posix(): file
        for file in sorted(package.rglob("*"))
        if file.is_file()
    }
    chosen = [
        path for path in files if path.endswith(".py") and (changed is None or path in changed)
    ]
    format_package(package, chosen)
    if has_types:
        modules = add_dependents(files, chosen)
    else:
        modules = [path for path in files if path.endswith(".py")]
    import_check.run(package, modules)
    return files


def format_package(package: Path, modules: Sequence[str]) -> None:
    """Fix and format modules of a staged package, in place."""
    if modules:
        _run_ruff("check", "--fix", "--quiet", "--no-cache", package=package, modules=modules)
        _run_ruff("format", "--quiet", "--no-cache", package=package, modules=modules)


def _run_ruff(*arguments: str, package: Path, modules: Sequence[str]) -> None:
    # ruff is an extra, and ships no types.
    from ruff import find_ruff_bin  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    command = [
        find_ruff_bin(),
        *arguments,
        "--config",
        str(RUFF_CONFIG),
        *(f"{package.name}/{path}" for path in modules),
    ]
    process = subprocess.run(
        command, cwd=package.parent, capture_output=True, text=True, check=False
    )  # noqa: S603 - ruff on our own stage
    if process.returncode:
        said = f"{process.stdout}{process.stderr}"
        raise GeneratorError(
            f"the generated code is invalid, which is a bug of a2a-gen:\n{said}".rstrip()
        )


_TYPES = "types/"
_IMPORT = re.compile(r"^from \.(\w+) import", re.MULTILINE)


def add_dependents(files: Mapping[str, Path], changed: Sequence[str]) -> list[str]:
    """Add the modules of types that import a changed one, directly or not; other modules only need
    its names, which have been compared.
    """
    users: dict[str, list[str]] = {}
    for path, file in files.items():
        if path.startswith(_TYPES) and path.endswith(".py") and not path.endswith("__init__.py"):
            for name in _IMPORT.findall(file.read_text(encoding="utf-8")):
                users.setdefault(f"{_TYPES}{name}.py", []).append(path)
    found = dict.fromkeys(changed)
    waiting = list(changed)
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user not in found:
                found[user] = None
                waiting.append(user)
    return list(found)


_PROGRAM = """
import importlib, sys, traceback, warnings
for module in sys.argv[1:]:
    importlib.import_module(module)
folder, *modules = sys.stdin.read().split("\\n")
sys.path.insert(0, folder)
warnings.simplefilter("error")
failed = False
for module in modules:
    try:
        importlib.import_module(module)
    except BaseException:
        failed = True
        print(f"{module}: {traceback.format_exc(limit=-1)}")
sys.exit(failed)
"""


class ImportCheck:
    """A running interpreter that imports a staged package, with warnings as errors."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, package: Path, paths: Iterable[str]) -> None:
        """Import modules of a staged package; a failure is a bug of the generator."""
        modules = sorted({_to_module_name(package, package / path) for path in paths})
        stdout, stderr = self._process.communicate("\n".join([str(package.parent), *modules]))
        if self._process.returncode:
            text = (stdout + stderr).replace(str(package.parent), "").strip()
            raise GeneratorError(
                "the generated code cannot be imported, which is a bug of a2a-gen; nothing "
                f"was changed:\n{text}"
            )


SERVER_LIBRARIES = ("pydantic", "litestar", "litestar.handlers")
"""What packages with controllers or handlers import."""
MODEL_LIBRARIES = ("pydantic", "jsonschema_rs")
"""What packages of models alone import."""


@contextmanager
def start_import_check(libraries: Sequence[str] = SERVER_LIBRARIES) -> Generator[ImportCheck]:
    """Start the interpreter, which imports the libraries of the package at once, and kill it on
    exit.
    """
    command = [sys.executable, "-I", "-B", "-c", _PROGRAM, *libraries]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:  # noqa: S603 - our own program
        try:
            yield ImportCheck(process)
        finally:
            process.kill()


def _to_module_name(package: Path, file: Path) -> str:
    parts = file.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
