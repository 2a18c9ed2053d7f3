"""Cache of a build: for each file of the output, a hash of what it was made of and of its formatted
content.

A file whose sources are the same, and that is on disk as it was written, is not made, formatted or
imported again. The cache holds hashes only: it is one folder beside the lock, ignored by Git, and
safe to delete. ``a2a-gen check`` and ``build --force`` do not use it, so it cannot hide a
difference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from a2a_gen.output.lock import GeneratorInfo, hash_bytes

FOLDER = ".a2a-gen"
_INDEX = "files.json"


class BuildCache:
    """The hashes of the last build, and those of this one."""

    def __init__(self, root: Path, out: Path, generator: GeneratorInfo | None) -> None:
        self._folder = root / FOLDER
        self._out = out
        if generator is None:
            self._generator = ""
        else:
            self._generator = json.dumps(
                [generator.version, generator.sources, dict(generator.tools)]
            )
        self._last = _read_index(self._folder / _INDEX) if generator else {}
        self._sources: dict[str, str] = {}
        self.unchanged: dict[str, bytes] = {}
        """Content of the files that are on disk as they would be made, by path relative to the
        package.
        """

    def find(self, path: str, made_of: str) -> bytes | None:
        """Return the content of a file that is on disk as it would be made; ``made_of`` is
        everything that decides it.
        """
        self._sources[path] = source = hash_bytes(f"{self._generator}\n{made_of}".encode())
        known_source, known_content = self._last.get(path, ("", ""))
        if source != known_source:
            return None
        try:
            content = (self._out / path).read_bytes()
        except OSError:
            return None
        if hash_bytes(content) != known_content:
            return None
        self.unchanged[path] = content
        return content

    def select_changed(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """Select the files that have to be formatted; one that was not looked for before is made of
        its unformatted text.
        """
        return {
            path: body
            for path, body in files.items()
            if path not in self.unchanged
            and (path in self._sources or self.find(path, body.decode("utf-8", "replace")) is None)
        }

    def keep(self, outputs: Mapping[str, bytes]) -> None:
        """Write the hashes of this build; a folder that cannot be written costs time alone."""
        index = {
            path: [self._sources[path], hash_bytes(content)]
            for path, content in sorted(outputs.items())
            if path in self._sources
        }
        beside = self._folder / f"{_INDEX}.new"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / ".gitignore").write_text("*\n", encoding="utf-8")
            beside.write_text(json.dumps(index, indent=0), encoding="utf-8")
            os.replace(beside, self._folder / _INDEX)
        except OSError:
            return


def hash_parts(parts: Iterable[str]) -> str:
    """Return one hash for several texts, in their order."""
    return hash_bytes(json.dumps([*parts]).encode())


def _read_index(file: Path) -> dict[str, tuple[str, str]]:
    """Read the hashes of the last build; a missing or broken file is an empty one."""
    try:
        listed = json.loads(file.read_bytes())
        return {path: (source, content) for path, (source, content) in listed.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
