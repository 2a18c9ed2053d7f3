"""One process runs on a file at a time; others may look at it and tidy up.

The lock is the operating system's, on a file beside the database: it goes when its process goes, however that died, and nothing has to be cleaned up.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from a2a_runtime.errors import StoreInUseError

if sys.platform == "win32":
    import msvcrt

    def _take(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FileLock:
    """A lock that one process can hold."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._file: int | None = None

    def take(self) -> None:
        """Take the lock or say who has it."""
        path = self._database.with_name(f"{self._database.name}.lock")
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _take(file)
        except OSError as error:
            os.close(file)
            raise StoreInUseError(
                f"Another process runs on {self._database} ({path}). Stop it, give this one its own file, or use Postgres, which many may share"
            ) from error
        self._file = file

    def release(self) -> None:
        """Let go of the lock; the file stays, because removing it would let two processes lock two files of that name."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
