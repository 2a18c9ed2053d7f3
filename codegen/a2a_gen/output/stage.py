"""The stage: a folder beside the output where files are written, tidied and tried before anybody sees them.

It lies on the same file system as the output, so that publishing a file is one rename, and it is gone afterwards, whatever happened.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath

from a2a_gen.problems import ProjectError

PREFIX = ".a2a-gen-"


@contextmanager
def stage(out: Path, files: Mapping[str, bytes]) -> Generator[Path]:
    """Write the files of a package below a new folder, and give the package's folder in it."""
    beside = next(parent for parent in out.parents if parent.exists())
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=beside))
    except OSError as error:
        raise unwritable(out, error) from error
    try:
        package = folder / out.name
        try:
            for path, content in files.items():
                target = package / inside(path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        except OSError as error:
            raise unwritable(out, error) from error
        yield package
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_inside(path: str) -> bool:
    """Whether a path stays in the folder that it is relative to, on every system."""
    steps = PureWindowsPath(path)  # knows drives, and both slashes
    return not PurePosixPath(path).is_absolute() and not steps.anchor and ".." not in steps.parts and path.isprintable()


def inside(path: str) -> str:
    """Give a path that stays in its folder; whatever it was made from, no other is ever written."""
    if not is_inside(path):
        raise ProjectError(f"{path!r} is no path within the package", "rename what this file is called after")
    return path


def unwritable(path: Path, error: OSError) -> ProjectError:
    """Say that a place cannot be written to, with the system's reason and without the names of temporary files."""
    reason = (error.strerror or type(error).__name__).lower()
    shown = "/".join(path.parts[-2:])
    return ProjectError(f"cannot write {shown}: {reason}", "move what stands in the way, or make the place writable; nothing was changed")
