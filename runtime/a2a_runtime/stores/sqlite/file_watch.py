"""Watch over what other programs do to the files of a database: delete, replace or cut them.

SQLite does not notice any of it while its connections are open, and writes what is lost with them.
"""

from __future__ import annotations

import os
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.sqlite.file_lock import FileId, find_descriptors, identify

_LOG_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_INDEX_HEADER = struct.Struct("=12x2xHII")
"""Size of a page, frames of the log, and pages of the database:
https://sqlite.org/walformat.html.
"""
_LARGEST_PAGE = 65_536


class FileState(NamedTuple):
    """A file and its log on their disk."""

    ids: tuple[FileId, FileId]
    database_bytes: int
    log_bytes: int


class LogIndex(NamedTuple):
    """Facts of a log and its database that the connections keep in their shared memory."""

    page_bytes: int
    frames: int
    pages: int

    @property
    def log_bytes(self) -> int:
        """Return the least size of the log."""
        if not self.frames:
            return 0
        return _LOG_HEADER_BYTES + self.frames * (_FRAME_HEADER_BYTES + self.page_bytes)


class FileWatch:
    """Watch over the files of one store; its threads share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._seen = read_state(path)

    def check(self) -> None:
        """Raise ``StoreUnavailableError`` if the path no longer leads to the files of the
        connections, or if they lost something.
        """
        with self._guard:
            now = None
            with suppress(OSError):
                now = read_state(self._path)
            if now is None or now.ids != self._seen.ids:
                fix = "put it back, or restart the process"
                raise StoreUnavailableError(
                    f"{self._path}: the file or its log was deleted or replaced; {fix}"
                )
            if self._is_cut(now):
                fix = "stop the process, keep a copy, then restore a backup"
                raise StoreUnavailableError(
                    f"{self._path}: another program has cut the file or its log short; {fix}"
                )
            self._seen = now

    def _is_cut(self, now: FileState) -> bool:
        """Return whether something is missing in files that are smaller than before.

        A checkpoint or a VACUUM of another program makes them smaller too, and the index knows of
        it.
        """
        has_shorter_log = now.log_bytes < self._seen.log_bytes
        has_fewer_pages = now.database_bytes < self._seen.database_bytes
        while has_shorter_log or has_fewer_pages:
            index = read_index(self._path)
            now = read_state(self._path)
            if index != read_index(self._path):
                continue  # others write: index and sizes do not belong together
            if index is None:
                return False
            is_log_cut = has_shorter_log and now.log_bytes < index.log_bytes
            return is_log_cut or (
                has_fewer_pages and now.database_bytes < index.pages * index.page_bytes
            )
        return False


def read_state(path: Path) -> FileState:
    """Look at the file and its log."""
    database = path.stat()
    log = Path(f"{path}-wal").stat()
    ids = (database.st_dev, database.st_ino), (log.st_dev, log.st_ino)
    return FileState(ids, database.st_size, log.st_size)


def read_index(path: Path) -> LogIndex | None:
    """Read the index of the log, if the system shows it.

    It is read by the descriptor of SQLite itself: to close another one would end the locks that
    SQLite has on it.
    """
    with suppress(OSError):
        for descriptor in find_descriptors(identify(Path(f"{path}-shm"))):
            header = os.pread(descriptor, _INDEX_HEADER.size, 0)
            if len(header) == _INDEX_HEADER.size:
                page_bytes, frames, pages = _INDEX_HEADER.unpack(header)
                if page_bytes == 1:
                    page_bytes = _LARGEST_PAGE
                return LogIndex(page_bytes, frames, pages)
    return None
