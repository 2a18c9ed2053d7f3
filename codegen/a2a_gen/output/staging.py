"""The stage: a folder beside the output where files are written, tidied and tried before anybody sees them.

It lies on the same file system as the output, so that publishing a file is one rename, and it is gone afterwards, whatever happened.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath

from ruff import find_ruff_bin  # pyright: ignore[reportMissingTypeStubs] - ships no types

from a2a_gen.problems import GeneratorError, ProjectError

PREFIX = ".a2a-gen-"


@contextmanager
def stage(out: Path, files: Mapping[str, bytes]) -> Generator[Path]:
    """Write the files of a package below a new folder, and give the package's folder in it."""
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
        except OSError as error:
            raise build_write_error(out, error) from error
        yield package
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_inside(path: str) -> bool:
    """Whether a path stays in the folder that it is relative to, on every system."""
    steps = PureWindowsPath(path)  # knows drives, and both slashes
    return not PurePosixPath(path).is_absolute() and not steps.anchor and ".." not in steps.parts and path.isprintable()


def check_inside(path: str) -> str:
    """Give a path that stays in its folder; whatever it was made from, no other is ever written."""
    if not is_inside(path):
        raise ProjectError(f"{path!r} is no path within the package", "rename what this file is called after")
    return path


def build_write_error(path: Path, error: OSError) -> ProjectError:
    """Say that a place cannot be written to, with the system's reason and without the names of temporary files."""
    reason = (error.strerror or type(error).__name__).lower()
    shown = "/".join(path.parts[-2:])
    return ProjectError(f"cannot write {shown}: {reason}", "move what stands in the way, or make the place writable; nothing was changed")


# One run of ruff over the stage: unused imports go, the rest is formatted. What it cannot mend is a mistake of ours, and stops the build.
#
# The settings live in ``ruff.toml`` beside this file and nowhere else: naming a file keeps ruff from looking for settings on the user's machine.
#

RUFF_CONFIG = Path(__file__).with_name("ruff.toml")


def format_package(package: Path) -> None:
    """Mend and format every Python file of a staged package, in place."""
    _run_ruff("check", "--fix", "--quiet", "--no-cache", package=package)
    _run_ruff("format", "--quiet", "--no-cache", package=package)


def _run_ruff(*arguments: str, package: Path) -> None:
    command = [find_ruff_bin(), *arguments, "--config", str(RUFF_CONFIG), package.name]
    done = subprocess.run(command, cwd=package.parent, capture_output=True, text=True, check=False)  # noqa: S603 - ruff on our own stage
    if done.returncode:
        raise GeneratorError(f"the generated code is not valid, which is a mistake of the generator:\n{done.stdout}{done.stderr}".rstrip())


# The trial: every staged module is imported in a fresh interpreter, with warnings as errors, before it may replace what works today.
#
# The interpreter is started before the files are written and loads Pydantic and Litestar in the meantime.
#

_PROGRAM = """
import importlib, sys, traceback, warnings
import litestar, litestar.handlers, pydantic
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
    """An interpreter that waits for a package to import."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, package: Path) -> None:
        """Import every module of a staged package; one that fails is a mistake of the generator."""
        modules = sorted({_to_module_name(package, file) for file in package.rglob("*.py")})
        said, complaints = self._process.communicate("\n".join([str(package.parent), *modules]))
        if self._process.returncode:
            text = (said + complaints).replace(str(package.parent), "").strip()
            raise GeneratorError(f"the generated code cannot be imported, which is a mistake of the generator; nothing was changed:\n{text}")


@contextmanager
def start_import_check() -> Generator[ImportCheck]:
    """Start the interpreter of a trial, and end it whatever happens."""
    command = [sys.executable, "-I", "-B", "-c", _PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own program
        try:
            yield ImportCheck(process)
        finally:
            process.kill()


def _to_module_name(package: Path, file: Path) -> str:
    parts = file.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
