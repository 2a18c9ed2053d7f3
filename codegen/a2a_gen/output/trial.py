"""The trial: every staged module is imported in a fresh interpreter, with warnings as errors, before it may replace what works today.

The interpreter is started before the files are written and loads Pydantic and Litestar in the meantime.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from a2a_gen.problems import GeneratorError

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


class Trial:
    """An interpreter that waits for a package to import."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, package: Path) -> None:
        """Import every module of a staged package; one that fails is a mistake of the generator."""
        modules = sorted({_module(package, file) for file in package.rglob("*.py")})
        said, complaints = self._process.communicate("\n".join([str(package.parent), *modules]))
        if self._process.returncode:
            text = (said + complaints).replace(str(package.parent), "").strip()
            raise GeneratorError(f"the generated code cannot be imported, which is a mistake of the generator; nothing was changed:\n{text}")


@contextmanager
def trial() -> Generator[Trial]:
    """Start the interpreter of a trial, and end it whatever happens."""
    command = [sys.executable, "-I", "-B", "-c", _PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own program
        try:
            yield Trial(process)
        finally:
            process.kill()


def _module(package: Path, file: Path) -> str:
    parts = file.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
