"""Lock of the process that runs on a database file; others may only attach to it.

Two locks of the operating system, which end with their process:

    <database>.lock       a file beside the database, which containers and machines see too
    the database itself   one byte far beyond its end, on Linux: the file may have another name (a
                          hard link), or the lock file may have been removed

SQLite keeps POSIX locks on the same file, and a process loses all of them as soon as it closes any
descriptor of that file. So a process has one descriptor for the byte, and closes it only when it
has no other one of that file.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from a2a_runtime.errors import StoreInUseError, StoreUnavailableError

# pyright: reportPossiblyUnboundVariable=false
# What runs on Linux only uses a module that is imported everywhere but on Windows.

if sys.platform == "win32":
    import msvcrt

    def _lock_file(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock_file(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


FILE_MODE = 0o600
FileId = tuple[int, int]
"""Device and inode."""

_WRITABLE = "make the file and its folder writable for this user"
_CURE = "stop it, use another file, or use Postgres to share a store"


class FileLock:
    """The lock of one database.

    Its lock file is never removed: then two processes could lock two files of that name.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._file: int | None = None
        self._byte: ByteLock | None = None

    def acquire(self) -> None:
        """Create the database for its owner only unless it exists, and lock it; raise
        ``StoreInUseError`` if another process runs on it.
        """
        path = self._database.with_name(f"{self._database.name}.lock")
        file = _open(path)
        try:
            _lock_file(file)
        except OSError as error:
            os.close(file)
            raise StoreInUseError(
                f"{self._database}: another process runs on this file ({path}); {_CURE}"
            ) from error
        try:
            _create(self._database)
            self._byte = ByteLock.acquire(self._database)
        except BaseException:
            os.close(file)
            raise
        self._file = file

    def release(self) -> None:
        """Release the lock; the process has closed its connections."""
        if self._byte is not None:
            self._byte.release()
            self._byte = None
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    except OSError as error:
        raise StoreUnavailableError(f"{path}: {error.strerror}; {_WRITABLE}") from error


def _create(path: Path) -> None:
    """Create the database unless it exists; SQLite gives its companions the same mode.

    A file that exists is not opened.
    """
    path = Path(os.path.realpath(path))
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))
    except FileExistsError:
        if not os.access(path, os.R_OK | os.W_OK):
            raise StoreUnavailableError(
                f"{path}: {os.strerror(errno.EACCES)}; {_WRITABLE}"
            ) from None
    except OSError as error:
        raise StoreUnavailableError(f"{path}: {error.strerror}; {_WRITABLE}") from error


class ByteLock:
    """Lock of a byte of the database, whatever name the file was opened by."""

    _guard = threading.Lock()
    _files: dict[FileId, int] = {}  # noqa: RUF012 - of the process, as the locks are
    """Descriptors, one for each database."""
    _held: set[FileId] = set()  # noqa: RUF012

    def __init__(self, file_id: FileId) -> None:
        self._id = file_id

    @classmethod
    def acquire(cls, database: Path) -> ByteLock | None:
        """Lock the byte, or raise ``StoreInUseError``; ``None`` where the system has no such
        locks.
        """
        if sys.platform != "linux":
            return None
        with cls._guard:
            file_id = cls._open_once(database)
            try:
                is_free = file_id not in cls._held and _lock_byte(
                    cls._files[file_id], fcntl.F_WRLCK
                )
            except OSError:  # a file system without such locks
                cls._close_if_last(file_id)
                return None
            if is_free:
                cls._held.add(file_id)
                return cls(file_id)
            cls._close_if_last(file_id)
        problem = "another process runs on this file, by another name or without its lock file"
        raise StoreInUseError(f"{database}: {problem}; {_CURE}")

    def release(self) -> None:
        """Release the byte."""
        if sys.platform == "linux":
            with self._guard:
                self._held.discard(self._id)
                _lock_byte(self._files[self._id], fcntl.F_UNLCK)
                self._close_if_last(self._id)

    @classmethod
    def _open_once(cls, database: Path) -> FileId:
        file_id = identify(database)
        if file_id not in cls._files:
            cls._files[file_id] = os.open(database, os.O_RDWR)
        return file_id

    @classmethod
    def _close_if_last(cls, file_id: FileId) -> None:
        """Close the descriptor, unless the process has others of the file, whose locks would be
        lost with it.
        """
        if file_id not in cls._held and list(find_descriptors(file_id)) == [cls._files[file_id]]:
            os.close(cls._files.pop(file_id))


if sys.platform == "linux":
    _FAR_BEYOND_THE_END = 1 << 62

    def _lock_byte(file: int, kind: int) -> bool:
        """Begin or end the lock; return whether it was free.

        It belongs to the descriptor, not to the process as the locks of SQLite do.
        """
        # struct flock: type, whence, start, length, process
        change = struct.pack("hhqqi4x", kind, os.SEEK_SET, _FAR_BEYOND_THE_END, 1, 0)
        try:
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, change)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            raise
        return True


def identify(path: Path) -> FileId:
    """Identify a file on its disk."""
    status = path.stat()
    return status.st_dev, status.st_ino


def find_descriptors(file_id: FileId) -> Iterator[int]:
    """Find the descriptors that this process has of a file."""
    folder = Path("/proc/self/fd" if sys.platform == "linux" else "/dev/fd")
    for entry in folder.iterdir() if folder.is_dir() else ():
        with suppress(OSError):  # it was closed meanwhile
            status = os.fstat(int(entry.name))
            if (status.st_dev, status.st_ino) == file_id:
                yield int(entry.name)
